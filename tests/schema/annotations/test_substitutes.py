"""Types that pydantic refuses are taken through a substitute."""

import sys
import typing
from dataclasses import dataclass, field
from typing import Annotated, Generic, Literal, NamedTuple, NotRequired, TypedDict, TypeVar

import pytest
import typing_extensions
from pydantic import ValidationError

from ez_ptc.schema.annotations.substitutes import is_record, substitute_for
from ez_ptc.schema.types import json_schema, record_adapter

T = TypeVar("T")


class Tea(TypedDict):
    """A kind of tea."""

    name: str
    grams: NotRequired[int]


class Blend(Tea, total=False):
    parts: list["Blend"]


class Page(TypedDict, Generic[T]):
    items: list[T]


@dataclass
class Order:
    teas: list[Tea]
    number: int = 1
    done: bool = field(default=False, init=False)


class Gift(NamedTuple):
    tea: Tea
    note: str = ""


@dataclass
class Plain:
    grams: int


class Spot(NamedTuple):
    x: int


def validated(annotation: object, value: object) -> object:
    entry = substitute_for(annotation, namespace={})
    return record_adapter("Record", {"it": entry}, {}).validate_python({"it": value})["it"]


Teas = typing_extensions.TypeAliasType("Teas", list[Tea])
Grams = typing_extensions.TypeAliasType("Grams", list[int])

GREEN = {"name": "green", "grams": 100}
TAKEN: list[tuple[object, object, object]] = [
    (Tea, GREEN, GREEN),
    (list[Tea], [GREEN], [GREEN]),
    (Tea | None, None, None),
    (dict[str, Annotated[Tea, "which"]], {"a": GREEN}, {"a": GREEN}),
    (Blend, {"name": "b", "parts": [{"name": "c"}]}, {"name": "b", "parts": [{"name": "c"}]}),
    (Page[Tea], {"items": [GREEN]}, {"items": [GREEN]}),
    (Order, {"teas": [GREEN]}, Order([GREEN])),  # pyright: ignore[reportArgumentType] - a Tea by its fields
    (list[Order], [Order([])], [Order([])]),
    (Gift, {"tea": GREEN}, Gift(GREEN)),  # pyright: ignore[reportArgumentType] - a Tea by its fields
    (Literal["Tea"], "Tea", "Tea"),
]


@pytest.mark.parametrize(("annotation", "value", "made"), TAKEN)
def test_type_containing_typed_dict_is_validated(annotation: object, value: object, made: object) -> None:
    assert validated(annotation, value) == made
    assert type(validated(annotation, value)) is type(made)


REFUSED: list[tuple[object, object]] = [
    (Tea, {"grams": 1}),
    (Tea, {"name": "a", "grams": "many"}),
    (Blend, {"name": "a", "parts": [{}]}),
    (Page[Tea], {"items": [{}]}),
    (Page[int], {"items": ["x"]}),
    (Order, {"teas": [{}]}),
    (Gift, {"tea": {}}),
]


@pytest.mark.parametrize(("annotation", "value"), REFUSED)
def test_invalid_value_in_substitute_is_refused(annotation: object, value: object) -> None:
    with pytest.raises(ValidationError):
        validated(annotation, value)


def test_substitute_is_described_as_its_class() -> None:
    schema = json_schema(record_adapter("Record", {"it": substitute_for(Blend, namespace={})}, {}))

    assert schema["properties"]["it"] == {"$ref": "#/$defs/Blend"}
    assert schema["$defs"]["Blend"]["required"] == ["name"]
    assert list(schema["$defs"]["Blend"]["properties"]) == ["name", "grams", "parts"]
    assert schema["$defs"]["Blend"]["properties"]["parts"]["items"] == {"$ref": "#/$defs/Blend"}


@pytest.mark.parametrize("annotation", [int, list[Plain], Plain, Spot, Literal["a"], typing.Callable[[int], str]])
def test_type_pydantic_accepts_has_no_substitute(annotation: object) -> None:
    assert substitute_for(annotation, namespace={}) is annotation


@pytest.mark.skipif(sys.version_info < (3, 12), reason="pydantic refuses typing.TypedDict before Python 3.12")
def test_typed_dict_pydantic_accepts_has_no_substitute() -> None:
    assert substitute_for(list[Tea], namespace={}) == list[Tea]


def test_records_of_any_kind_become_dicts_with_every_field() -> None:
    schema = json_schema(
        record_adapter("Record", {"it": substitute_for(tuple[Order, Gift], namespace={}, records=True)}, {})
    )

    assert schema["$defs"]["Order"]["required"] == ["teas", "number", "done"]
    assert schema["$defs"]["Gift"]["required"] == ["tea", "note"]
    assert schema["$defs"]["Tea"]["required"] == ["name"]


def test_an_alias_of_a_type_is_looked_into() -> None:
    assert validated(Teas, [GREEN]) == [GREEN]
    assert substitute_for(Grams, namespace={}) is Grams


def test_local_classes_find_their_neighbours_in_the_namespace() -> None:
    class Leaf(TypedDict):
        name: str

    class Branch(TypedDict):
        leaves: "list[Leaf]"

    entry = substitute_for(Branch, namespace={"Leaf": Leaf}, records=True)
    schema = json_schema(record_adapter("Record", {"it": entry}, {}))

    assert schema["$defs"]["Leaf"]["properties"] == {"name": {"type": "string"}}


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (Tea, True),
        (Order, True),
        (Gift, True),
        (Page[int], True),
        (dict, False),
        (tuple, False),
        (int, False),
        (3, False),
    ],
)
def test_record_has_named_fields(kind: object, answer: bool) -> None:
    assert is_record(kind) is answer
