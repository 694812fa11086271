"""A tool's parameters as JSON Schema that every provider accepts outside strict mode."""

from collections.abc import Mapping
from typing import Any

from ez_ptc.schema.standard.keywords import Schema, any_of, rebuilt, unique_schemas
from ez_ptc.schema.standard.merging import types_of
from ez_ptc.schema.standard.roots import with_object_root

__all__ = ["portable", "without_one_of"]


def portable(tool: str, schema: Mapping[str, Any], left_out: list[str] | None = None) -> Schema:
    """Return a tool's parameters as an object of JSON Schema, draft 2020-12, in which every array has `items`.

    What the schema allows and its description does not is added to `left_out`, a sentence for each argument. Raises
    `SchemaError` if it is not the schema of an object.
    """

    def add_items(schema: Schema) -> Schema:
        if "array" not in types_of(schema) or "items" in schema:
            return schema
        prefix: list[Schema] = schema.get("prefixItems", [])
        # Without `maxItems`, further items may be anything.
        if not prefix or len(prefix) != schema.get("maxItems"):
            return {**schema, "items": {}}
        return {**schema, "items": any_of(unique_schemas(prefix))}

    return rebuilt(with_object_root(tool, schema, left_out), add_items)


def without_one_of(schema: Schema) -> Schema:
    """Return a schema with `anyOf` instead of `oneOf`."""

    def replace_one_of(schema: Schema) -> Schema:
        if "oneOf" not in schema:
            return schema
        rest = {key: value for key, value in schema.items() if key != "oneOf"}
        if "anyOf" in rest:  # both hold
            return {**rest, "allOf": [*rest.get("allOf", ()), {"anyOf": schema["oneOf"]}]}
        return {**rest, "anyOf": schema["oneOf"]}

    return rebuilt(schema, replace_one_of)
