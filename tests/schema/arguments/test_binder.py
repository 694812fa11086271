"""The arguments of one call, checked and converted."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from ez_ptc.errors import ArgumentsError
from ez_ptc.schema.annotations.signatures import read_signature
from ez_ptc.schema.arguments.binder import ArgumentBinder
from ez_ptc.schema.bound_call import BoundCall
from ez_ptc.schema.functions import function_schema


class Route(Enum):
    AIR = "air"
    SEA = "sea"


@dataclass
class Parcel:
    grams: int
    route: Route = Route.SEA


class Address(BaseModel):
    street: str
    number: int = Field(ge=1)


def binder_of(function: Callable[..., object]) -> ArgumentBinder:
    return function_schema("ship", read_signature(function, name="ship"), {}).binder


def binder_for(annotation: object) -> ArgumentBinder:
    def ship(it: object) -> None: ...

    ship.__annotations__["it"] = annotation
    return binder_of(ship)


def track(number: str, to: str = "Rome", *, cups: int = 1) -> None: ...


def test_arguments_bind_by_position_and_name() -> None:
    bind = binder_of(track).bind
    everything = BoundCall((), {"number": "A-17", "to": "Oslo", "cups": 2})

    assert bind(("A-17", "Oslo"), {"cups": 2}) == everything
    assert bind(["A-17"], {"cups": 2, "to": "Oslo"}) == everything
    assert bind((), {"cups": 2, "to": "Oslo", "number": "A-17"}) == everything


def test_omitted_argument_is_left_to_function() -> None:
    assert binder_of(track).bind(("A-17",), {}) == BoundCall((), {"number": "A-17"})


def test_callers_dict_stays_unchanged() -> None:
    sent: dict[str, object] = {"number": "A-17", "cups": "3"}
    binder_of(track).bind((), sent)

    assert sent == {"number": "A-17", "cups": "3"}


def test_positional_only_argument_is_passed_by_position() -> None:
    def ship(number: str, to: str = "Rome", cups: int = 1, /, note: str = "") -> tuple[object, ...]:
        return number, to, cups, note

    bind = binder_of(ship).bind

    assert bind((), {"number": "A-17", "cups": 3}) == BoundCall(("A-17", "Rome", 3), {})
    assert bind(("A-17",), {"note": "n"}) == BoundCall(("A-17",), {"note": "n"})


def test_omitted_nullable_argument_is_none() -> None:
    def ship(number: str, to: str | None, by: Annotated[Route | None, "how"]) -> None: ...

    assert binder_of(ship).bind(("A-17",), {}).kwargs == {"number": "A-17", "to": None, "by": None}


CONVERTED: list[tuple[object, object, object]] = [
    (int, "4", 4),
    (int, 4.0, 4),
    (float, 4, 4.0),
    (bool, "true", True),
    (datetime, "2024-05-06T07:08:09", datetime(2024, 5, 6, 7, 8, 9)),
    (date, "2024-05-06", date(2024, 5, 6)),
    (timedelta, "PT90M", timedelta(minutes=90)),
    (Decimal, "1.10", Decimal("1.10")),
    (UUID, "12345678-1234-5678-1234-567812345678", UUID("12345678123456781234567812345678")),
    (Path, "tea/green", Path("tea/green")),
    (bytes, "dGVh", b"tea"),
    (bytes, b"tea", b"tea"),
    (Route, "air", Route.AIR),
    (Literal[Route.AIR, "road"], "air", Route.AIR),
    (Literal["a", 1], 1, 1),
    (Parcel, {"grams": 5, "route": "air"}, Parcel(5, Route.AIR)),
    (Address, {"street": "High", "number": "7"}, Address(street="High", number=7)),
    (list[Parcel], [{"grams": 5}], [Parcel(5)]),
    (set[int], [1, 2, 2], {1, 2}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (dict[str, Route], {"a": "sea"}, {"a": Route.SEA}),
    (int | str, "5", "5"),
    (int | None, None, None),
    (Iterable[int], [1, "2"], [1, 2]),
    (Any, {"a": [1]}, {"a": [1]}),
]


@pytest.mark.parametrize(("annotation", "sent", "made"), CONVERTED)
def test_value_is_converted_to_its_annotation(annotation: object, sent: object, made: object) -> None:
    got = binder_for(annotation).bind((sent,), {}).kwargs["it"]

    assert got == made
    assert type(got) is type(made)


@pytest.mark.parametrize("sent", [5, 5.5, True, None, ["a"], Decimal(1)])
def test_nothing_but_text_is_text(sent: object) -> None:
    with pytest.raises(ArgumentsError):
        binder_for(str).bind((sent,), {})


@pytest.mark.parametrize("sent", ["5", "null", "[1]", '{"a": 1}', "true", "2024-05-06", ""])
def test_text_for_text_parameter_stays_text(sent: str) -> None:
    assert binder_for(str).bind((sent,), {}).kwargs["it"] == sent
    assert binder_for(str | None).bind((sent,), {}).kwargs["it"] == sent


def test_a_subclass_of_text_arrives_as_text() -> None:
    """Else its own methods could defeat what the tool checks."""

    class Sly(str):
        __slots__ = ()

    assert type(binder_for(str).bind((Sly("tea"),), {}).kwargs["it"]) is str


def test_a_sequence_of_texts_is_not_a_text() -> None:
    with pytest.raises(ArgumentsError, match=r"'it' must be Sequence\[str\], got str 'tea'"):
        binder_for(Sequence[str]).bind(("tea",), {})


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ArgumentsError) as caught:
        binder_of(track).bind((5,), {"cups": "many", "form": 1, "number": "A"})

    assert str(caught.value) == (
        "ship: 'number' is given twice, by position and by name; "
        "unknown argument 'form' (it takes number, to, cups); "
        "'number' must be str, got int 5; "
        "'cups' must be int, got str 'many'"
    )
    assert caught.value.problems == tuple(str(caught.value).removeprefix("ship: ").split("; "))
    assert caught.value.__cause__ is None


ALL_KINDS: dict[str, tuple[object, st.SearchStrategy[Any], Callable[[Any], object]]] = {
    "text": (str, st.text(st.characters(exclude_categories=["Cs"])), lambda value: value),
    "integers": (int, st.integers(-(2**62), 2**62), lambda value: value),
    "floats": (float, st.floats(allow_nan=False, allow_infinity=False), lambda value: value),
    "booleans": (bool, st.booleans(), lambda value: value),
    "bytes": (bytes, st.binary(), lambda value: b64encode(value).decode()),
    "dates": (date, st.dates(), lambda value: value.isoformat()),
    "times": (datetime, st.datetimes(), lambda value: value.isoformat()),
    "decimals": (Decimal, st.decimals(allow_nan=False, allow_infinity=False, places=4), str),
    "members": (Route, st.sampled_from(Route), lambda value: value.value),
    "lists": (list[int], st.lists(st.integers(-9, 9)), lambda value: value),
    "sets": (set[int], st.sets(st.integers(-9, 9)), list),
    "dicts": (dict[str, bool], st.dictionaries(st.text("abc"), st.booleans()), lambda value: value),
    "nothing": (int | None, st.none() | st.integers(-9, 9), lambda value: value),
}


@pytest.mark.parametrize(("annotation", "values", "encode"), ALL_KINDS.values(), ids=ALL_KINDS.keys())
@given(data=st.data())
def test_a_value_that_went_through_json_arrives_equal(
    data: st.DataObject, annotation: object, values: st.SearchStrategy[Any], encode: Callable[[Any], object]
) -> None:
    value = data.draw(values)
    sent = json.loads(json.dumps({"it": encode(value)}))

    assert binder_for(annotation).bind((), sent).kwargs["it"] == value
