"""Defaults of every sort: JSON carries some of them, and the function has them all."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal, Optional, cast

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tests.callables.cases import Case

__all__ = ["CASES"]

INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}
UNSET: Final = object()


class Route(Enum):
    AIR = "air"
    SEA = "sea"


class Nothing:
    """Something of this process alone."""


@dataclass
class Parcel:
    grams: int


class Address(BaseModel):
    street: str


class Tea(TypedDict):
    name: str


NOTHING = Nothing()


def plain(a: int = 1, b: str = "x", c: float = 0.5, d: bool = True, e: None = None) -> object:
    return a, b, c, d, e


ONE: Final = [1]
COUNTS: Final = {"a": 1}
SEEN: Final = {1}


def containers(
    a: list[int] = ONE, b: dict[str, int] = COUNTS, c: tuple[int, ...] = (1, 2), d: set[int] = SEEN
) -> object:
    return a, b, c, d


def objects(a: date = date(2024, 1, 1), b: Path = Path("x"), c: Decimal = Decimal("1.5"), d: bytes = b"x") -> object:
    return a, b, c, d


def members(a: Route = Route.SEA, b: Literal["x", "y"] = "x", c: Route | None = None) -> object:
    return a, b, c


def records(a: Parcel = Parcel(1), b: Address = Address(street="x"), c: Tea = Tea(name="x")) -> object:  # noqa: B008 - as people write it
    return a, b, c


def infinite(a: float = math.inf, b: float = math.nan, c: float = -math.inf) -> object:
    return a, repr(b), c


def sentinel(a: int = UNSET) -> object:  # pyright: ignore[reportArgumentType] - as people write it
    return a is UNSET or a


def other_type(a: int | None = None, b: int | str = 5, c: Sequence[int] = ()) -> object:
    return a, b, c


other_type.__annotations__.update(a=int, b=str, c=list[int])


def nullable(a: int | None, b: Optional[str] = None, c: int | None = 5) -> object:  # noqa: UP045 - its old spelling works too
    return a, b, c


def field(a: int = Field(5, ge=1), b: str = Field(default="x", description="Why"), c: int = Field(ge=2)) -> object:
    return a, b, c


def factory(a: list[int] = Field(default_factory=list)) -> object:  # noqa: B008 - as people write it
    return a


def annotated(a: Annotated[int, Field(ge=1)] = 5, b: Annotated[str, "Why"] = "x") -> object:
    return a, b


def unknown(number: str, nothing: Nothing = NOTHING, maybe: Nothing | None = None) -> object:
    return number, nothing is NOTHING, maybe


def unknown_by_position(number: str, nothing: Nothing = NOTHING, cups: int = 2, /) -> object:
    return number, nothing is NOTHING, cups


def half(a: str = "\ud800", b: str = "x" * 300) -> object:
    return len(a), len(b)


def bare(a: object = 1, b: object = None, c: object = UNSET) -> object:
    return a, b, c is UNSET


bare.__annotations__.clear()


def mapping(a: object = MappingProxyType({"a": 1}), b: object = NotImplemented) -> object:
    return cast("Mapping[str, int]", a)["a"], b is NotImplemented


ADDRESS = {"type": "object", "properties": {"street": STRING}, "required": ["street"]}
PARCEL = {"type": "object", "properties": {"grams": INTEGER}, "required": ["grams"]}
TEA = {"type": "object", "properties": {"name": STRING}, "required": ["name"]}
ROUTE = {"type": "string", "enum": ["air", "sea"]}
DECIMAL = {"anyOf": [{"type": "number"}, {"type": "string", "format": "decimal"}]}
INTEGERS = {"type": "array", "items": INTEGER}

CASES: Final[list[Case]] = [
    Case(
        "plain defaults",
        plain,
        {
            "a": {**INTEGER, "default": 1},
            "b": {**STRING, "default": "x"},
            "c": {"type": "number", "default": 0.5},
            "d": {"type": "boolean", "default": True},
            "e": {**NULL, "default": None},
        },
        (),
        valid=[({}, (1, "x", 0.5, True, None)), ({"a": 2, "d": False}, (2, "x", 0.5, False, None))],
        invalid=[({"a": "x", "c": "y"}, "a", "c")],
    ),
    Case(
        "containers as defaults",
        containers,
        {
            "a": {**INTEGERS, "default": [1]},
            "b": {"type": "object", "additionalProperties": INTEGER, "default": {"a": 1}},
            "c": {**INTEGERS, "default": [1, 2]},
            "d": {**INTEGERS, "uniqueItems": True},
        },
        (),
        valid=[({}, ([1], {"a": 1}, (1, 2), {1})), ({"a": [2], "c": [3]}, ([2], {"a": 1}, (3,), {1}))],
        invalid=[({"a": ["x"]}, "a[0]")],
    ),
    Case(
        "objects as defaults",
        objects,
        {
            "a": {**STRING, "format": "date"},
            "b": {**STRING, "format": "path"},
            "c": DECIMAL,
            "d": {**STRING, "contentEncoding": "base64"},
        },
        (),
        valid=[
            ({}, (date(2024, 1, 1), Path("x"), Decimal("1.5"), b"x")),
            ({"a": "2024-05-06", "d": "dGVh"}, (date(2024, 5, 6), Path("x"), Decimal("1.5"), b"tea")),
        ],
        invalid=[({"a": "x", "d": "t="}, "a", "d")],
    ),
    Case(
        "members as defaults",
        members,
        {
            "a": {**ROUTE, "default": "sea"},
            "b": {**STRING, "enum": ["x", "y"], "default": "x"},
            "c": {"anyOf": [ROUTE, NULL], "default": None},
        },
        (),
        valid=[({}, (Route.SEA, "x", None)), ({"a": "air", "c": "sea"}, (Route.AIR, "x", Route.SEA))],
        invalid=[({"a": "rail", "b": "z", "c": "rail"}, "a", "b", "c")],
    ),
    Case(
        "records as defaults",
        records,
        {"a": PARCEL, "b": ADDRESS, "c": {**TEA, "default": {"name": "x"}}},
        (),
        valid=[
            ({}, (Parcel(1), Address(street="x"), {"name": "x"})),
            ({"a": {"grams": 2}}, (Parcel(2), Address(street="x"), {"name": "x"})),
        ],
        invalid=[({"a": {}, "b": {}, "c": {}}, "a.grams", "b.street", "c.name")],
    ),
    Case(
        "infinite defaults",
        infinite,
        {"a": {"type": "number"}, "b": {"type": "number"}, "c": {"type": "number"}},
        (),
        valid=[({}, (math.inf, "nan", -math.inf)), ({"a": 1.5}, (1.5, "nan", -math.inf))],
        invalid=[({"a": "x"}, "a")],
    ),
    Case("a sentinel", sentinel, {"a": INTEGER}, (), valid=[({}, True), ({"a": 5}, 5)], invalid=[({"a": "x"}, "a")]),
    Case(
        "defaults of another type",
        other_type,
        {"a": {**INTEGER, "default": None}, "b": {**STRING, "default": 5}, "c": {**INTEGERS, "default": []}},
        (),
        valid=[({}, (None, 5, ())), ({"a": 1, "b": "y", "c": [1]}, (1, "y", [1]))],
        invalid=[({"a": "x"}, "a")],
    ),
    Case(
        "what may be None",
        nullable,
        {
            "a": {"anyOf": [INTEGER, NULL]},
            "b": {"anyOf": [STRING, NULL], "default": None},
            "c": {"anyOf": [INTEGER, NULL], "default": 5},
        },
        (),
        valid=[({"a": None, "c": None}, (None, None, None)), ({"a": 1}, (1, None, 5))],
        lenient=[({}, (None, None, 5))],
        invalid=[({"a": "x", "b": 5}, "a", "b")],
    ),
    Case(
        "defaults in a Field",
        field,
        {
            "a": {**INTEGER, "minimum": 1, "default": 5},
            "b": {**STRING, "description": "Why", "default": "x"},
            "c": {**INTEGER, "minimum": 2},
        },
        ("c",),
        valid=[({"c": 2}, (5, "x", 2)), ({"a": 1, "b": "y", "c": 3}, (1, "y", 3))],
        invalid=[({"a": 0, "c": 1}, "a", "c"), ({}, "c")],
    ),
    Case(
        "a default from a factory",
        factory,
        {"a": INTEGERS},
        (),
        valid=[({}, []), ({"a": [1]}, [1])],
        invalid=[({"a": ["x"]}, "a[0]")],
    ),
    Case(
        "defaults of annotated types",
        annotated,
        {"a": {**INTEGER, "minimum": 1, "default": 5}, "b": {**STRING, "description": "Why", "default": "x"}},
        (),
        valid=[({}, (5, "x"))],
        invalid=[({"a": 0}, "a")],
    ),
    Case(
        "unknown types with a default",
        unknown,
        {"number": STRING},
        valid=[({"number": "A"}, ("A", True, None))],
        invalid=[({"number": "A", "nothing": 1}, "nothing"), ({"number": "A", "maybe": None}, "maybe")],
    ),
    Case(
        "an unknown type by position",
        unknown_by_position,
        {"number": STRING, "cups": {**INTEGER, "default": 2}},
        ("number",),
        valid=[({"number": "A"}, ("A", True, 2)), ({"number": "A", "cups": 5}, ("A", True, 5))],
        invalid=[({"number": "A", "cups": "x"}, "cups")],
    ),
    Case(
        "half a character",
        half,
        {"a": STRING, "b": {**STRING, "default": "x" * 300}},
        (),
        valid=[({}, (1, 300)), ({"a": "xy"}, (2, 300))],
        invalid=[({"a": 1}, "a")],
    ),
    Case(
        "defaults without types",
        bare,
        {"a": {"default": 1}, "b": {"default": None}, "c": {}},
        (),
        valid=[({}, (1, None, True)), ({"a": "x", "b": [1]}, ("x", [1], True))],
        invalid=[({"d": 1}, "d")],
    ),
    Case(
        "defaults that are no JSON",
        mapping,
        {"a": {}, "b": {}},
        (),
        valid=[({}, (1, True)), ({"a": {"a": 2}}, (2, True))],
        invalid=[({"c": 1}, "c")],
    ),
]
