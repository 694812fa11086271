"""A tool's parameters as JSON Schema that every provider accepts outside strict mode."""

from collections.abc import Mapping
from typing import Any

from ez_ptc.formats.lowering.keywords import Schema, rebuilt
from ez_ptc.formats.lowering.merging import types_of
from ez_ptc.formats.lowering.roots import with_object_root

__all__ = ["portable", "without_one_of"]


def portable(tool: str, schema: Mapping[str, Any]) -> Schema:
    """Return a tool's parameters as an object of JSON Schema, draft 2020-12, in which every array has `items`.

    Raises `SchemaError` if it is not the schema of an object.
    """
    return rebuilt(with_object_root(tool, schema), _with_items)


def without_one_of(schema: Schema) -> Schema:
    """Return a schema with `anyOf` instead of `oneOf`."""
    return rebuilt(schema, _with_any_of)


def _with_items(schema: Schema) -> Schema:
    if "array" not in types_of(schema) or "items" in schema:
        return schema
    prefix: list[Schema] = schema.get("prefixItems", [])
    if not prefix or len(prefix) != schema.get("maxItems"):
        return {**schema, "items": {}}
    kinds = [item for at, item in enumerate(prefix) if item not in prefix[:at]]
    return {**schema, "items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}}


def _with_any_of(schema: Schema) -> Schema:
    if "oneOf" not in schema:
        return schema
    branches = schema["oneOf"]
    rest = {key: value for key, value in schema.items() if key != "oneOf"}
    if "anyOf" in rest:
        return {**rest, "allOf": [*rest.get("allOf", ()), {"anyOf": branches}]}
    return {**rest, "anyOf": branches}
