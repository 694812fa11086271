"""Enumerations, literals, unions and everything that may be None."""

from datetime import date
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum, auto
from pathlib import Path
from typing import Annotated, Any, AnyStr, Final, Literal, Optional, Union
from uuid import UUID

from pydantic import Field

from tests.callables.cases import Case, takes

__all__ = ["CASES"]


class Route(Enum):
    """How it travels."""

    AIR = "air"
    SEA = "sea"


class Level(IntEnum):
    LOW = 1
    HIGH = 3


class Colour(StrEnum):
    RED = auto()
    GREEN = auto()


class Old(str, Enum):  # noqa: UP042 - many still write it so
    YES = "yes"
    NO = "no"


class Mixed(Enum):
    ONE = 1
    TWO = "two"
    NONE = None


class Point(Enum):
    ORIGIN = (0, 0)
    UNIT = (1, 1)


class Right(Flag):
    READ = 1
    WRITE = 2


class Bit(IntFlag):
    A = 1
    B = 2


class Rate(float, Enum):
    HALF = 0.5
    FULL = 1.0


class Alias(Enum):
    A = "a"
    B = "a"  # noqa: PIE796 - a second name of a member


class Only(Enum):
    ONE = "one"


ROUTE = {"type": "string", "enum": ["air", "sea"], "description": "How it travels."}
INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}
ID = "12345678-1234-5678-1234-567812345678"


PLACES = {
    "type": "array",
    "prefixItems": [{**INTEGER, "enum": [1, 3]}, {**INTEGER, "enum": [1, 3]}, ROUTE],
    "minItems": 3,
    "maxItems": 3,
}


