"""Classes of attrs and msgspec."""

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Final, Generic, TypedDict, TypeVar

import attr
import attrs
import msgspec
from pydantic import ConfigDict, Field

from tests.callables.cases import Case, record, takes

__all__ = ["CASES"]

T = TypeVar("T")
INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}


class Route(Enum):
    AIR = "air"
    SEA = "sea"


ROUTE = {"type": "string", "enum": ["air", "sea"]}


@attrs.define
class Tea:
    """A kind of tea."""

    name: str
    grams: int = 100


@attrs.frozen
class Order:
    tea: Tea
    teas: list[Tea] = attrs.field(factory=list[Tea])
    by: Route = Route.SEA


@attr.s(auto_attribs=True)
class Old:
    a: int
    b: str = "x"


@attr.s
class Older:
    a = attr.ib(type=int)  # pyright: ignore[reportGeneralTypeIssues] - the old way, before annotations
    b = attr.ib(default="x", type=str)  # pyright: ignore[reportGeneralTypeIssues] - the old way, before annotations


@attrs.define
class Private:
    _secret: str
    shown: int = attrs.field(alias="display")
    made: int = attrs.field(init=False, default=3)


@attrs.define(kw_only=True)
class Checked:
    low: int = attrs.field(validator=attrs.validators.ge(0))
    upper: str = attrs.field(converter=str.upper, default="x")


@attrs.define
class Node:
    value: int
    next: "Node | None" = None


@attrs.define
class Box(Generic[T]):
    content: T


@attrs.define
class Large(Tea):
    origin: str = "Assam"


class Point(msgspec.Struct):
    """A place."""

    x: int
    y: int = 0


class Line(msgspec.Struct, frozen=True, kw_only=True):
    points: list[Point]
    label: str | None = None
    drawn: date | None = None


class Renamed(msgspec.Struct, rename="camel"):
    first_name: str
    last_name: str = "x"


class Named(msgspec.Struct):
    kind: str = msgspec.field(name="type")
    tags: list[str] = msgspec.field(default_factory=list[str])


class Cat(msgspec.Struct, tag="cat", tag_field="kind"):
    lives: int = 9


class Dog(msgspec.Struct, tag="dog", tag_field="kind"):
    legs: int


class Limited(msgspec.Struct):
    count: Annotated[int, msgspec.Meta(ge=1, le=9, description="How many")]
    name: Annotated[str, msgspec.Meta(min_length=1, pattern="^a")] = "a"


class Closed(msgspec.Struct, forbid_unknown_fields=True):
    a: int


class Leaf(msgspec.Struct):
    value: int
    next: "Leaf | None" = None


class Crate(msgspec.Struct, Generic[T]):
    content: T


class Listed(msgspec.Struct, array_like=True):
    a: int
    b: str = "x"


class Sorted(msgspec.Struct):
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            message = "low is above high"
            raise ValueError(message)


@dataclass
class Mixed:
    tea: Tea
    point: Point


class Unset(msgspec.Struct):
    a: int
    b: int | msgspec.UnsetType = msgspec.UNSET


@dataclass
class WithFields:
    count: int = Field(3, ge=1)
    point: Point = Field()  # noqa: RUF009 - as people write it
    size: int = Field(ge=2)


@dataclass
class Configured:
    __pydantic_config__ = ConfigDict(extra="forbid")
    tea: Tea


class Wrapped(TypedDict):
    tea: Tea


TEA = record({"name": STRING, "grams": {**INTEGER, "default": 100}}, "name", description="A kind of tea.")
POINT = record({"x": INTEGER, "y": {**INTEGER, "default": 0}}, "x", description="A place.")

