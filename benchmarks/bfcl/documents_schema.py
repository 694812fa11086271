"""A function document's parameters as JSON Schema; pure.

Documents name types in the words of three languages, write values as words, and give defaults that are no values.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import jsonschema_rs

__all__ = ["DocumentError", "json_schema", "parameters_schema"]

TYPES: Mapping[str, str | None] = {
    **dict.fromkeys(("string", "str", "char", "character"), "string"),
    **dict.fromkeys(("integer", "int", "long", "short", "byte", "bigint", "biginteger"), "integer"),
    **dict.fromkeys(("number", "float", "double", "decimal", "bigdecimal"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list", "tuple", "set", "arraylist", "linkedlist", "queue", "stack"), "array"),
    **dict.fromkeys(("object", "dict", "dictionary", "map", "hashmap", "hashtable"), "object"),
    **dict.fromkeys(("null", "none"), "null"),
    **dict.fromkeys(("any", ""), None),
}
"""JSON Schema's type for a document's word in lower case; None where any value will do."""

KINDS: Mapping[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}

NULLS = ("none", "null")
TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
UNIONS = ("anyOf", "oneOf", "allOf")
REWRITTEN = frozenset(
    {"type", "enum", "default", "optional", "required", "properties", "items", "additionalProperties", *UNIONS}
)
"""What does not stay as it is: `optional` goes, the others are put into JSON Schema's terms."""


class DocumentError(ValueError):
    """A document says what cannot be put into JSON Schema; the message says what."""


