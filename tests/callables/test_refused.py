"""What cannot be a tool is refused where it is defined, with the function's name and the parameter's."""

import asyncio
import collections.abc
import re
import typing
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import IO, Never, Protocol, SupportsInt, cast

import pytest
from pydantic import BaseModel, ConfigDict

from ez_ptc.errors import SchemaError
from tests.callables.cases import described, takes


class Handle:
    """Something of this process alone."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


class Opaque(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    handle: Handle


REFUSED: list[object] = [
    Handle,
    Named,
    Opaque,
    list[Handle],
    dict[str, Handle],
    Handle | None,
    Handle | int,
    tuple[int, Handle],
    cast("object", typing.Callable),
    Callable[[int], str],
    type,
    type[int],
    IO[str],
    AsyncIterator[int],
    Awaitable[int],
    asyncio.Queue,
    SupportsInt,
    Never,
    re.Match,
    collections.abc.Coroutine,
    5,
]


@pytest.mark.parametrize("annotation", REFUSED, ids=str)
def test_a_type_that_no_json_can_become_is_refused(annotation: object) -> None:
    with pytest.raises(
        SchemaError, match=r"^ship: parameter 'it' cannot be of type .*: annotate it with what JSON can"
    ):
        described(takes(annotation, {}).function, name="ship")


@pytest.mark.parametrize("annotation", REFUSED, ids=str)
def test_unsupported_parameter_with_default_is_hidden_from_model(annotation: object) -> None:
    def ship(number: int, it: object = None) -> None: ...

    ship.__annotations__["it"] = annotation
    schema = described(ship, name="ship")

    assert list(schema.parameters["properties"]) == ["number"]
    assert list(schema.binder.fields) == ["number"]


@pytest.mark.parametrize("text", ["Nowhere", "list[Nowhere]", "nowhere.Thing", "1 +", "1 / 0", "Handle | Nowhere"])
def test_undefined_name_is_refused_with_parameter_name(text: str) -> None:
    with pytest.raises(SchemaError, match=r"^ship: the annotation .* of parameter 'it' cannot be resolved"):
        described(takes(text, {}).function, name="ship")


def test_the_first_parameter_that_cannot_be_is_named() -> None:
    def ship(number: int, first: Handle, second: Handle) -> None: ...

    with pytest.raises(SchemaError, match="parameter 'first'"):
        described(ship)


def test_type_with_failing_hook_is_refused() -> None:
    class Broken:
        @classmethod
        def __get_pydantic_core_schema__(cls, *_: object) -> object:
            message = "no luck"
            raise LookupError(message)

    with pytest.raises(SchemaError, match="parameter 'it' cannot be of type Broken"):
        described(takes(Broken, {}).function)


class Shop:
    def ship(self, number: str) -> None: ...


def test_callable_without_signature_or_object_is_refused() -> None:
    with pytest.raises(SchemaError, match="make the tool from the bound method instead"):
        described(Shop.ship, name="ship")
    with pytest.raises(SchemaError, match=r"its parameters cannot be read .*: wrap it in a Python function"):
        described(int, name="number")
