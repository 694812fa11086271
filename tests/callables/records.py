"""Dataclass and NamedTuple: values with named fields."""

import collections
import dataclasses
from dataclasses import KW_ONLY, InitVar, dataclass, field
from datetime import date
from enum import Enum
from typing import Annotated, ClassVar, Final, Generic, NamedTuple, TypeVar

from pydantic import Field

from tests.callables.cases import Case, record, takes
from tests.callables.typed_dicts import GREEN, TEA, Tea

__all__ = ["CASES"]

T = TypeVar("T")
INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}


class Route(Enum):
    AIR = "air"
    SEA = "sea"


ROUTE = {"type": "string", "enum": ["air", "sea"]}


@dataclass
class Parcel:
    grams: int
    route: Route = Route.SEA


@dataclass
class Full:
    """All there is."""

    number: str
    tags: list[str] = field(default_factory=list[str])
    note: str | None = None
    made: date = date(2024, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    a: int
    b: int = 2


@dataclass
class Keywords:
    a: int
    _: KW_ONLY
    b: int


@dataclass
class Initial:
    a: int
    scale: InitVar[int] = 1
    total: int = field(init=False, default=0)

    def __post_init__(self, scale: int) -> None:
        self.total = self.a * scale


@dataclass
class Holder:
    KIND: ClassVar[str] = "holder"
    parcel: Parcel
    parcels: list[Parcel]
    tea: Tea | None = None


@dataclass
class Small:
    a: int


@dataclass
class Large(Small):
    b: int = 2


@dataclass
class Node:
    value: int
    next: "Node | None" = None


@dataclass
class Checked:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            message = "low is above high"
            raise ValueError(message)


@dataclass
class Limited:
    count: Annotated[int, Field(ge=1, description="How many")]


@dataclass
class Box(Generic[T]):
    content: T


@dataclass
class Texts:
    note: Annotated[str, "What to say"] = "hi"


class Spot(NamedTuple):
    x: int
    y: int = 0


class Gift(NamedTuple):
    tea: Tea
    spot: Spot


Plain = collections.namedtuple("Plain", ["a", "b"], defaults=[5])  # noqa: PYI024 - the old kind without types  # pyright: ignore[reportUntypedNamedTuple] - the old kind without types
Made = dataclasses.make_dataclass("Made", [("a", int), ("b", str, "x")])

PARCEL = record({"grams": INTEGER, "route": {**ROUTE, "default": "sea"}}, "grams")
SPOT = {"type": "array", "prefixItems": [INTEGER, {**INTEGER, "default": 0}], "minItems": 1, "maxItems": 2}

DATACLASSES: Final = [
    takes(
        Parcel,
        PARCEL,
        valid=[({"grams": 5}, Parcel(5)), ({"grams": 5, "route": "air"}, Parcel(5, Route.AIR))],
        lenient=[({"grams": "5"}, Parcel(5))],
        objects=[Parcel(1)],
        invalid=["x", None, [5], ({}, "it.grams"), ({"grams": "x", "route": "rail"}, "it.grams", "it.route")],
    ),
    takes(
        Full,
        record(
            {
                "number": STRING,
                "tags": {"type": "array", "items": STRING},
                "note": {"anyOf": [STRING, NULL], "default": None},
                "made": {"type": "string", "format": "date"},
            },
            "number",
            description="All there is.",
        ),
        valid=[
            ({"number": "A"}, Full("A")),
            (
                {"number": "A", "tags": ["a"], "note": "n", "made": "2024-05-06"},
                Full("A", ["a"], "n", date(2024, 5, 6)),
            ),
        ],
        invalid=[({"number": "A", "tags": [1]}, "it.tags[0]"), ({"made": "x"}, "it.number", "it.made")],
    ),
    takes(
        Frozen,
        record({"a": INTEGER, "b": {**INTEGER, "default": 2}}, "a"),
        valid=[({"a": 1}, Frozen(a=1)), ({"a": 1, "b": 3}, Frozen(a=1, b=3))],
        invalid=[({"b": 1}, "it.a")],
    ),
    takes(
        Keywords,
        record({"a": INTEGER, "b": INTEGER}, "a", "b"),
        valid=[({"a": 1, "b": 2}, Keywords(1, b=2))],
        invalid=[({"a": 1}, "it.b")],
    ),
    takes(
        Initial,
        record({"a": INTEGER, "scale": {**INTEGER, "default": 1}}, "a"),
        valid=[({"a": 2}, Initial(2)), ({"a": 2, "scale": 3}, Initial(2, 3))],
        invalid=[({"a": 2, "scale": "x"}, "it.scale")],
    ),
    takes(
        Holder,
        record(
            {
                "parcel": PARCEL,
                "parcels": {"type": "array", "items": PARCEL},
                "tea": {"anyOf": [TEA, NULL], "default": None},
            },
            "parcel",
            "parcels",
        ),
        valid=[
            ({"parcel": {"grams": 1}, "parcels": [{"grams": 2}]}, Holder(Parcel(1), [Parcel(2)])),
            ({"parcel": {"grams": 1}, "parcels": [], "tea": GREEN}, Holder(Parcel(1), [], Tea(name="green", grams=5))),
        ],
        invalid=[({"parcel": {}, "parcels": [{"grams": "x"}]}, "it.parcel.grams", "it.parcels[0].grams")],
    ),
    takes(
        Large,
        record({"a": INTEGER, "b": {**INTEGER, "default": 2}}, "a"),
        valid=[({"a": 1}, Large(1))],
        invalid=[({"b": 1}, "it.a")],
    ),
    takes(
        Node,
        {"$ref": "#/$defs/Node"},
        valid=[({"value": 1, "next": {"value": 2}}, Node(1, Node(2)))],
        invalid=[({"value": 1, "next": {"value": "x"}}, "it.next.value")],
    ),
    takes(
        Checked,
        record({"low": INTEGER, "high": INTEGER}, "low", "high"),
        valid=[({"low": 1, "high": 2}, Checked(1, 2))],
        invalid=[{"low": 2, "high": 1}, ({"low": 1}, "it.high")],
    ),
    takes(
        Limited,
        record({"count": {**INTEGER, "minimum": 1, "description": "How many"}}, "count"),
        valid=[({"count": 1}, Limited(1))],
        invalid=[({"count": 0}, "it.count")],
    ),
    takes(
        Box[int],
        record({"content": INTEGER}, "content"),
        valid=[({"content": 1}, Box(1))],
        invalid=[({"content": "x"}, "it.content")],
    ),
    takes(
        Box[Parcel],
        record({"content": PARCEL}, "content"),
        valid=[({"content": {"grams": 1}}, Box(Parcel(1)))],
        invalid=[({"content": {}}, "it.content.grams")],
    ),
    takes(
        Box[Tea],
        record({"content": TEA}, "content"),
        valid=[({"content": GREEN}, Box(Tea(name="green", grams=5)))],
        invalid=[({"content": {"name": "a"}}, "it.content.grams")],
    ),
    takes(
        Texts,
        record({"note": {**STRING, "description": "What to say", "default": "hi"}}),
        valid=[({}, Texts()), ({"note": "a"}, Texts("a"))],
        invalid=[({"note": 1}, "it.note")],
    ),
    takes(
        Made,
        record({"a": INTEGER, "b": {**STRING, "default": "x"}}, "a"),
        valid=[({"a": 1}, Made(1))],
        invalid=[({}, "it.a")],
    ),
    takes(
        list[Parcel],
        {"type": "array", "items": PARCEL},
        valid=[([{"grams": 1}], [Parcel(1)])],
        objects=[[Parcel(1)]],
        invalid=[([{"grams": 1}, 5], "it[1]"), ([{}], "it[0].grams")],
    ),
    takes(
        dict[str, Parcel],
        {"type": "object", "additionalProperties": PARCEL},
        valid=[({"a": {"grams": 1}}, {"a": Parcel(1)})],
        invalid=[({"a": {}}, "it.a.grams")],
    ),
    takes(
        Parcel | None,
        {"anyOf": [PARCEL, NULL]},
        valid=[({"grams": 1}, Parcel(1)), None],
        invalid=["x", ({"grams": "x"}, "it.grams")],
    ),
    takes(
        tuple[Parcel, int],
        {"type": "array", "prefixItems": [PARCEL, INTEGER], "minItems": 2, "maxItems": 2},
        valid=[([{"grams": 1}, 2], (Parcel(1), 2))],
        invalid=[([{}, 2], "it[0].grams")],
    ),
    takes(
        Parcel | Small,
        {"anyOf": [PARCEL, record({"a": INTEGER}, "a")]},
        valid=[({"a": 1}, Small(1)), ({"grams": 1}, Parcel(1))],
        invalid=[{}, "x"],
    ),
]

TUPLES: Final = [
    takes(
        Spot,
        SPOT,
        valid=[([1, 2], Spot(1, 2)), ([1], Spot(1))],
        lenient=[({"x": 1}, Spot(1)), ({"x": 1, "y": 2}, Spot(1, 2))],
        objects=[Spot(1, 2)],
        invalid=["x", None, (["x", 2], "it[0]")],
    ),
    takes(
        Gift,
        {"type": "array", "prefixItems": [TEA, SPOT], "minItems": 2, "maxItems": 2},
        valid=[([GREEN, [1, 2]], Gift(Tea(name="green", grams=5), Spot(1, 2)))],
        lenient=[({"tea": GREEN, "spot": {"x": 1}}, Gift(Tea(name="green", grams=5), Spot(1)))],
        invalid=["x"],
    ),
    takes(
        Plain,
        {"type": "array", "prefixItems": [{}, {"default": 5}], "minItems": 1, "maxItems": 2},
        valid=[([1], Plain(1, 5)), (["a", 2], Plain("a", 2))],
        invalid=["x"],
    ),
    takes(list[Spot], {"type": "array", "items": SPOT}, valid=[([[1, 2]], [Spot(1, 2)])], invalid=["x"]),
    takes(Spot | None, {"anyOf": [SPOT, NULL]}, valid=[([1, 2], Spot(1, 2)), None], invalid=["x"]),
]

CASES: Final[list[Case]] = [*DATACLASSES, *TUPLES]
