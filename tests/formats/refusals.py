"""What a provider would refuse, written from its documentation and apart from the code that avoids it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

Schema = dict[str, Any]

STRING_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
STRICT = {
    "openai": {
        *("type", "description", "enum", "anyOf", "$ref", "$defs", "properties", "required", "additionalProperties"),
        *("items", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minItems", "maxItems"),
    },
    "anthropic": {
        *("type", "description", "enum", "anyOf", "$ref", "$defs", "properties", "required", "additionalProperties"),
        *("items", "format", "minItems"),
    },
}
GEMINI = {
    *("type", "description", "format", "nullable", "enum", "items", "properties", "required", "anyOf"),
    *("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"),
    "pattern",
}
META = jsonschema_rs.Draft202012Validator({"$ref": "https://json-schema.org/draft/2020-12/schema"})
UNIONS = {"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref"}


def refusals(format_name: str, described: Schema, *, strict: bool = False) -> list[str]:
    """What this provider would say against a tool."""
    json.dumps(described, allow_nan=False, ensure_ascii=False).encode()
    return list(_CHECKS[format_name](described, strict=strict))


def _openai(described: Schema, *, strict: bool) -> Iterator[str]:
    if set(described) != {"type", "function"} or described["type"] != "function":
        yield f"the keys {sorted(described)}"
    yield from _function(described["function"], strict=strict)


def _responses(described: Schema, *, strict: bool) -> Iterator[str]:
    if described["type"] != "function" or described["strict"] is not strict:
        yield "type or strict"
    yield from _function({key: value for key, value in described.items() if key != "type"}, strict=strict)


def _function(function: Schema, *, strict: bool) -> Iterator[str]:
    if not set(function) <= {"name", "description", "parameters", "strict"}:
        yield f"the keys {sorted(function)}"
    if not re.fullmatch("[A-Za-z0-9_-]{1,64}", function["name"]):
        yield f"the name {function['name']!r}"
    if bool(function.get("strict")) is not strict:
        yield "strict"
    yield from _json_schema(function["parameters"], arrays_have_items=True)
    if strict:
        yield from _strict(function["parameters"], "openai")


def _anthropic(described: Schema, *, strict: bool) -> Iterator[str]:
    if (
        not set(described) <= {"name", "description", "input_schema", "strict"}
        or bool(described.get("strict")) is not strict
    ):
        yield f"the keys {sorted(described)}"
    if not re.fullmatch("[A-Za-z0-9_-]{1,64}", described["name"]):
        yield f"the name {described['name']!r}"
    schema = described["input_schema"]
    yield from _json_schema(schema)
    for key in schema["properties"]:
        if not re.fullmatch("[a-zA-Z0-9_.-]{1,64}", key):
            yield f"the key {key!r}"
    for path, each in _schemas(schema):
        if "oneOf" in each:
            yield f"oneOf at {path}"
    if strict:
        yield from _strict(schema, "anthropic")
        yield from _anthropic_strict(schema)


def _anthropic_strict(schema: Schema) -> Iterator[str]:
    parts = [each for _, each in _schemas(schema)]
    if sum("anyOf" in each for each in parts) > 16:
        yield "more than 16 unions"
    if sum(len(each["properties"]) - len(each["required"]) for each in parts if "properties" in each) > 24:
        yield "more than 24 optional properties"
    for path, each in _schemas(schema):
        if each.get("minItems", 0) > 1:
            yield f"minItems at {path}"
    for name, each in schema.get("$defs", {}).items():
        if f'"#/$defs/{name}"' in json.dumps(each):
            yield f"{name} contains itself"


def _gemini(described: Schema, *, strict: bool) -> Iterator[str]:
    del strict
    if not set(described) <= {"name", "description", "parameters", "parameters_json_schema"} or len(described) > 3:
        yield f"the keys {sorted(described)}"
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_.:-]{0,127}", described["name"]):
        yield f"the name {described['name']!r}"
    if "parameters_json_schema" in described:
        yield from _json_schema(described["parameters_json_schema"])
        for _, each in _schemas(described["parameters_json_schema"]):
            yield from _gemini_keys(each)
    for path, each in _schemas(
        described.get("parameters", {"type": "object", "properties": {"x": {"type": "string"}}})
    ):
        yield from (f"{problem} at {path}" for problem in _gemini_node(each))


def _gemini_node(schema: Schema) -> Iterator[str]:
    yield from sorted(set(schema) - GEMINI)
    if "anyOf" in schema:
        if set(schema) != {"anyOf"} or len(schema["anyOf"]) < 2:
            yield "something beside anyOf"
        return
    kind = schema.get("type")
    if kind not in ("object", "array", "string", "integer", "number", "boolean"):
        yield f"the type {kind!r}"
    if "enum" in schema and (kind != "string" or not all(isinstance(each, str) and each for each in schema["enum"])):
        yield f"the enum {schema['enum']!r}"
    if schema.get("format", "date-time") not in ("date-time", "int32", "int64", "float", "double"):
        yield f"the format {schema['format']!r}"
    if kind == "array" and "items" not in schema:
        yield "no items"
    if kind == "object":
        yield from _gemini_object(schema)


def _gemini_object(schema: Schema) -> Iterator[str]:
    if not schema.get("properties"):
        yield "no properties"
    yield from _gemini_keys(schema)
    if not set(schema.get("required", ())) <= set(schema.get("properties", {})):
        yield "required"


def _gemini_keys(schema: Schema) -> Iterator[str]:
    for key in schema.get("properties", {}):
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,63}", key):
            yield f"the key {key!r}"


def _mcp(described: Schema, *, strict: bool) -> Iterator[str]:
    del strict
    if not set(described) <= {"name", "description", "inputSchema", "outputSchema"}:
        yield f"the keys {sorted(described)}"
    if not re.fullmatch("[A-Za-z0-9._-]{1,128}", described["name"]):
        yield f"the name {described['name']!r}"
    for key in ("inputSchema", "outputSchema"):
        if key in described:
            schema = described[key]
            if schema.get("type") != "object":
                yield f"{key} is no object"
            yield from _valid(schema)


def _json_schema(schema: Schema, *, arrays_have_items: bool = False) -> Iterator[str]:
    if schema.get("type") != "object" or "properties" not in schema:
        yield "no object at the root"
    yield from (f"{keyword} at the root" for keyword in sorted(UNIONS & set(schema)))
    yield from _valid(schema)
    for path, each in _schemas(schema):
        if arrays_have_items and "array" in (each.get("type"), *_listed(each.get("type"))) and "items" not in each:
            yield f"no items at {path}"


def _listed(kind: object) -> list[Any]:
    return kind if isinstance(kind, list) else []  # pyright: ignore[reportUnknownVariableType] - part of a schema


def _valid(schema: Schema) -> Iterator[str]:
    if not META.is_valid(schema):
        yield "no JSON Schema of draft 2020-12"
    for path, each in _schemas(schema):
        ref = each.get("$ref")
        if ref is not None and ref.removeprefix("#/$defs/") not in schema.get("$defs", {}):
            yield f"{ref} leads nowhere, at {path}"


def _strict(schema: Schema, provider: str) -> Iterator[str]:
    for path, each in _schemas(schema):
        yield from (f"{problem} at {path}" for problem in _strict_node(each, provider))
    if _depth(schema, schema.get("$defs", {}), ()) > 10:
        yield "more than ten levels"


def _strict_node(schema: Schema, provider: str) -> Iterator[str]:
    yield from sorted(set(schema) - STRICT[provider])
    if "$ref" in schema:
        yield from sorted(set(schema) - {"$ref"})
    elif "anyOf" in schema:
        yield from sorted(set(schema) - {"anyOf", "description"})
    else:
        yield from _strict_type(schema, provider)


def _strict_type(schema: Schema, provider: str) -> Iterator[str]:
    if not isinstance(schema.get("type"), str):
        yield f"the type {schema.get('type')!r}"
    if schema.get("format", "date") not in STRING_FORMATS | ({"uri"} if provider == "anthropic" else set()):
        yield f"the format {schema['format']!r}"
    if re.search(r"\(\?[=!<]", schema.get("pattern", "")):
        yield "a look around"
    if schema.get("type") == "array" and "items" not in schema:
        yield "no items"
    if schema.get("type") == "object":
        yield from _strict_object(schema, provider)


def _strict_object(schema: Schema, provider: str) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield "additionalProperties"
    if provider == "openai" and list(schema.get("properties", {"?": 0})) != schema.get("required"):
        yield "required"


def _depth(schema: Schema, definitions: dict[str, Schema], inside: tuple[str, ...]) -> int:
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if name and name not in inside:
        return _depth(definitions[name], definitions, (*inside, name))
    inner = [
        *schema.get("anyOf", ()),
        *schema.get("properties", {}).values(),
        *([schema["items"]] if "items" in schema else []),
    ]
    return (schema.get("type") == "object") + max((_depth(each, definitions, inside) for each in inner), default=0)


def _schemas(schema: object, path: str = "#") -> Iterator[tuple[str, Schema]]:
    """Each schema in a schema, with where it is."""
    if not isinstance(schema, dict):
        return
    keywords: Schema = schema  # pyright: ignore[reportUnknownVariableType] - part of a schema
    yield path, keywords
    for key, value in keywords.items():
        if key in ("properties", "$defs", "patternProperties", "dependentSchemas"):
            for name, each in value.items():
                yield from _schemas(each, f"{path}.{key}.{name}")
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for at, each in enumerate(value):
                yield from _schemas(each, f"{path}.{key}[{at}]")
        elif key in ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"):
            yield from _schemas(value, f"{path}.{key}")


_CHECKS = {
    "openai": _openai,
    "openai-chat": _openai,
    "openai-responses": _responses,
    "mistral": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
}