CASES: Final[list[Case]] = [
    takes(
        Unset,
        record({"a": INTEGER, "b": INTEGER}, "a"),
        valid=[({"a": 1}, Unset(1)), ({"a": 1, "b": 2}, Unset(1, 2))],
        invalid=[({"a": 1, "b": "x"}, "it.b")],
    ),
    takes(
        WithFields,
        record(
            {"count": {**INTEGER, "minimum": 1, "default": 3}, "point": POINT, "size": {**INTEGER, "minimum": 2}},
            "point",
            "size",
        ),
        valid=[({"point": {"x": 1}, "size": 2}, WithFields(3, Point(1), 2))],
        invalid=[({"count": 0, "point": {}, "size": 1}, "it.count", "it.point.x", "it.size")],
    ),
    takes(
        Configured,
        record({"tea": TEA}, "tea", additionalProperties=False),
        valid=[({"tea": {"name": "a"}}, Configured(Tea("a")))],
        invalid=[({"tea": {"name": "a"}, "x": 1}, "it.x")],
    ),
    takes(Annotated[int, msgspec.Meta(ge=1)], {**INTEGER, "minimum": 1}, valid=[1], invalid=[0]),
    takes(
        Tea,
        TEA,
        valid=[({"name": "a"}, Tea("a")), ({"name": "a", "grams": 5}, Tea("a", 5))],
        lenient=[({"name": "a", "grams": "5"}, Tea("a", 5))],
        objects=[Tea("a")],
        invalid=["x", None, [], ({}, "it.name"), ({"name": 1, "grams": "x"}, "it.name", "it.grams")],
    ),
    takes(
        Order,
        record({"tea": TEA, "teas": {"type": "array", "items": TEA}, "by": {**ROUTE, "default": "sea"}}, "tea"),
        valid=[
            ({"tea": {"name": "a"}, "teas": [{"name": "b"}], "by": "air"}, Order(Tea("a"), [Tea("b")], Route.AIR)),
            ({"tea": {"name": "a"}}, Order(Tea("a"))),
        ],
        invalid=[({"tea": {}, "teas": [{"name": 1}], "by": "rail"}, "it.tea.name", "it.teas[0].name", "it.by")],
    ),
    takes(
        Old,
        record({"a": INTEGER, "b": {**STRING, "default": "x"}}, "a"),
        valid=[({"a": 1}, Old(1))],
        invalid=[({"b": 1}, "it.a", "it.b")],
    ),
    takes(
        Older,
        record({"a": INTEGER, "b": {**STRING, "default": "x"}}, "a"),
        valid=[({"a": 1}, Older(1))],  # pyright: ignore[reportCallIssue] - pyright does not know its fields
        invalid=[({"a": "x"}, "it.a")],
    ),
    takes(
        Private,
        record({"secret": STRING, "display": INTEGER}, "secret", "display"),
        valid=[({"secret": "s", "display": 1}, Private("s", 1))],
        invalid=[({"display": 1}, "it.secret")],
    ),
    takes(
        Checked,
        record({"low": INTEGER, "upper": {**STRING, "default": "x"}}, "low"),
        valid=[({"low": 1, "upper": "a"}, Checked(low=1, upper="a"))],
        invalid=[{"low": -1}, ({"low": "x"}, "it.low")],
    ),
    takes(
        Node,
        {"$ref": "#/$defs/Node"},
        valid=[({"value": 1, "next": {"value": 2}}, Node(1, Node(2)))],
        invalid=[({"value": "x"}, "it.value")],
    ),
    takes(
        Box[int],
        record({"content": INTEGER}, "content"),
        valid=[({"content": 1}, Box(1))],
        invalid=[({"content": "x"}, "it.content")],
    ),
    takes(
        Large,
        record(
            {"name": STRING, "grams": {**INTEGER, "default": 100}, "origin": {**STRING, "default": "Assam"}}, "name"
        ),
        valid=[({"name": "a"}, Large("a"))],
        invalid=[({}, "it.name")],
    ),
    takes(
        Point,
        POINT,
        valid=[({"x": 1}, Point(1)), ({"x": 1, "y": 2}, Point(1, 2))],
        lenient=[({"x": "1"}, Point(1))],
        objects=[Point(1)],
        invalid=["x", None, ({}, "it.x"), ({"x": "x", "y": "z"}, "it.x", "it.y")],
    ),
    takes(
        Line,
        record(
            {
                "points": {"type": "array", "items": POINT},
                "label": {"anyOf": [STRING, NULL], "default": None},
                "drawn": {"anyOf": [{"type": "string", "format": "date"}, NULL], "default": None},
            },
            "points",
        ),
        valid=[({"points": [{"x": 1}], "drawn": "2024-05-06"}, Line(points=[Point(1)], drawn=date(2024, 5, 6)))],
        invalid=[({"points": [{}]}, "it.points[0].x")],
    ),
    takes(
        Renamed,
        record({"firstName": STRING, "lastName": {**STRING, "default": "x"}}, "firstName"),
        valid=[({"firstName": "a"}, Renamed("a"))],
        lenient=[({"first_name": "a", "lastName": "b"}, Renamed("a", "b"))],
        invalid=[({"name": "a"}, "it.firstName", "it.name")],
    ),
    takes(
        Named,
        record({"type": STRING, "tags": {"type": "array", "items": STRING}}, "type"),
        valid=[({"type": "a"}, Named("a"))],
        invalid=[({"type": 1}, "it.type")],
    ),
    takes(
        Cat | Dog,
        {
            "anyOf": [
                record({"kind": {**STRING, "enum": ["cat"]}, "lives": {**INTEGER, "default": 9}}, "kind"),
                record({"kind": {**STRING, "enum": ["dog"]}, "legs": INTEGER}, "kind", "legs"),
            ]
        },
        valid=[({"kind": "cat"}, Cat()), ({"kind": "dog", "legs": 4}, Dog(4))],
        invalid=["x", {"kind": "cow"}],
    ),
    takes(
        Cat,
        record({"kind": {**STRING, "enum": ["cat"]}, "lives": {**INTEGER, "default": 9}}, "kind"),
        valid=[({"kind": "cat"}, Cat())],
        invalid=[({"kind": "dog"}, "it.kind")],
    ),
    takes(
        Limited,
        record(
            {
                "count": {**INTEGER, "minimum": 1, "maximum": 9, "description": "How many"},
                "name": {**STRING, "minLength": 1, "pattern": "^a", "default": "a"},
            },
            "count",
        ),
        valid=[({"count": 1}, Limited(1))],
        invalid=[({"count": 0, "name": "b"}, "it.count", "it.name")],
    ),
    takes(
        Closed,
        record({"a": INTEGER}, "a", additionalProperties=False),
        valid=[({"a": 1}, Closed(1))],
        invalid=[({"a": 1, "b": 2}, "it.b")],
    ),
    takes(
        Leaf,
        {"$ref": "#/$defs/Leaf"},
        valid=[({"value": 1, "next": {"value": 2}}, Leaf(1, Leaf(2)))],
        invalid=[({"value": "x"}, "it.value")],
    ),
    takes(
        Crate[int],
        record({"content": INTEGER}, "content"),
        valid=[({"content": 1}, Crate(1))],
        invalid=[({"content": "x"}, "it.content")],
    ),
    takes(
        Listed,
        {"type": "array", "prefixItems": [INTEGER, {**STRING, "default": "x"}], "minItems": 1, "maxItems": 2},
        valid=[([1], Listed(1)), ([1, "a"], Listed(1, "a"))],
        invalid=["x", ([], "it[0]")],
    ),
    takes(
        Sorted,
        record({"low": INTEGER, "high": INTEGER}, "low", "high"),
        valid=[({"low": 1, "high": 2}, Sorted(1, 2))],
        invalid=[{"low": 2, "high": 1}],
    ),
    takes(
        Mixed,
        record({"tea": TEA, "point": POINT}, "tea", "point"),
        valid=[({"tea": {"name": "a"}, "point": {"x": 1}}, Mixed(Tea("a"), Point(1)))],
        invalid=[({"tea": {}, "point": {}}, "it.tea.name", "it.point.x")],
    ),
    takes(
        Wrapped,
        record({"tea": TEA}, "tea"),
        valid=[({"tea": {"name": "a"}}, {"tea": Tea("a")})],
        invalid=[({"tea": {}}, "it.tea.name")],
    ),
    takes(
        list[Tea],
        {"type": "array", "items": TEA},
        valid=[([{"name": "a"}], [Tea("a")])],
        invalid=[([{}], "it[0].name")],
    ),
    takes(
        dict[str, Point],
        {"type": "object", "additionalProperties": POINT},
        valid=[({"a": {"x": 1}}, {"a": Point(1)})],
        invalid=[({"a": {}}, "it.a.x")],
    ),
    takes(Tea | None, {"anyOf": [TEA, NULL]}, valid=[({"name": "a"}, Tea("a")), None], invalid=["x", ({}, "it.name")]),
    takes(Point | int, {"anyOf": [POINT, INTEGER]}, valid=[({"x": 1}, Point(1)), 5], invalid=["x"]),
    takes(
        Annotated[Tea, "Which"],
        {**TEA, "description": "Which"},
        valid=[({"name": "a"}, Tea("a"))],
        invalid=[({}, "it.name")],
    ),
    takes(
        tuple[Tea, Point],
        {"type": "array", "prefixItems": [TEA, POINT], "minItems": 2, "maxItems": 2},
        valid=[([{"name": "a"}, {"x": 1}], (Tea("a"), Point(1)))],
        invalid=[([{}, {}], "it[0].name", "it[1].x")],
    ),
]
