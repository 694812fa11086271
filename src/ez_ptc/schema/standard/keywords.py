"""JSON Schema's keywords, grouped by their inner schemas and by their subjects."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

__all__ = [
    "ANNOTATIONS",
    "BY_TYPE",
    "KEYWORDS",
    "LISTED",
    "NAMED",
    "NUMBERS",
    "SINGLE",
    "TYPES",
    "Schema",
    "any_of",
    "join_path",
    "json_type",
    "rebuilt",
    "unique_schemas",
]

Schema = dict[str, Any]

NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
LISTED: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SINGLE: Final = frozenset(
    {"contains", "items", "unevaluatedItems"}
    | {"additionalProperties", "propertyNames", "unevaluatedProperties"}
    | {"else", "if", "not", "then"}
)
ANNOTATIONS: Final = frozenset({"default", "deprecated", "description", "examples", "readOnly", "writeOnly"})
NUMBERS: Final = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"})
_STRINGS: Final = frozenset({"contentEncoding", "contentMediaType", "format", "maxLength", "minLength", "pattern"})
_ARRAYS: Final = frozenset(
    {"contains", "items", "prefixItems", "unevaluatedItems"}
    | {"maxContains", "maxItems", "minContains", "minItems", "uniqueItems"}
)
_OBJECTS: Final = frozenset(
    {"additionalProperties", "patternProperties", "properties", "propertyNames", "unevaluatedProperties"}
    | {"dependentRequired", "dependentSchemas", "maxProperties", "minProperties", "required"}
)
BY_TYPE: Final[Mapping[str, frozenset[str]]] = {
    "object": _OBJECTS,
    "array": _ARRAYS,
    "string": _STRINGS,
    "integer": NUMBERS | {"format"},
    "number": NUMBERS | {"format"},
    "boolean": frozenset(),
    "null": frozenset(),
}
TYPES: Final = frozenset(BY_TYPE)
KEYWORDS: Final[frozenset[str]] = NAMED.union(
    LISTED, SINGLE, ANNOTATIONS, *BY_TYPE.values(), {"$ref", "const", "enum", "type"}
)


def rebuilt(schema: Mapping[str, Any], change: Callable[[Schema], Schema]) -> Schema:
    """Return a schema with `change` applied to every schema in it, innermost first, itself last."""
    copy: Schema = {}
    for key, value in schema.items():
        if key in NAMED and isinstance(value, dict):
            copy[key] = {name: _inner(item, change) for name, item in cast("dict[str, object]", value).items()}
        elif key in LISTED and isinstance(value, list):
            copy[key] = [_inner(item, change) for item in cast("list[object]", value)]
        elif key in SINGLE:
            copy[key] = _inner(value, change)
        else:
            copy[key] = value
    return change(copy)


def _inner(schema: object, change: Callable[[Schema], Schema]) -> object:
    if isinstance(schema, dict):
        return rebuilt(cast("Schema", schema), change)
    return schema


def unique_schemas(schemas: Iterable[Schema]) -> list[Schema]:
    """Return schemas without those that are equal to an earlier one."""
    distinct = {id(schema): schema for schema in schemas}
    if len(distinct) == 1:
        return [*distinct.values()]
    # Comparing each with all before it would take quadratic time.
    by_text: dict[str, Schema] = {}
    for schema in distinct.values():
        by_text.setdefault(json.dumps(schema, sort_keys=True, default=repr), schema)
    return [*by_text.values()]


def any_of(schemas: Sequence[Schema]) -> Schema:
    """Return the union of schemas, the schema itself if there is only one."""
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def join_path(path: str, name: str) -> str:
    """Return the path of a property, for an error message."""
    return f"{path}.{name}" if path else name


def json_type(value: object) -> str | None:
    """Return the JSON Schema type of a value, or None if it is not JSON."""
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    # By instance, as subclasses such as an IntEnum are encoded like their base.
    names: Mapping[type, str] = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return next((name for cls, name in names.items() if isinstance(value, cls)), None)
