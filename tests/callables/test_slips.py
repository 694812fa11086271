"""The three slips that models are known for are put right, recorded, and nothing else is."""

from dataclasses import dataclass, field
from datetime import date
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

import attrs
import msgspec
import pytest
from pydantic import BaseModel, Discriminator, Field, Json, Tag

from ez_ptc.errors import ArgumentsError
from tests.callables.cases import ONLY, alike, bound, described, sent, takes


class Route(Enum):
    AIR = "air"
    SEA = "sea"


class Level(IntEnum):
    LOW = 1
    HIGH = 3


@dataclass
class Parcel:
    grams: int
    tags: list[str] = field(default_factory=list[str])
    route: Route = Route.SEA
    cups: int = 5


class Order(BaseModel):
    number: int = 1
    parcels: list[Parcel] = []
    agent: int = Field(3, alias="byAgent")


class Tea(TypedDict):
    name: str
    grams: NotRequired[int]


@attrs.define
class Node:
    value: int
    next: "Node | None" = None


class Point(msgspec.Struct):
    x: int
    y: int = 0


def _kind(value: object) -> object:
    return cast("dict[str, object]", value).get("kind") if isinstance(value, dict) else None


class Visit(BaseModel):
    kind: Literal["visit"] = "visit"


Told = Annotated[Annotated[Order, Tag("order")] | Annotated[Visit, Tag("visit")], Discriminator(_kind)]
ORDER = Order.model_validate({})
ORDER_OF_TWO = Order.model_validate({"number": 2})
AS_JSON_TEXT = "'it' came as JSON text"
AS_A_VALUE = "'it' came as a value, not as its JSON text"
MENDED: list[tuple[object, object, object, list[str]]] = [
    (list[str], '["a", "b"]', ["a", "b"], [AS_JSON_TEXT]),
    (list, "[1]", [1], [AS_JSON_TEXT]),
    (dict, ' {"a": 1}', {"a": 1}, [AS_JSON_TEXT]),
    (dict[str, int], '{"a": 1}', {"a": 1}, [AS_JSON_TEXT]),
    (set[int], "[1, 2]", {1, 2}, [AS_JSON_TEXT]),
    (tuple[int, str], '[1, "a"]', (1, "a"), [AS_JSON_TEXT]),
    (list[int] | None, "[1]", [1], [AS_JSON_TEXT]),
    (list[int] | dict[str, int], "[1]", [1], [AS_JSON_TEXT]),
    (list[int] | dict[str, int], '{"a": 1}', {"a": 1}, [AS_JSON_TEXT]),
    (Parcel | int, '{"grams": 1}', Parcel(1), [AS_JSON_TEXT]),
    (Order, '{"number": 2}', ORDER_OF_TWO, [AS_JSON_TEXT]),
    (Tea, '{"name": "a"}', {"name": "a"}, [AS_JSON_TEXT]),
    (Told, '{"kind": "visit"}', Visit(), [AS_JSON_TEXT]),
    (Point, '{"x": 1}', Point(1), [AS_JSON_TEXT]),
    (list[list[int]], '["[1]"]', [[1]], [AS_JSON_TEXT, "'it[0]' came as JSON text"]),
    (dict, "{'a': True}", {"a": True}, [f"{AS_JSON_TEXT} with single quotes and Python's True, False or None"]),
    (list[int], "[1, 2,]", [1, 2], [f"{AS_JSON_TEXT} with a comma before a closing bracket"]),
    (list[str], '["a\nb"]', ["a\nb"], [f"{AS_JSON_TEXT} with unescaped line breaks or tabs in text"]),
    (Node, {"value": 1, "next": '{"value": 2}'}, Node(1, Node(2)), ["'it.next' came as JSON text"]),
    (Parcel, {"grams": 1, "tags": '["a"]'}, Parcel(1, ["a"]), ["'it.tags' came as JSON text"]),
    (Parcel, {"grams": 1, "cups": None}, Parcel(1), ["'it.cups' came as null and is left out"]),
    (Point, {"x": 1, "y": None}, Point(1), ["'it.y' came as null and is left out"]),
    (Tea, {"name": "a", "grams": None}, {"name": "a"}, ["'it.grams' came as null and is left out"]),
    (Order, {"byAgent": None}, ORDER, ["'it.byAgent' came as null and is left out"]),
    (Json[list[int]], [1, 2], [1, 2], [AS_A_VALUE]),
    (Json[list[int]], [], [], [AS_A_VALUE]),
    (Json, {"a": None}, {"a": None}, [AS_A_VALUE]),
    (Json[float], 1.5, 1.5, [AS_A_VALUE]),
    (Json[dict[str, int]] | None, {"a": 1}, {"a": 1}, [AS_A_VALUE]),
    (list[Json[dict[str, int]]], ['{"a": 1}', {"a": 1}], [{"a": 1}] * 2, [AS_A_VALUE.replace("it", "it[1]", 1)]),
    (Route, "AIR", Route.AIR, ["'it' came as the name of a member, not as its value"]),
    (Level, "HIGH", Level.HIGH, ["'it' came as the name of a member, not as its value"]),
    (Route | None, "SEA", Route.SEA, ["'it' came as the name of a member, not as its value"]),
    (Literal[Route.AIR, 5], "AIR", Route.AIR, ["'it' came as the name of a member, not as its value"]),
    (list[Route], ["sea", "AIR"], [Route.SEA, Route.AIR], ["'it[1]' came as the name of a member, not as its value"]),
    (
        list[Parcel],
        ['{"grams": 1, "route": "AIR"}', {"grams": 2, "tags": None}],
        [Parcel(1, route=Route.AIR), Parcel(2)],
        [
            "'it[0]' came as JSON text",
            "'it[1].tags' came as null and is left out",
            "'it[0].route' came as the name of a member, not as its value",
        ],
    ),
]


