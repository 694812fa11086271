"""Return annotations: a schema where it says more than the signature, None otherwise."""

import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterator
from dataclasses import dataclass
from inspect import Signature
from threading import Lock
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from ez_ptc.schema.returns import return_schema
from ez_ptc.schema.stubs import type_text


class Stop(TypedDict):
    city: str
    hour: int


class Tour(BaseModel):
    stops: list[str]
    price: float = 0.0


@dataclass
class Ride:
    taxi: bool
    length: float | None = None


class Seat(NamedTuple):
    row: int
    letter: str = "A"


@dataclass
class Station:
    name: str
    next: "Station | None" = None


@dataclass
class Locked:
    lock: Lock


Stops = TypeAliasType("Stops", list[Stop])
BARE_DICT: Any = dict
TEXTS: list[tuple[object, str]] = [
    (Stop, "{city: str, hour: int}"),
    (Tour, "{stops: list[str], price: float}"),
    (Ride, "{taxi: bool, length: float | None}"),
    (Seat, "{row: int, letter: str}"),
    (list[Stop], "list[{city: str, hour: int}]"),
    (list[Tour], "list[{stops: list[str], price: float}]"),
    (list[Ride], "list[{taxi: bool, length: float | None}]"),
    (list[Seat], "list[{row: int, letter: str}]"),
    (dict[str, Stop], "dict[str, {city: str, hour: int}]"),
    (Stop | None, "{city: str, hour: int} | None"),
    (Coroutine[Any, Any, list[Stop]], "list[{city: str, hour: int}]"),
    (Awaitable[Stop], "{city: str, hour: int}"),
    (Stops, "list[{city: str, hour: int}]"),
    (Annotated[Stop, "the next"], "{city: str, hour: int}"),
    (Iterator[Seat], "list[{row: int, letter: str}]"),
    (AsyncIterator[Stop], "list[{city: str, hour: int}]"),
    (Station, "{name: str, next: Station | None}"),
]


@pytest.mark.parametrize(("annotation", "text"), TEXTS)
def test_type_with_named_fields_is_described(annotation: object, text: str) -> None:
    schema = return_schema(annotation, namespace={})

    assert schema is not None
    assert type_text(schema) == text


@pytest.mark.parametrize(
    "annotation",
    [
        dict,
        list,
        str,
        int,
        float,
        bool,
        list[dict[str, object]],
        list[BARE_DICT],
        list[str],
        dict[str, Any],
        dict[str, list[int]],
        None,
        Any,
        Signature.empty,
        Literal["a"],
        "Unresolved",
        Locked,
    ],
)
def test_stub_repeating_the_signature_is_skipped(annotation: object) -> None:
    assert return_schema(annotation, namespace={}) is None


def test_schema_stands_alone() -> None:
    """Definitions are inlined, and a class that contains itself keeps its definition at hand."""
    assert return_schema(list[Stop], namespace={}) == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "hour": {"type": "integer"}},
            "required": ["city", "hour"],
        },
    }
    station = return_schema(Station, namespace={})
    assert station is not None
    assert station["$ref"] == "#/$defs/Station"
    assert list(station["$defs"]) == ["Station"]


class Shelf(TypedDict):
    label: str


class Warehouse(TypedDict):
    shelves: "list[Shelf]"
    stock: "Stock"  # pyright: ignore[reportUndefinedVariable] # noqa: F821 - each function has its own


def test_described_types_share_no_part_of_their_schemas() -> None:
    first, second = (return_schema(list[Shelf], namespace={}) for _ in range(2))
    assert first == second is not None
    assert first is not None
    first["items"]["properties"]["label"]["type"] = "integer"
    assert return_schema(list[Shelf], namespace={}) == second


@pytest.mark.parametrize("kinds", [(int, str), (str, int)])
def test_one_class_is_described_by_the_names_around_each_function(kinds: tuple[type, type]) -> None:
    written = [return_schema(Warehouse, namespace={"Stock": kind}) for kind in kinds]
    types = [schema and schema["properties"]["stock"]["type"] for schema in written]
    assert types == [{int: "integer", str: "string"}[kind] for kind in kinds]


def test_uses_of_one_class_are_told_apart() -> None:
    uses = [
        Shelf,
        list[Shelf],
        dict[str, Shelf],
        Shelf | None,
        list[Shelf | None],
        list[list[Shelf]],
        dict[str, list[Shelf]],
    ]
    schemas = [return_schema(use, namespace={}) for use in [*uses, *uses]]
    assert schemas[: len(uses)] == schemas[len(uses) :]
    assert len({str(schema) for schema in schemas}) == len(uses)


def test_described_class_lives_no_longer() -> None:
    class Local(TypedDict):
        name: str

    reference = weakref.ref(Local)
    assert return_schema(list[Local], namespace={}) == return_schema(list[Local], namespace={}) is not None
    del Local
    gc.collect()
    assert reference() is None
