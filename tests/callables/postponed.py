"""Annotations that are text until somebody asks, and names that only a type checker has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Optional

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tests.callables.cases import Case

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

__all__ = ["CASES"]

INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}


class Tea(TypedDict):
    name: str
    sold: date


@dataclass
class Parcel:
    grams: int
    inner: Parcel | None = None


class Address(BaseModel):
    street: str
    later: Later | None = None


class Later(BaseModel):
    day: date


def plain(number: str, cups: int = 2, day: Optional[date] = None) -> object:  # noqa: UP045 - its old spelling works too
    return number, cups, day


def described(cups: Annotated[int, Field(ge=1, description="How many")], how: Literal["a", "b"] = "a") -> object:
    return cups, how


def quoted(number: "str", cups: "int" = 2) -> object:  # noqa: UP037 - text within text works too
    return number, cups


def records(tea: Tea, parcel: Parcel, address: Address) -> object:
    return tea, parcel, address


def hidden(number: str, ratio: Fraction | None = None) -> object:
    return number, ratio


def local() -> Callable[..., Any]:
    class Leaf(BaseModel):
        value: int

    @dataclass
    class Branch:
        leaves: list[Leaf]

    class Twig(TypedDict):
        leaf: Leaf

    def take(leaf: Leaf, branch: Branch, twig: Twig) -> object:
        return leaf.value, branch.leaves[0].value, twig["leaf"].value, Leaf.__name__, Branch.__name__, Twig.__name__

    return take


class Holder:
    class Slot(BaseModel):
        number: int

    def put(self, slot: Slot, day: date) -> object:
        return slot.number, day


LEAF = {"type": "object", "properties": {"value": INTEGER}, "required": ["value"]}
DATE = {**STRING, "format": "date"}
SLOT = {"type": "object", "properties": {"number": INTEGER}, "required": ["number"]}
LATER = {"type": "object", "properties": {"day": DATE}, "required": ["day"]}
MAYBE_PARCEL = {"anyOf": [{"$ref": "#/$defs/Parcel"}, NULL], "default": None}

DAY = date(2024, 5, 6)
LEAVES = {"leaf": {"value": 1}, "branch": {"leaves": [{"value": 2}]}, "twig": {"leaf": {"value": 3}}}

CASES: Final[list[Case]] = [
    Case(
        "postponed",
        plain,
        {"number": STRING, "cups": {**INTEGER, "default": 2}, "day": {"anyOf": [DATE, NULL], "default": None}},
        ("number",),
        valid=[({"number": "A", "day": "2024-05-06"}, ("A", 2, DAY))],
        invalid=[({"number": 1, "day": "x"}, "number", "day")],
    ),
    Case(
        "postponed and annotated",
        described,
        {
            "cups": {**INTEGER, "minimum": 1, "description": "How many"},
            "how": {**STRING, "enum": ["a", "b"], "default": "a"},
        },
        ("cups",),
        valid=[({"cups": 1}, (1, "a"))],
        invalid=[({"cups": 0, "how": "c"}, "cups", "how")],
    ),
    Case(
        "postponed twice",
        quoted,
        {"number": STRING, "cups": {**INTEGER, "default": 2}},
        ("number",),
        valid=[({"number": "A"}, ("A", 2))],
        invalid=[({"number": 1}, "number")],
    ),
    Case(
        "postponed records",
        records,
        {
            "tea": {"type": "object", "properties": {"name": STRING, "sold": DATE}, "required": ["name", "sold"]},
            "parcel": {"$ref": "#/$defs/Parcel"},
            "address": {
                "type": "object",
                "properties": {"street": STRING, "later": {"anyOf": [LATER, NULL], "default": None}},
                "required": ["street"],
            },
        },
        valid=[
            (
                {
                    "tea": {"name": "a", "sold": "2024-05-06"},
                    "parcel": {"grams": 1, "inner": {"grams": 2}},
                    "address": {"street": "x", "later": {"day": "2024-05-06"}},
                },
                ({"name": "a", "sold": DAY}, Parcel(1, Parcel(2)), Address(street="x", later=Later(day=DAY))),
            )
        ],
        invalid=[
            (
                {"tea": {"name": "a", "sold": "x"}, "parcel": {"grams": "x"}, "address": {}},
                "tea.sold",
                "parcel.grams",
                "address.street",
            )
        ],
    ),
    Case(
        "a name for type checkers, with a default",
        hidden,
        {"number": STRING},
        valid=[({"number": "A"}, ("A", None))],
        invalid=[({"number": "A", "ratio": "1/2"}, "ratio")],
    ),
    Case(
        "classes of the enclosing function",
        local(),
        {
            "leaf": LEAF,
            "branch": {
                "type": "object",
                "properties": {"leaves": {"type": "array", "items": LEAF}},
                "required": ["leaves"],
            },
            "twig": {"type": "object", "properties": {"leaf": LEAF}, "required": ["leaf"]},
        },
        valid=[(LEAVES, (1, 2, 3, "Leaf", "Branch", "Twig"))],
        invalid=[({**LEAVES, "branch": {"leaves": [{}]}}, "branch.leaves[0].value")],
    ),
    Case(
        "a class within the method's class",
        Holder().put,
        {"slot": SLOT, "day": DATE},
        valid=[({"slot": {"number": 1}, "day": "2024-05-06"}, (1, DAY))],
        invalid=[({"slot": {}, "day": "x"}, "slot.number", "day")],
    ),
]
