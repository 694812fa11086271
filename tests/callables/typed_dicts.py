"""TypedDict: dicts with known keys."""

import typing
from datetime import date
from typing import Annotated, Final, Generic, NotRequired, Required, TypedDict, TypeVar

import typing_extensions
from pydantic import Field
from typing_extensions import ReadOnly

from tests.callables.cases import Case, record, takes

__all__ = ["CASES", "GREEN", "TEA", "Tea"]

T = TypeVar("T")
INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}


class Tea(TypedDict):
    """A kind of tea."""

    name: str
    grams: int


class NewTea(typing_extensions.TypedDict):
    name: str
    sold: date


class Loose(TypedDict, total=False):
    name: str
    grams: int


class Mixed(TypedDict):
    name: str
    grams: NotRequired[int]


class Strict(TypedDict, total=False):
    name: Required[str]
    grams: int


class Fixed(TypedDict):
    name: ReadOnly[str]
    grams: NotRequired[ReadOnly[int]]


class Parent(TypedDict):
    name: str


class Child(Parent, total=False):
    grams: int


class Described(TypedDict):
    name: Annotated[str, Field(description="What it is called", min_length=1)]


class Tree(TypedDict):
    value: int
    children: "list[Tree]"


class Nested(TypedDict):
    tea: Tea
    teas: list[Tea]
    by_name: dict[str, Tea]
    maybe: Tea | None


class Page(TypedDict, Generic[T]):
    items: list[T]


Functional = TypedDict("Functional", {"the name": str, "class": int})


TEA = record({"name": STRING, "grams": INTEGER}, "name", "grams", description="A kind of tea.")
GREEN = {"name": "green", "grams": 5}
LOOSE = record({"name": STRING, "grams": INTEGER}, "name")

CASES: Final[list[Case]] = [
    takes(
        Tea,
        TEA,
        valid=[GREEN],
        lenient=[({**GREEN, "grams": "5"}, GREEN)],
        invalid=[
            "x",
            None,
            [GREEN],
            ({}, "it.name", "it.grams"),
            ({"name": 1, "grams": "x"}, "it.name", "it.grams"),
            ({"nmae": "green", "grams": 5}, "it.name", "it.nmae"),
        ],
    ),
    takes(
        NewTea,
        record({"name": STRING, "sold": {"type": "string", "format": "date"}}, "name", "sold"),
        valid=[({"name": "a", "sold": "2024-05-06"}, {"name": "a", "sold": date(2024, 5, 6)})],
        invalid=[({"name": "a"}, "it.sold")],
    ),
    takes(
        Loose,
        record({"name": STRING, "grams": INTEGER}),
        valid=[{}, {"name": "a"}],
        invalid=[({"grams": "x"}, "it.grams"), 5],
    ),
    takes(Mixed, LOOSE, valid=[{"name": "a"}, {"name": "a", "grams": 5}], invalid=[({"grams": 5}, "it.name")]),
    takes(Strict, LOOSE, valid=[{"name": "a"}], invalid=[({}, "it.name")]),
    takes(
        Fixed,
        LOOSE,
        valid=[{"name": "a"}, {"name": "a", "grams": 1}],
        invalid=[({"grams": 1}, "it.name"), ({"name": "a", "grams": "x"}, "it.grams")],
    ),
    takes(Child, LOOSE, valid=[{"name": "a"}, {"name": "a", "grams": 1}], invalid=[({"grams": 1}, "it.name")]),
    takes(
        Described,
        record({"name": {**STRING, "description": "What it is called", "minLength": 1}}, "name"),
        valid=[{"name": "a"}],
        invalid=[({"name": ""}, "it.name")],
    ),
    takes(
        Tree,
        {"$ref": "#/$defs/Tree"},
        valid=[{"value": 1, "children": [{"value": 2, "children": []}]}],
        invalid=[({"value": 1, "children": [{"value": "x", "children": []}]}, "it.children[0].value")],
    ),
    takes(
        Nested,
        record(
            {
                "tea": TEA,
                "teas": {"type": "array", "items": TEA},
                "by_name": {"type": "object", "additionalProperties": TEA},
                "maybe": {"anyOf": [TEA, NULL]},
            },
            "tea",
            "teas",
            "by_name",
            "maybe",
        ),
        valid=[{"tea": GREEN, "teas": [GREEN], "by_name": {"a": GREEN}, "maybe": None}],
        invalid=[
            (
                {"tea": {}, "teas": [{"name": 1, "grams": 1}], "by_name": {"a": GREEN}, "maybe": None},
                "it.tea.name",
                "it.tea.grams",
                "it.teas[0].name",
            )
        ],
    ),
    takes(
        Page[int],
        record({"items": {"type": "array", "items": INTEGER}}, "items"),
        valid=[{"items": [1]}],
        invalid=[({"items": ["x"]}, "it.items[0]")],
    ),
    takes(
        Page[Tea],
        record({"items": {"type": "array", "items": TEA}}, "items"),
        valid=[{"items": [GREEN]}],
        invalid=[({"items": [{"name": "a"}]}, "it.items[0].grams")],
    ),
    takes(
        Functional,
        record({"the name": STRING, "class": INTEGER}, "the name", "class"),
        valid=[{"the name": "a", "class": 1}],
        invalid=[({"class": "x"}, "it['the name']", "it.class")],
    ),
    takes(
        list[Tea],
        {"type": "array", "items": TEA},
        valid=[[], [GREEN]],
        invalid=[([GREEN, {}], "it[1].name", "it[1].grams")],
    ),
    takes(Tea | None, {"anyOf": [TEA, NULL]}, valid=[GREEN, None], invalid=["x"]),
    takes(
        Annotated[Tea, "Which"], {**TEA, "description": "Which"}, valid=[GREEN], invalid=[({}, "it.name", "it.grams")]
    ),
    takes(
        typing.Dict[str, Tea],  # noqa: UP006 - its old name works too
        {"type": "object", "additionalProperties": TEA},
        valid=[{"a": GREEN}],
        invalid=[({"a": {}}, "it.a.name", "it.a.grams")],
    ),
]
