"""JSON Schema as the subset of OpenAPI 3.0 that Gemini accepts, where possible."""

from collections.abc import Mapping
from typing import Any, Final

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.keywords import Schema
from ez_ptc.formats.lowering.plain import Plain
from ez_ptc.formats.lowering.references import PREFIX
from ez_ptc.formats.lowering.sentences import sentences, with_sentences
from ez_ptc.formats.lowering.strict import has_lookaround

__all__ = ["as_openapi"]

_STRUCTURE: Final = frozenset(
    {"additionalProperties", "anyOf", "description", "enum", "items", "properties", "required", "type"}
)
_KEYWORDS: Final = frozenset(
    {
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "pattern",
    }
)
_FORMATS: Final = frozenset({"date-time", "double", "float", "int32", "int64"})
_LARGEST: Final = 2_000


class _CannotSayError(Exception):
    """This subset of OpenAPI cannot express the schema."""


def as_openapi(tool: str, schema: Mapping[str, Any]) -> Schema | None:
    """Return an object's schema in Gemini's OpenAPI, or None if it cannot be expressed.

    The subset has no `$ref` (definitions are inlined), `nullable` instead of `null`, no siblings of `anyOf`, enums of
    text only, and no object without keys. It cannot express recursive schemas, objects with any keys, and values of any
    type.
    """
    body = {key: value for key, value in schema.items() if key != "$defs"}
    definitions: dict[str, Schema] = schema.get("$defs", {})
    writer = _Writer(Plain(tool, definitions), definitions)
    try:
        return writer.root(body)
    except (_CannotSayError, SchemaError, RecursionError):
        return None


class _Writer:
    def __init__(self, plain: Plain, definitions: Mapping[str, Schema]) -> None:
        self._plain = plain
        self._definitions = definitions
        self._made = 0

    def root(self, schema: Schema) -> Schema:
        if not schema["properties"] and schema.get("additionalProperties", False) is False:
            return {"type": "object"}
        return self._convert(self._plain.of(schema, ""), ())

    def _convert(self, plain: Schema, inside: tuple[str, ...]) -> Schema:
        self._made += 1
        if self._made > _LARGEST:
            raise _CannotSayError
        if "$ref" in plain:
            return self._inline_reference(plain, inside)
        if "anyOf" in plain:
            return self._union(plain, inside)
        if "type" not in plain:
            raise _CannotSayError
        return self._convert_typed(plain, inside)

    def _inline_reference(self, plain: Schema, inside: tuple[str, ...]) -> Schema:
        name = plain["$ref"].removeprefix(PREFIX)
        if name in inside:
            raise _CannotSayError
        target = self._plain.of(self._definitions[name], name)
        notes = {key: value for key, value in plain.items() if key != "$ref"}
        inlined = with_sentences({**target, **notes}, target.get("description", ""))
        return self._convert(inlined, (*inside, name))

    def _union(self, plain: Schema, inside: tuple[str, ...]) -> Schema:
        members = [self._convert(item, inside) for item in plain["anyOf"] if item.get("type") != "null"]
        nullable = len(members) < len(plain["anyOf"])
        flat: list[Schema] = []
        for item in members:
            flat += [alternative for alternative in item.get("anyOf", [item]) if alternative not in flat]
        if not flat:
            return _null(plain)
        first = _describe({**flat[0]}, plain, flat[0].get("description", ""))
        branches = [first, *flat[1:]]
        if nullable:
            branches = [{**branch, "nullable": True} for branch in branches]
        # Siblings of anyOf are not allowed, so the union's description moves to its first member.
        if len(branches) == 1:
            return branches[0]
        return {"anyOf": branches}

    def _convert_typed(self, plain: Schema, inside: tuple[str, ...]) -> Schema:
        type_ = plain["type"]
        if type_ == "null":
            return _null(plain)
        converted = _describe(
            {"type": type_, **{key: plain[key] for key in plain if _takes(key, plain[key])}}, plain, ""
        )
        if texts := _texts(plain):
            converted["enum"] = texts
        if type_ == "array":
            converted["items"] = self._convert(plain["items"], inside)
        if type_ == "object":
            return {**converted, **self._object(plain, inside)}
        return converted

    def _object(self, plain: Schema, inside: tuple[str, ...]) -> Schema:
        properties: dict[str, Schema] = plain["properties"]
        if not properties:
            raise _CannotSayError
        converted = {name: self._convert(property_, inside) for name, property_ in properties.items()}
        return {"properties": converted, **({"required": plain["required"]} if plain["required"] else {})}


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


def _describe(made: Schema, plain: Schema, own: str) -> Schema:
    """Return a schema with the description of `plain`, and a sentence for each unsupported keyword."""
    untold = {key: value for key, value in plain.items() if key not in _STRUCTURE and not _takes(key, value)}
    if "enum" in plain and len(_texts(plain)) < len(plain["enum"]):
        untold["enum"] = plain["enum"]
    bare = {key: value for key, value in made.items() if key != "description"}
    return with_sentences(bare, plain.get("description", ""), sentences(untold) if untold else "", own)