def either(*branches: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": list(branches)}


CASES: Final[list[Case]] = [
    takes(
        tuple[Level, Level, Route],
        PLACES,
        valid=[([1, 3, "air"], (Level.LOW, Level.HIGH, Route.AIR))],
        invalid=[([1, 2, "air"], "it[1]")],
    ),
    takes(
        bytes | str,
        either({**STRING, "contentEncoding": "base64"}, STRING),
        valid=["dGVh", "tea"],
        objects=[b"tea"],
        invalid=[5],
    ),
    takes(AnyStr, either({**STRING, "contentEncoding": "base64"}, STRING), valid=["tea"], invalid=[5]),
    takes(Route, ROUTE, valid=[("air", Route.AIR)], objects=[Route.SEA], invalid=["rail", "", None, 5, ["air"]]),
    takes(
        Level,
        {**INTEGER, "enum": [1, 3]},
        valid=[(1, Level.LOW)],
        lenient=[("3", Level.HIGH)],
        objects=[Level.LOW],
        invalid=[2, "x", None, 1.5],
    ),
    takes(
        Colour,
        {**STRING, "enum": ["red", "green"]},
        valid=[("red", Colour.RED)],
        objects=[Colour.RED],
        invalid=["blue", 1, None],
    ),
    takes(Old, {**STRING, "enum": ["yes", "no"]}, valid=[("yes", Old.YES)], invalid=["maybe", None, True]),
    takes(
        Mixed,
        {"enum": [1, "two", None]},
        valid=[(1, Mixed.ONE), ("two", Mixed.TWO), (None, Mixed.NONE)],
        invalid=["x", 2],
    ),
    takes(Point, {"type": "array", "enum": [[0, 0], [1, 1]]}, valid=[([0, 0], Point.ORIGIN)], invalid=[[0, 1], "x"]),
    takes(
        Right,
        {**INTEGER, "description": "A sum of 1 (READ), 2 (WRITE)"},
        valid=[(1, Right.READ), (3, Right.READ | Right.WRITE)],
        objects=[Right.READ | Right.WRITE],
        invalid=[8, "x", None],
    ),
    takes(
        Bit,
        {**INTEGER, "description": "A sum of 1 (A), 2 (B)"},
        valid=[(1, Bit.A), (3, Bit.A | Bit.B)],
        invalid=["x", None],
    ),
    takes(Rate, {"type": "number", "enum": [0.5, 1.0]}, valid=[(0.5, Rate.HALF), (1, Rate.FULL)], invalid=[0.7, "x"]),
    takes(Alias, {**STRING, "enum": ["a"]}, valid=[("a", Alias.A)], invalid=["c"]),
    takes(Only, {**STRING, "enum": ["one"]}, valid=[("one", Only.ONE)], invalid=["two", None]),
    takes(Literal["a", "b"], {**STRING, "enum": ["a", "b"]}, valid=["a", "b"], invalid=["c", "A", None, 1, ["a"]]),
    takes(Literal["only"], {**STRING, "enum": ["only"]}, valid=["only"], invalid=["x", None]),
    takes(Literal[1, 2, 3], {**INTEGER, "enum": [1, 2, 3]}, valid=[1, 3], invalid=[4, "x", None, True]),
    takes(Literal["a", 1, True], {"enum": ["a", 1, True]}, valid=["a", 1, True], invalid=["b", 2, False]),
    takes(
        Literal["a", None],  # noqa: PYI061 - its old spelling works too
        {"enum": ["a", None]},
        valid=["a", None],
        invalid=["b"],
    ),
    takes(
        Literal[Route.AIR],
        {**STRING, "enum": ["air"]},
        valid=[("air", Route.AIR)],
        objects=[Route.AIR],
        invalid=["sea", None],
    ),
    takes(
        Literal[Route.AIR, "road", 5],
        {"enum": ["air", "road", 5]},
        valid=[("air", Route.AIR), "road", 5],
        invalid=["sea"],
    ),
    takes(Literal[Level.LOW, Level.HIGH], {**INTEGER, "enum": [1, 3]}, valid=[(3, Level.HIGH)], invalid=[2]),
    takes(Literal[b"tea", 1], {"enum": ["tea", 1]}, valid=[("tea", b"tea"), 1], objects=[b"tea"], invalid=["a", True]),
    takes(Literal[True], {"type": "boolean", "enum": [True]}, valid=[True], invalid=[False, "x"]),
    takes(int | str, either(INTEGER, STRING), valid=[5, "five", "5"], invalid=[None, [], 1.5, {}]),
    takes(Union[int, str], either(INTEGER, STRING), valid=[5, "5"], invalid=[None]),  # noqa: UP007 - its old spelling works too
    takes(int | float, either(INTEGER, {"type": "number"}), valid=[5, 5.5], invalid=["x", None]),
    takes(
        str | list[str],
        either(STRING, {"type": "array", "items": STRING}),
        valid=["a", ["a", "b"]],
        invalid=[5, None, ([1], "it[0]")],
    ),
    takes(
        int | list[int],
        either(INTEGER, {"type": "array", "items": INTEGER}),
        valid=[5, [5]],
        invalid=["x", (["x"], "it[0]")],
    ),
    takes(bool | str, either({"type": "boolean"}, STRING), valid=[True, "true", "x"], invalid=[None, []]),
    takes(int | bool, either(INTEGER, {"type": "boolean"}), valid=[1, True, False], invalid=["x", None]),
    takes(
        date | str, either({"type": "string", "format": "date"}, STRING), lenient=[("today", "today")], invalid=[None]
    ),
    takes(
        date | int,
        either({"type": "string", "format": "date"}, INTEGER),
        valid=[("2024-05-06", date(2024, 5, 6)), 5],
        invalid=["x", None],
    ),
    takes(UUID | int, either({"type": "string", "format": "uuid"}, INTEGER), valid=[(ID, UUID(ID)), 5], invalid=["x"]),
    takes(Path | None, either({"type": "string", "format": "path"}, NULL), valid=[("a", Path("a")), None], invalid=[5]),
    takes(
        Route | Literal["road"],
        either(ROUTE, {**STRING, "enum": ["road"]}),
        valid=[("air", Route.AIR), "road"],
        invalid=["rail", 5],
    ),
    takes(Route | int, either(ROUTE, INTEGER), valid=[("sea", Route.SEA), 5], invalid=["rail"]),
    takes(
        dict[str, int] | list[int],
        either({"type": "object", "additionalProperties": INTEGER}, {"type": "array", "items": INTEGER}),
        valid=[{"a": 1}, [1]],
        invalid=["x", ({"a": "x"}, "it.a")],
    ),
    takes(
        str | int | float | bool | None,
        either(STRING, INTEGER, {"type": "number"}, {"type": "boolean"}, NULL),
        valid=["a", 1, 1.5, True, None],
        invalid=[[], {}],
    ),
    takes(
        list[int | str],
        {"type": "array", "items": either(INTEGER, STRING)},
        valid=[[1, "a"]],
        invalid=[([None], "it[0]"), "x"],
    ),
    takes(int | None, either(INTEGER, NULL), valid=[5, None], lenient=[("5", 5)], invalid=["x", [], 1.5]),
    takes(Optional[int], either(INTEGER, NULL), valid=[5, None], invalid=["x", []]),  # noqa: UP045 - its old spelling works too
    takes(Union[int, None], either(INTEGER, NULL), valid=[5, None], invalid=["x"]),  # noqa: UP007 - its old spelling works too
    takes(None | int, either(INTEGER, NULL), valid=[5, None], invalid=["x"]),
    takes(
        Optional[list[str]],  # noqa: UP045 - its old spelling works too
        either({"type": "array", "items": STRING}, NULL),
        valid=[["a"], None],
        invalid=["x", ([1], "it[0]")],
    ),
    takes(
        Annotated[int | None, Field(ge=1)], either({**INTEGER, "minimum": 1}, NULL), valid=[1, None], invalid=[0, "x"]
    ),
    takes(
        Optional[Annotated[int, Field(ge=1)]],  # noqa: UP045 - its old spelling works too
        either({**INTEGER, "minimum": 1}, NULL),
        valid=[1, None],
        invalid=[0, "x"],
    ),
    takes(Route | None, either(ROUTE, NULL), valid=[("air", Route.AIR), None], invalid=["rail", 5]),
    takes(Optional[Literal["a", "b"]], either({**STRING, "enum": ["a", "b"]}, NULL), valid=["a", None], invalid=["c"]),  # noqa: UP045 - its old spelling works too
    takes(Optional[Union[int, str]], either(INTEGER, STRING, NULL), valid=[1, "a", None], invalid=[[]]),  # noqa: UP045, UP007 - its old spelling works too
    takes(
        dict[str, int | None],
        {"type": "object", "additionalProperties": either(INTEGER, NULL)},
        valid=[{"a": None, "b": 1}],
        invalid=[({"a": "x"}, "it.a")],
    ),
    takes(
        Annotated[int | str, "Number or name"],
        {**either(INTEGER, STRING), "description": "Number or name"},
        valid=[1, "a"],
        invalid=[None],
    ),
]
