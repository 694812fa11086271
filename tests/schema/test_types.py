"""Python types as JSON Schema, in the forms of this library."""

import copy
import json
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypeVar
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from typing_extensions import TypedDict

from ez_ptc.schema.defaults import NO_DEFAULT, json_default
from ez_ptc.schema.types import json_schema, record_adapter


class Route(Enum):
    """How a parcel goes."""

    AIR = "air"
    SEA = "sea"


class Priority(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    NUMBER = 1
    TEXT = "one"


@dataclass
class Box:
    grams: int
    route: Route = Route.SEA
    inner: list["Box"] = field(default_factory=list["Box"])


class Label(BaseModel):
    """What is written on a parcel."""

    title: str = Field(title="Shown on top", description="Its first line.")
    size: int = 3


class Point(NamedTuple):
    x: int
    y: int = 0


class Dog(BaseModel):
    kind: Literal["dog"]


class Cat(BaseModel):
    kind: Literal["cat"]


T = TypeVar("T")


def schema_of(annotation: object, *, output: bool = False) -> dict[str, Any]:
    whole = json_schema(record_adapter("Record", {"it": annotation}, {}), output=output)
    it: dict[str, Any] = whole["properties"]["it"]
    return {**it, "$defs": whole["$defs"]} if "$defs" in whole else it


BARE_DICT: Any = dict
INTEGER = {"type": "integer"}
STRING = {"type": "string"}
FORMS: list[tuple[object, dict[str, Any]]] = [
    (str, STRING),
    (int, INTEGER),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (object, {}),
    (T, {}),
    (bytes, {"type": "string", "contentEncoding": "base64"}),
    (datetime, {"type": "string", "format": "date-time"}),
    (date, {"type": "string", "format": "date"}),
    (time, {"type": "string", "format": "time"}),
    (timedelta, {"type": "string", "format": "duration"}),
    (UUID, {"type": "string", "format": "uuid"}),
    (Path, {"type": "string", "format": "path"}),
    (list, {"type": "array"}),
    (list[Any], {"type": "array"}),
    (list[int], {"type": "array", "items": INTEGER}),
    (list[BARE_DICT], {"type": "array", "items": {"type": "object"}}),
    (Sequence[str], {"type": "array", "items": STRING}),
    (Iterable[str], {"type": "array", "items": STRING}),
    (deque[int], {"type": "array", "items": INTEGER}),
    (set[int], {"type": "array", "uniqueItems": True, "items": INTEGER}),
    (frozenset[int], {"type": "array", "uniqueItems": True, "items": INTEGER}),
    (tuple[int, str], {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2}),
    (tuple[int, ...], {"type": "array", "items": INTEGER}),
    (tuple, {"type": "array"}),
    (dict, {"type": "object"}),
    (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (dict[str, Any], {"type": "object", "additionalProperties": True}),
    (Mapping[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (OrderedDict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (Counter[str], {"type": "object", "additionalProperties": INTEGER}),
    (int | str, {"anyOf": [INTEGER, STRING]}),
    (int | None, {"anyOf": [INTEGER, {"type": "null"}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a"], {"type": "string", "enum": ["a"]}),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
    (Literal["a", 1, True], {"enum": ["a", 1, True]}),
    (Literal[Route.AIR, "road"], {"type": "string", "enum": ["air", "road"]}),
    (Annotated[int, Field(ge=1, le=9)], {"type": "integer", "minimum": 1, "maximum": 9}),
]


@pytest.mark.parametrize(("annotation", "form"), FORMS)
def test_a_type_has_its_form(annotation: object, form: dict[str, Any]) -> None:
    assert schema_of(annotation) == form


def test_enums_list_values_and_a_common_type() -> None:
    route = {"type": "string", "enum": ["air", "sea"], "description": "How a parcel goes."}
    assert schema_of(Route) == {"$ref": "#/$defs/Route", "$defs": {"Route": route}}
    assert schema_of(Priority)["$defs"]["Priority"] == {"type": "integer", "enum": [1, 2]}
    assert schema_of(Mixed)["$defs"]["Mixed"] == {"enum": [1, "one"]}


def test_class_definition_may_be_recursive() -> None:
    box = schema_of(list[Box])["$defs"]["Box"]

    assert schema_of(list[Box])["items"] == {"$ref": "#/$defs/Box"}
    assert box["required"] == ["grams"]
    assert box["properties"]["route"] == {"$ref": "#/$defs/Route", "default": "sea"}
    assert box["properties"]["inner"] == {"type": "array", "items": {"$ref": "#/$defs/Box"}}


def test_titles_are_dropped_except_a_field_named_title() -> None:
    assert schema_of(Label)["$defs"]["Label"] == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Its first line."},
            "size": {"type": "integer", "default": 3},
        },
        "required": ["title"],
        "description": "What is written on a parcel.",
    }


def test_a_discriminated_union_is_a_union() -> None:
    union = schema_of(Annotated[Dog | Cat, Field(discriminator="kind")])

    assert {key: union[key] for key in union if key != "$defs"} == {
        "anyOf": [{"$ref": "#/$defs/Dog"}, {"$ref": "#/$defs/Cat"}]
    }


@dataclass
class Circle:
    radius: int
    shape: Literal["circle"] = "circle"


class Square(BaseModel):
    shape: Literal["square"] = "square"
    parts: "list[Shape]" = []


class Oval(TypedDict):
    shape: NotRequired[Literal["oval"]]


Shape = Annotated[Circle | Square | Oval, Field(discriminator="shape")]


def test_tag_of_a_discriminated_union_is_required_whatever_its_default() -> None:
    definitions = schema_of(Shape)["$defs"]

    assert definitions["Circle"]["required"] == ["radius", "shape"]
    assert definitions["Square"]["required"] == definitions["Oval"]["required"] == ["shape"]
    assert "required" not in schema_of(Oval)["$defs"]["Oval"]


def test_tag_with_an_alias_is_required_by_its_alias() -> None:
    class Cake(BaseModel):
        sort: Literal["cake"] = Field("cake", alias="type")

    class Bread(BaseModel):
        sort: Literal["bread"] = Field("bread", alias="type")

    definitions = schema_of(Annotated[Cake | Bread, Field(discriminator="sort")])["$defs"]

    assert definitions["Cake"]["required"] == definitions["Bread"]["required"] == ["type"]


def test_constants_of_a_discriminated_union_stay_unchanged() -> None:
    def tagged(tag: str) -> JsonSchemaValue:
        return {"type": "object", "properties": {"sort": {"const": tag}}}

    constants: dict[str, JsonSchemaValue] = {
        "cake": tagged("cake"),
        "bread": {"anyOf": [tagged("rye"), {"anyOf": [tagged("white")]}]},
        "soup": tagged("soup"),
    }

    class Cake(BaseModel):
        sort: Literal["cake"] = "cake"

    class Bread(BaseModel):
        sort: Literal["rye", "white"] = "rye"

    class Soup(BaseModel):
        sort: Literal["soup"] = "soup"

        @classmethod
        def __get_pydantic_json_schema__(cls, *_: object) -> JsonSchemaValue:
            return constants["soup"]

    before = copy.deepcopy(constants)
    cake, bread = (WithJsonSchema(constants[name]) for name in ("cake", "bread"))
    union = Annotated[Annotated[Cake, cake] | Annotated[Bread, bread] | Soup, Field(discriminator="sort")]
    schema = schema_of(tuple[union, union])

    assert json.dumps(schema).count('"required": ["sort"]') == 7
    assert constants == before


def test_output_schema_has_every_field_and_no_defaults() -> None:
    label = schema_of(Label, output=True)["$defs"]["Label"]

    assert label["required"] == ["title", "size"]
    assert label["properties"]["size"] == {"type": "integer"}


def test_output_decimal_is_distinguished_from_text() -> None:
    assert schema_of(Decimal, output=True) == {"type": "string", "format": "decimal"}
    assert schema_of(Decimal)["anyOf"][0] == {"type": "number"}


def test_class_may_refer_to_names_of_namespace() -> None:
    @dataclass
    class Wheel:
        inches: int

    @dataclass
    class Cart:
        wheels: "list[Wheel]"

    schema = json_schema(record_adapter("Record", {"cart": Cart}, {"Wheel": Wheel}))

    assert schema["$defs"]["Wheel"]["properties"] == {"inches": INTEGER}


DEFAULTS: list[tuple[object, object]] = [
    (None, None),
    (True, True),
    (5, 5),
    ("tea", "tea"),
    (2.5, 2.5),
    ([1, {"a": (2, 3)}], [1, {"a": [2, 3]}]),
    (Route.AIR, "air"),
    (float("inf"), NO_DEFAULT),
    (float("nan"), NO_DEFAULT),
    ([float("nan")], NO_DEFAULT),
    (object(), NO_DEFAULT),
    ([object()], NO_DEFAULT),
    ({1: 2}, NO_DEFAULT),
    ({1}, NO_DEFAULT),
    (b"tea", NO_DEFAULT),
    (datetime(2024, 1, 1), NO_DEFAULT),
    ("\ud800", NO_DEFAULT),
    (10**5000, NO_DEFAULT),
]


@pytest.mark.parametrize(("default", "emitted"), DEFAULTS, ids=lambda value: type(value).__name__)
def test_a_default_is_emitted_where_it_is_plain_json(default: object, emitted: object) -> None:
    assert json_default(default) == emitted


def test_docstring_of_a_class_describes_its_fields() -> None:
    @dataclass
    class Parcel:
        """A parcel.

        It is weighed once.

        Attributes:
            grams: Its weight,
                with the box.
            to (str): Where it goes.
        """

        grams: int
        to: str = "Oslo"

    class Letter(BaseModel):
        """
        :param size: In pages.
        :param title: Not shown.
        """

        size: int
        title: str = Field("", description="Its first line.")

    class Stamp(BaseModel):
        """A stamp.

        Args:
            value: In cents.
            count: How many.
        """

        cents: int = Field(alias="value")

    parcel = schema_of(list[Parcel])["$defs"]["Parcel"]
    assert parcel["description"] == "A parcel.\n\nIt is weighed once."
    assert parcel["properties"]["grams"]["description"] == "Its weight, with the box."
    assert parcel["properties"]["to"] == {"type": "string", "default": "Oslo", "description": "Where it goes."}
    letter = schema_of(Letter)["$defs"]["Letter"]
    assert "description" not in letter
    assert [field["description"] for field in letter["properties"].values()] == ["In pages.", "Its first line."]
    stamp = schema_of(Stamp)["$defs"]["Stamp"]  # a text about no field stays where it is
    assert stamp["properties"]["value"]["description"] == "In cents."
    assert "count: How many." in stamp["description"]