def parameters_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document's parameters as the JSON Schema of an object that takes no others.

    Raises:
        DocumentError: A type is unknown, or what came of it is no JSON Schema.
    """
    return json_schema({"type": "object", "properties": {}, **parameters}) | {"additionalProperties": False}


def json_schema(part: object) -> dict[str, Any]:
    """Return a part of a document, such as one parameter, as a JSON Schema.

    A default of None makes it nullable. A default that the schema itself refuses goes into the description.

    Raises:
        DocumentError: As `parameters_schema` does.
    """
    schema = _schema(part)
    try:
        jsonschema_rs.validator_for(schema)
    except ValueError as error:
        message = f"what a document says makes no JSON Schema: {error}"
        raise DocumentError(message) from error
    return schema


def _schema(part: object) -> dict[str, Any]:
    if isinstance(part, str):  # a type's word alone
        part = {"type": part}
    if not isinstance(part, dict):
        message = f"a document describes a value by a dict, not by {part!r}"
        raise DocumentError(message)
    fields = cast("dict[str, Any]", part)
    kinds = _kinds(fields)
    schema: dict[str, Any] = {**_typed(kinds), **{key: fields[key] for key in fields if key not in REWRITTEN}}
    schema |= _object_parts(fields) | _array_parts(fields) | _union_parts(fields)
    if fields.get("enum"):
        schema = _with_choices(schema, kinds, fields["enum"])
    return _with_default(schema, fields["default"]) if "default" in fields else schema


def _kinds(fields: Mapping[str, Any]) -> list[str]:
    given = fields.get("type")
    if given is None:
        given = "object" if "properties" in fields else "array" if "items" in fields else "any"
    words = cast("list[str]", given if isinstance(given, list) else [given])
    unknown = [word for word in words if word.lower() not in TYPES]
    if unknown:
        message = f"a document has the type {unknown[0]!r}, which is none of {', '.join(filter(None, TYPES))}"
        raise DocumentError(message)
    kinds = [TYPES[word.lower()] for word in words]
    return [] if None in kinds else list(dict.fromkeys(cast("list[str]", kinds)))


def _typed(kinds: Sequence[str]) -> dict[str, Any]:
    return {"type": kinds[0] if len(kinds) == 1 else list(kinds)} if kinds else {}


def _object_parts(fields: Mapping[str, Any]) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    properties = cast("dict[str, Any]", fields.get("properties", {}))
    if "properties" in fields:
        parts["properties"] = {name: _schema(each) for name, each in properties.items()}
    if required := _required(fields, properties):
        parts["required"] = required
    others = fields.get("additionalProperties")
    if others is not None:
        parts["additionalProperties"] = others if isinstance(others, bool) else _schema(others)
    return parts


def _required(fields: Mapping[str, Any], properties: Mapping[str, Any]) -> list[str]:
    """Return the names that an object requires, also where its properties say so of themselves."""
    flags = {name: cast("dict[str, Any]", each) for name, each in properties.items() if isinstance(each, dict)}
    names = [*_names(fields.get("required")), *(name for name in flags if _says_yes(flags[name].get("required")))]
    optional = {*_names(fields.get("optional")), *(name for name in flags if _says_yes(flags[name].get("optional")))}
    return [name for name in dict.fromkeys(names) if name not in optional]


def _names(value: object) -> list[str]:
    return cast("list[str]", value) if isinstance(value, list) else []


def _says_yes(value: object) -> bool:
    return TRUTHS.get(str(value).lower(), False)


def _array_parts(fields: Mapping[str, Any]) -> dict[str, Any]:
    items = fields.get("items")
    if isinstance(items, list):  # one for each place, as older drafts have it
        return {"prefixItems": [_schema(each) for each in cast("list[object]", items)]}
    return {} if items is None else {"items": _schema(items)}


def _union_parts(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: [_schema(each) for each in fields[key]] for key in UNIONS if key in fields}


def _with_choices(schema: dict[str, Any], kinds: list[str], choices: Sequence[object]) -> dict[str, Any]:
    if kinds == ["array"] and not any(isinstance(each, list) for each in choices):
        items = cast("dict[str, Any]", schema.get("items", {}))
        item_kinds = cast("list[str]", [items["type"]] if isinstance(items.get("type"), str) else items.get("type", []))
        return schema | {"items": _with_choices(items, item_kinds, choices)}
    read = {json.dumps(each): each for each in (_read(each, kinds) for each in choices)}
    values = list(read.values())
    if kinds:  # those that a value has, and no others
        kept = [kind for kind in kinds if any(_fits(each, [kind]) for each in values)]
        added = [KINDS[type(each)] for each in values if not _fits(each, kinds)]
        schema = schema | _typed(list(dict.fromkeys((*kept, *added))))
    return schema | {"enum": values}


def _with_default(schema: dict[str, Any], default: object) -> dict[str, Any]:
    kinds = cast("list[str]", schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type", "any")])
    value = _read(default, [kind for kind in kinds if kind != "any"])
    if value is None:
        schema = _nullable(schema, kinds)
    if jsonschema_rs.is_valid(schema, value):
        return schema | {"default": value}
    text = f"{schema.get('description', '')} Default: {json.dumps(default, ensure_ascii=False)}.".strip()
    return schema | {"description": text}


def _nullable(schema: dict[str, Any], kinds: Sequence[str]) -> dict[str, Any]:
    if "type" in schema and "null" not in kinds:
        schema = schema | _typed([*kinds, "null"])
    if "enum" in schema and None not in schema["enum"]:
        schema = schema | {"enum": [*schema["enum"], None]}
    return schema


def _read(value: object, kinds: Sequence[str]) -> object:
    """Return what a value stands for where one of some types is wanted; itself where it stands for none."""
    if not kinds or _fits(value, kinds):
        return value
    if not isinstance(value, str):
        return str(value) if "string" in kinds and isinstance(value, (bool, int, float)) else value
    word = value.strip().lower()
    if word in NULLS:
        return None
    if "boolean" in kinds and word in TRUTHS:
        return TRUTHS[word]
    try:
        read = json.loads(value, parse_constant=str)
    except ValueError:
        return value
    return read if _fits(read, kinds) else value


def _fits(value: object, kinds: Sequence[str]) -> bool:
    kind = KINDS[type(value)]
    return not kinds or kind in kinds or (kind == "integer" and "number" in kinds)
