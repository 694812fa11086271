"""The JSON Schema of a type with nothing in it but what the tables of `function_to_tool` have."""

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

import typing_extensions
from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from ez_ptc.schema.definitions import inlined
from ez_ptc.schema.types import NativeJsonSchema

__all__ = ["TabledJsonSchema", "tabled_schemas"]

_STRING: Final[JsonSchemaValue] = {"type": "string"}
_KEYWORDS: Final = (
    "$ref",
    "type",
    "enum",
    "format",
    "contentEncoding",
    "items",
    "uniqueItems",
    "prefixItems",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "additionalProperties",
    "oneOf",
)
_FORMATS: Final = ("date-time", "date", "time")
_SAYS_SOMETHING: Final = frozenset({"$ref", "type", "enum", "oneOf"})


class TabledJsonSchema(NativeJsonSchema):
    """Pydantic's generator with the forms of the tables: `oneOf`, null nowhere, text for whatever they do not have."""

    def generate(
        self, schema: core_schema.CoreSchema, mode: Literal["validation", "serialization"] = "validation"
    ) -> JsonSchemaValue:
        """Generate as pydantic does, then keep what the tables have, in their order."""
        described = super().generate(schema, mode)
        definitions: dict[str, JsonSchemaValue] = described.get("$defs", {})
        kept = _tabled(described)
        return {**kept, "$defs": {name: _tabled(each) for name, each in definitions.items()}} if definitions else kept

    def handle_invalid_for_json_schema(self, schema: object, error_info: str) -> JsonSchemaValue:
        """Describe as text what has no JSON form."""
        del schema, error_info
        return dict(_STRING)

    def any_schema(self, schema: core_schema.AnySchema) -> JsonSchemaValue:
        """Describe as text what may be anything."""
        del schema
        return dict(_STRING)

    def none_schema(self, schema: core_schema.NoneSchema) -> JsonSchemaValue:
        """Describe None as text, as any type that the tables do not have."""
        del schema
        return dict(_STRING)

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """Describe a decimal as text, as any type that the tables do not have."""
        del schema
        return dict(_STRING)

    def fraction_schema(self, schema: object) -> JsonSchemaValue:
        """Describe a fraction as text, as any type that the tables do not have."""
        del schema
        return dict(_STRING)

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Describe what is there when it is not None."""
        return self.generate_inner(schema["schema"])

    def union_schema(self, schema: core_schema.UnionSchema) -> JsonSchemaValue:
        """List the members other than None under `oneOf`."""
        kept = [each for each in schema["choices"] if (each[0] if isinstance(each, tuple) else each)["type"] != "none"]
        described = super().union_schema({**schema, "choices": kept or schema["choices"]})
        return {"oneOf": described["anyOf"]} if "anyOf" in described else described

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """List the members under `oneOf`."""
        described = super().tagged_union_schema(schema)
        return {"oneOf": described["anyOf"]} if "anyOf" in described else described

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Describe the values, whatever the keys are."""
        values = schema.get("values_schema", core_schema.any_schema())
        return {"type": "object", "additionalProperties": self.generate_inner(values)}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Leave the default out."""
        return self.generate_inner(schema["schema"])


def tabled_schemas(
    types: Mapping[str, object], namespace: dict[str, Any]
) -> tuple[dict[str, JsonSchemaValue], JsonSchemaValue]:
    """Return the schema of each type, and the definitions that they refer to: of types that contain themselves.

    Classes among the types may refer to names of `namespace`. Raises one of `schema.types.REFUSALS` where pydantic
    cannot take a type.
    """
    entries = dict(types)
    described: Any = typing_extensions.TypedDict("described", entries)  # pyright: ignore[reportArgumentType] - made at run time
    described.__pydantic_config__ = ConfigDict(arbitrary_types_allowed=True)
    adapter: TypeAdapter[Any] = TypeAdapter(described)
    if not adapter.pydantic_complete:
        adapter.rebuild(force=True, _types_namespace=namespace)
    whole = inlined(adapter.json_schema(schema_generator=TabledJsonSchema))
    return whole["properties"], whole.get("$defs", {})


def _tabled(schema: JsonSchemaValue) -> JsonSchemaValue:
    kept: JsonSchemaValue = {key: schema[key] for key in _KEYWORDS if key in schema}
    if "anyOf" in schema:  # of a class that has written its schema itself
        kept["oneOf"] = schema["anyOf"]
    if kept.get("format") not in _FORMATS:
        kept.pop("format", None)
    if kept.get("type") == "array":
        kept = _array(kept)
    if kept.get("type") == "object":
        kept = _object(kept)
    if "oneOf" in kept:
        kept["oneOf"] = [_inner(each) for each in kept["oneOf"]]
    return kept if kept.keys() & _SAYS_SOMETHING else dict(_STRING)


def _array(schema: JsonSchemaValue) -> JsonSchemaValue:
    if "prefixItems" in schema:
        return {**schema, "prefixItems": [_inner(each) for each in schema["prefixItems"]]}
    if schema.get("maxItems") == 0:
        return schema
    unbounded = {key: value for key, value in schema.items() if key not in ("minItems", "maxItems")}
    return {**unbounded, "items": _inner(schema.get("items"))}


def _object(schema: JsonSchemaValue) -> JsonSchemaValue:
    if "properties" not in schema:
        return {"type": "object", "additionalProperties": _inner(schema.get("additionalProperties"))}
    properties = {name: _described(inner) for name, inner in schema["properties"].items()}
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _described(schema: JsonSchemaValue) -> JsonSchemaValue:
    text = schema.get("description")
    return _tabled(schema) if text is None else {**_tabled(schema), "description": text}


def _inner(schema: object) -> JsonSchemaValue:
    return _tabled(cast("JsonSchemaValue", schema)) if isinstance(schema, dict) else dict(_STRING)