@pytest.mark.parametrize(("annotation", "came", "made", "sentences"), MENDED)
def test_known_mistake_is_repaired_and_recorded(
    annotation: object, came: object, made: object, sentences: list[str]
) -> None:
    call = bound(described(takes(annotation, {}).function), sent(came))

    assert alike(call.kwargs[ONLY], made)
    assert list(call.repairs) == sentences


LEFT_AS_IT_IS: list[tuple[object, object]] = [
    (list[int], "1"),
    (list[int], '"[1]"'),
    (list[int], "[1"),
    (list[int], "[NaN]"),
    (list[int], '{"a": 1}'),
    (dict[str, int], "[1]"),
    (dict[str, int], '{"a": 1, "a": 2}'),
    (list[Any], "[" * 200 + "]" * 200),
    (bytes, '["x"]'),
    (date, '["x"]'),
    (int, None),
    (list[int], [None]),
    (dict[str, int], {"a": None}),
    (Tea, {"name": None}),
    (Parcel, {"grams": None}),
    (Route, "Air"),
    (Route, "rail"),
    (Level, "1.5"),
    (Json[list[int]], ["x"]),
    (Json[list[int]], {"a": 1}),
    (Json[list[int]], "[1"),
    (Json, "plain"),
]


@pytest.mark.parametrize(("annotation", "came"), LEFT_AS_IT_IS)
def test_other_mistake_is_refused(annotation: object, came: object) -> None:
    with pytest.raises(ArgumentsError):
        bound(described(takes(annotation, {}).function), sent(came))


@pytest.mark.parametrize("came", ['["a"]', '{"a": 1}', "null", "AIR", "5"])
@pytest.mark.parametrize("annotation", [str, str | list[str], str | None, str | Parcel, Any])
def test_text_for_text_parameter_stays_text(annotation: object, came: str) -> None:
    call = bound(described(takes(annotation, {}).function), sent(came))

    assert (call.kwargs[ONLY], call.repairs) == (came, ())


def order(number: int, tags: list[str], cups: int = 2, note: str = "none", by: Route = Route.SEA) -> None: ...


def test_null_for_default_parameter_uses_the_default() -> None:
    call = bound(described(order), '{"number": 1, "tags": [], "cups": null, "note": null, "by": null}')

    assert call.kwargs == {"number": 1, "tags": []}
    assert call.repairs == tuple(f"{name!r} came as null and is left out" for name in ("cups", "note", "by"))


def test_correct_call_records_no_repairs() -> None:
    assert bound(described(order), {"number": 1, "tags": ["a"]}).repairs == ()


def test_only_irreparable_problems_are_reported() -> None:
    with pytest.raises(ArgumentsError) as caught:
        bound(described(order), {"number": "many", "tags": '["a", 5]', "cups": None, "form": 1})

    assert caught.value.problems == (
        "unknown argument 'form' (it takes number, tags, cups, note, by)",
        "'number' must be int, got str 'many'",
        "'tags[1]' must be str, got int 5",
    )


def test_repair_leaves_callers_values_unchanged() -> None:
    parcels: list[Any] = ['{"grams": 1}', {"grams": 2, "cups": None}]
    bound(described(takes(list[Parcel], {}).function), sent(parcels))

    assert parcels == ['{"grams": 1}', {"grams": 2, "cups": None}]


def test_repaired_positional_call_stays_positional() -> None:
    def ship(tags: list[str], cups: int = 2, /) -> None: ...

    call = bound(described(ship), {"tags": "[]", "cups": None})

    assert (call.args, call.kwargs) == (([],), {})
