"""JSON Schema as the subset of OpenAPI 3.0 that Gemini accepts, where possible."""

from collections.abc import Mapping
from typing import Any, Final

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.plain import Plain
from ez_ptc.formats.lowering.strict import has_lookaround
from ez_ptc.schema.standard.keywords import Schema, any_of, unique_schemas
from ez_ptc.schema.standard.references import PREFIX
from ez_ptc.schema.standard.sentences import sentences, with_sentences

__all__ = ["as_openapi"]

_STRUCTURE: Final = frozenset(
    {"additionalProperties", "anyOf", "description", "enum", "items", "properties", "required", "type"}
)
_KEYWORDS: Final = frozenset(
    {"maximum", "minimum", "pattern"}
    | {"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"}
)
_FORMATS: Final = frozenset({"date-time", "double", "float", "int32", "int64"})
# Inlined definitions can multiply.
_MAX_SCHEMAS: Final = 2_000


class _CannotSayError(Exception):
    """This subset of OpenAPI cannot express the schema."""


def as_openapi(tool: str, schema: Mapping[str, Any], left_out: list[str] | None = None) -> Schema | None:
    """Return an object's schema in Gemini's OpenAPI, or None if it cannot be expressed.

    The subset has no `$ref` (definitions are inlined), `nullable` instead of `null`, no siblings of `anyOf`, enums of
    text only, and no object without keys. It cannot express recursive schemas, objects with any keys, and values
    of any type. What is lost is added to `left_out`, as by `portable`.
    """
    body = {key: value for key, value in schema.items() if key != "$defs"}
    if not body["properties"] and body.get("additionalProperties", False) is False:
        return {"type": "object"}
    plain = Plain(tool, schema.get("$defs", {}))
    try:
        converted = _SchemaWriter(plain).convert(plain.of(body, ""), ())
    except (_CannotSayError, SchemaError, RecursionError):
        return None
    if left_out is not None:
        left_out += plain.left_out
    return converted


class _SchemaWriter:
    def __init__(self, plain: Plain) -> None:
        self._plain = plain
        self._count = 0

    def convert(self, plain: Schema, inside: tuple[str, ...]) -> Schema:
        self._count += 1
        # Neither a value of any type can be expressed, nor an object without named keys.
        is_open = plain.keys().isdisjoint(("$ref", "anyOf", "type")) or plain.get("properties") == {}
        if is_open or self._count > _MAX_SCHEMAS:
            raise _CannotSayError
        if "$ref" in plain:
            name = plain["$ref"].removeprefix(PREFIX)
            if name in inside:
                raise _CannotSayError
            target = self._plain.definition(name)
            inlined = {**target, **{key: value for key, value in plain.items() if key != "$ref"}}
            return self.convert(with_sentences(inlined, target.get("description", "")), (*inside, name))
        if "anyOf" in plain:
            return self._union(plain, inside)
        if plain["type"] == "null":
            return _null(plain)
        kept = {key: value for key, value in plain.items() if _takes(key, value)}
        converted = _describe({"type": plain["type"], **kept}, plain)
        if texts := _texts(plain):
            converted["enum"] = texts
        if plain["type"] == "array":
            converted["items"] = self.convert(plain["items"], inside)
        if plain["type"] == "object":
            properties: dict[str, Schema] = plain["properties"]
            converted["properties"] = {name: self.convert(item, inside) for name, item in properties.items()}
            if plain["required"]:
                converted["required"] = plain["required"]
        return converted

    def _union(self, plain: Schema, inside: tuple[str, ...]) -> Schema:
        members = [self.convert(item, inside) for item in plain["anyOf"] if item.get("type") != "null"]
        branches = unique_schemas(branch for item in members for branch in item.get("anyOf", [item]))
        if not branches:
            return _null(plain)
        # Siblings of anyOf are not allowed, so the union's description moves to its first member.
        branches[0] = _describe(branches[0], plain, branches[0].get("description", ""))
        if len(members) < len(plain["anyOf"]):
            branches = [{**branch, "nullable": True} for branch in branches]
        return any_of(branches)


def _takes(key: str, value: Any) -> bool:  # noqa: ANN401 - a keyword's value is any JSON
    if key == "format":
        return value in _FORMATS
    return key in _KEYWORDS and not (key == "pattern" and has_lookaround(value))


def _null(plain: Schema) -> Schema:
    return with_sentences({"type": "string", "nullable": True}, plain.get("description", ""), "Always null.")


def _texts(plain: Schema) -> list[object]:
    """Return the values of an enum if all are texts Gemini accepts, which are not empty."""
    values: list[object] = plain.get("enum", [])
    if all(isinstance(value, str) and value for value in values):
        return values
    return []


def _describe(typed: Schema, plain: Schema, *texts: str) -> Schema:
    """Return a schema with the description of `plain`, and a sentence for each unsupported keyword."""
    lost = {key: value for key, value in plain.items() if key not in _STRUCTURE and not _takes(key, value)}
    if "enum" in plain and not _texts(plain):
        lost["enum"] = plain["enum"]
    bare = {key: value for key, value in typed.items() if key != "description"}
    return with_sentences(bare, plain.get("description", ""), sentences(lost), *texts)
