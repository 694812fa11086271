"""The schemas of pydantic's classes with nothing in them but what the conversion's tables have."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Annotated, Any, Literal, Optional, cast
from uuid import UUID

import pydantic.dataclasses
import pytest
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, RootModel, SecretStr, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from ez_ptc.schema.published_form import publish_schemas
from ez_ptc.schema.types import REFUSALS

Schema = dict[str, Any]
BARE_LIST: Any = list
BARE_DICT: Any = dict

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}


def form_of(annotation: object) -> Schema:
    schemas, definitions = publish_schemas({"it": annotation}, {})
    return {**schemas["it"], "$defs": definitions} if definitions else schemas["it"]


def field_of(annotation: object) -> Schema:
    """Return the schema of a model's field of this type."""
    model = pydantic.create_model("Model", it=(cast("type", annotation), ...))
    properties: Schema = form_of(model)["properties"]
    return properties["it"]


class Opaque:
    pass


@dataclass
class Size:
    """How large it is."""

    grams: int
    inner: "Size | None" = None


FIELDS: list[tuple[object, Schema]] = [
    (Any, STRING),
    (NoneType, STRING),
    (Decimal, STRING),
    (Fraction, STRING),
    (UUID, STRING),
    (AnyUrl, STRING),
    (SecretStr, STRING),
    (BARE_LIST, {"type": "array", "items": STRING}),
    (BARE_DICT, {"type": "object", "additionalProperties": STRING}),
    (dict[str, Any], {"type": "object", "additionalProperties": STRING}),
    (dict[Annotated[str, Field(pattern="^a")], int], {"type": "object", "additionalProperties": INTEGER}),
    (int | None, INTEGER),
    (int | str | None, {"oneOf": [INTEGER, STRING]}),
    (str | UUID, STRING),
    (Literal["dog"], {"type": "string", "enum": ["dog"]}),
    (bytes, {"type": "string", "contentEncoding": "base64"}),
    (tuple[int, str], {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2}),
    (Annotated[int, Field(ge=1, le=9, multiple_of=2)], INTEGER),
    (Annotated[str, Field(pattern="^a", min_length=1)], STRING),
    (Annotated[list[int], Field(min_length=1, max_length=3)], {"type": "array", "items": INTEGER}),
    (Annotated[int, Field(description="How many.", examples=[1])], {**INTEGER, "description": "How many."}),
    (list[Annotated[int, Field(description="How many.")]], {"type": "array", "items": INTEGER}),
    (RootModel[list[int]], {"type": "array", "items": INTEGER}),
    (
        Annotated[object, WithJsonSchema({"anyOf": [{"type": "integer", "title": "It"}, {}]})],
        {"oneOf": [INTEGER, STRING]},
    ),
    (Annotated[object, WithJsonSchema({"type": "object"})], {"type": "object", "additionalProperties": STRING}),
    (Annotated[object, WithJsonSchema({"type": "array", "items": True})], {"type": "array", "items": STRING}),
    (Annotated[object, WithJsonSchema({})], STRING),
]


@pytest.mark.parametrize(("annotation", "form"), FIELDS, ids=lambda value: str(value)[:60])
def test_a_field_has_a_form_of_the_tables(annotation: object, form: Schema) -> None:
    assert field_of(annotation) == form


def test_keywords_follow_documented_order() -> None:
    assert list(field_of(set[int])) == ["type", "items", "uniqueItems"]
    assert list(field_of(tuple[int, int])) == ["type", "prefixItems", "minItems", "maxItems"]
    assert list(field_of(Annotated[Literal[1], Field(description="One.")])) == ["type", "enum", "description"]


def test_model_has_type_properties_and_required() -> None:
    class Parcel(BaseModel):
        """What is sent."""

        model_config = ConfigDict(title="A parcel", extra="forbid", json_schema_extra={"examples": [{}]})

        to: str = Field(title="Address")
        type: str | None = None
        description: int = Field(default=3, alias="about")

    assert form_of(Parcel) == {
        "type": "object",
        "properties": {"to": STRING, "type": STRING, "about": INTEGER},
        "required": ["to"],
    }


def test_a_discriminated_union_is_a_union() -> None:
    class Dog(BaseModel):
        kind: Literal["dog"]

    class Cat(BaseModel):
        kind: Literal["cat"]

    union = field_of(Annotated[Dog | Cat, Field(discriminator="kind")])

    assert list(union) == ["oneOf"]
    assert [each["properties"]["kind"]["enum"] for each in union["oneOf"]] == [["dog"], ["cat"]]


def test_a_structure_in_a_model_is_a_structure() -> None:
    @pydantic.dataclasses.dataclass
    class Label:
        """What is written on it."""

        text: str = Field(description="The words.")

    class Parcel(BaseModel):
        size: Size
        label: Optional[Label] = None  # noqa: UP045 - the old spelling is tested

    parcel = form_of(Parcel)

    assert parcel["properties"]["size"] == {"$ref": "#/$defs/Size"}
    assert list(parcel["$defs"]["Size"]) == ["type", "properties", "required"]
    assert parcel["properties"]["label"] == {
        "type": "object",
        "properties": {"text": {**STRING, "description": "The words."}},
        "required": ["text"],
    }


def test_a_type_without_a_json_form_is_text() -> None:
    class Thing(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)

        opaque: Opaque
        kind: type[int]

    class Described:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
            return core_schema.int_schema(ge=3)

    assert form_of(Thing)["properties"] == {"opaque": STRING, "kind": STRING}
    assert form_of(Described) == INTEGER


def test_type_refused_by_pydantic_raises_schema_error() -> None:
    class Refusing:
        @classmethod
        def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
            raise LookupError

    with pytest.raises(REFUSALS):
        form_of(Refusing)
