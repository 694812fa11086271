"""JSON Schema's keywords, grouped by their inner schemas and by their subjects."""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

__all__ = ["ANNOTATIONS", "BY_TYPE", "KEYWORDS", "LISTED", "NAMED", "SINGLE", "TYPES", "Schema", "json_type", "rebuilt"]

Schema = dict[str, Any]

NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
LISTED: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SINGLE: Final = frozenset(
    {
        "additionalProperties",
        "contains",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
ANNOTATIONS: Final = frozenset({"default", "deprecated", "description", "examples", "readOnly", "writeOnly"})
_NUMBERS: Final = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"})
_STRINGS: Final = frozenset({"contentEncoding", "contentMediaType", "format", "maxLength", "minLength", "pattern"})
_ARRAYS: Final = frozenset(
    {
        "contains",
        "items",
        "maxContains",
        "maxItems",
        "minContains",
        "minItems",
        "prefixItems",
        "unevaluatedItems",
        "uniqueItems",
    }
)
_OBJECTS: Final = frozenset(
    {
        "additionalProperties",
        "dependentRequired",
        "dependentSchemas",
        "maxProperties",
        "minProperties",
        "patternProperties",
        "properties",
        "propertyNames",
        "required",
        "unevaluatedProperties",
    }
)
BY_TYPE: Final[Mapping[str, frozenset[str]]] = {
    "object": _OBJECTS,
    "array": _ARRAYS,
    "string": _STRINGS,
    "integer": _NUMBERS | {"format"},
    "number": _NUMBERS | {"format"},
    "boolean": frozenset(),
    "null": frozenset(),
}
TYPES: Final = frozenset(BY_TYPE)
KEYWORDS: Final[frozenset[str]] = (
    NAMED
    | LISTED
    | SINGLE
    | ANNOTATIONS
    | frozenset[str]().union(*BY_TYPE.values())
    | {"$ref", "const", "enum", "type"}
)


def rebuilt(schema: Mapping[str, Any], change: Callable[[Schema], Schema]) -> Schema:
    """Return a schema with `change` applied to every schema in it, innermost first, itself last."""
    return change({key: _inner(key, value, change) for key, value in schema.items()})


def _inner(key: str, value: object, change: Callable[[Schema], Schema]) -> object:
    if key in NAMED and isinstance(value, dict):
        return {name: _one(item, change) for name, item in cast("dict[str, object]", value).items()}
    if key in LISTED and isinstance(value, list):
        return [_one(item, change) for item in cast("list[object]", value)]
    if key in SINGLE:
        return _one(value, change)
    return value


def _one(schema: object, change: Callable[[Schema], Schema]) -> object:
    if isinstance(schema, dict):
        return rebuilt(cast("Schema", schema), change)
    return schema


def json_type(value: object) -> str | None:
    """Return the JSON Schema type of a value, or None if it is not JSON."""
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    kinds: Mapping[type, str] = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return next((name for cls, name in kinds.items() if isinstance(value, cls)), None)
