"""A tool's parameters as JSON Schema that every provider accepts outside strict mode."""

from collections.abc import Mapping
from typing import Any, Final, cast

from ez_ptc.schema.standard.keywords import Schema, any_of, rebuilt, unique_schemas
from ez_ptc.schema.standard.merging import types_of
from ez_ptc.schema.standard.roots import with_object_root

__all__ = ["portable", "without_one_of"]

# Each level of nested tuples would double the schemas in it.
_MAX_COPIED: Final = 200
_TEXT_UNIT: Final = 100


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
        if prefix and len(prefix) == schema.get("maxItems") and _is_small(prefix):
            return {**schema, "items": any_of(unique_schemas(prefix))}
        return {**schema, "items": {}}

    return rebuilt(with_object_root(tool, schema, left_out), add_items)


def _is_small(schemas: list[Schema]) -> bool:
    """Return whether schemas have few values, and little text, to be written a second time."""
    size, waiting = 0, list[object](schemas)
    while waiting and size <= _MAX_COPIED:
        item = waiting.pop()
        size += 1
        if isinstance(item, str):
            size += len(item) // _TEXT_UNIT
        elif isinstance(item, dict | list):
            inner = cast("dict[str, object]", item).values() if isinstance(item, dict) else cast("list[object]", item)
            size += len(inner)
            if size <= _MAX_COPIED:
                waiting += inner
    return size <= _MAX_COPIED


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
