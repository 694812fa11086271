"""Slips of the programs that write schemas: what each of them means is certain.

Go writes `null` for a list or map without entries, PHP `[]` for a map; Gemini's types are in capitals; draft 3 had
`required: true` beside the type of a property.
"""

from collections.abc import Iterator
from typing import Any, Final, cast

__all__ = ["repair_slips"]

_SCHEMAS_BY_NAME: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SCHEMAS: Final = (
    *("items", "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "not", "if"),
    *("then", "else", "contains", "propertyNames"),
)
# The keywords whose value may be null.
_VALUES: Final = frozenset({"default", "const", "example", "examples"})
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})


def repair_slips(schema: dict[str, Any]) -> dict[str, Any]:
    """Repair a schema, and all schemas in it, in place, and return it."""
    pending = [schema]
    while pending:
        node = pending.pop()
        for keyword in [keyword for keyword, value in node.items() if value is None and keyword not in _VALUES]:
            del node[keyword]
        for keyword in _SCHEMAS_BY_NAME:
            if node.get(keyword) == []:
                node[keyword] = {}
        types: object = node.get("type")
        if isinstance(types, list):
            node["type"] = [_type_name(name) for name in cast("list[object]", types)]
        elif types is not None:
            node["type"] = _type_name(types)
        _lift_required(node)
        pending += _inner_schemas(node)
    return schema


def _type_name(name: object) -> object:
    return name.lower() if isinstance(name, str) and name.lower() in _TYPES else name


def _lift_required(node: dict[str, Any]) -> None:
    """Move the flags `required` of properties into the list of the object."""
    properties: object = node.get("properties")
    if not isinstance(properties, dict):
        return
    flags: dict[str, bool] = {}
    for name, item in cast("dict[str, Any]", properties).items():
        if _is_schema(item) and isinstance(item.get("required"), bool):
            flags[name] = item.pop("required")
    names = [name for name, is_required in flags.items() if is_required]
    listed: object = node.get("required", [])
    if names and isinstance(listed, list):
        node["required"] = list(dict.fromkeys([*cast("list[str]", listed), *names]))


def _inner_schemas(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for keyword in _SCHEMAS_BY_NAME:
        by_name: object = node.get(keyword)
        if isinstance(by_name, dict):
            yield from filter(_is_schema, cast("dict[str, Any]", by_name).values())
    for keyword in _LISTS:
        listed: object = node.get(keyword)
        if isinstance(listed, list):
            yield from filter(_is_schema, cast("list[Any]", listed))
    yield from (node[keyword] for keyword in _SCHEMAS if _is_schema(node.get(keyword)))


def _is_schema(value: object) -> bool:
    return isinstance(value, dict)
