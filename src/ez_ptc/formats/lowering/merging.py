"""Merging schemas that hold at once: those of an `allOf`, and a `$ref` with its sibling keywords."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from ez_ptc.formats.lowering.keywords import Schema
from ez_ptc.formats.lowering.references import PREFIX
from ez_ptc.formats.lowering.sentences import sentences, with_sentences

__all__ = ["flatten", "merge", "types_of"]

_LARGER: Final = frozenset(
    {"exclusiveMinimum", "minContains", "minItems", "minLength", "minProperties", "minimum", "uniqueItems"}
)
_SMALLER: Final = frozenset({"exclusiveMaximum", "maxItems", "maxLength", "maxProperties", "maximum"})
_FIRST: Final = frozenset({"default", "deprecated", "examples", "readOnly", "writeOnly"})


def flatten(schema: Mapping[str, Any], definitions: Mapping[str, Schema], seen: set[str] | None = None) -> Schema:
    """Return a schema with the `$ref` and `allOf` at its own level merged into it.

    Constraints that cannot be merged move into the description: the result may allow more than the schema, never less.
    """
    seen = set() if seen is None else seen
    flat = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    schemas: list[Schema] = [*schema.get("allOf", ())]
    name = None
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
    if name is not None and name not in seen:
        seen.add(name)
        schemas.insert(0, definitions[name])
    for subschema in schemas:
        flat = merge(flat, flatten(subschema, definitions, seen))
    return flat


def merge(one: Mapping[str, Any], other: Mapping[str, Any]) -> Schema:
    """Return the conjunction of two schemas, as far as one schema can express it; `one` wins otherwise."""
    one, other = _with_enum(one, other)
    both = dict(one)
    lost: Schema = {}
    for key, value in other.items():
        if key not in both:
            both[key] = value
        elif key in _COMBINED:
            both[key] = _COMBINED[key](both[key], value)
        elif both[key] != value and key not in _FIRST:
            lost[key] = value
    if lost:
        return with_sentences(both, sentences(lost))
    return both


def types_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the types a schema lists itself."""
    declared: str | list[str] = schema.get("type", [])
    if isinstance(declared, str):
        return [declared]
    return declared


def _with_enum(*schemas: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if all("const" not in schema for schema in schemas):
        return schemas[0], schemas[1]
    one, other = (
        {**_without_const(schema), "enum": [schema["const"]]} if "const" in schema else schema for schema in schemas
    )
    return one, other


def _without_const(schema: Mapping[str, Any]) -> Schema:
    return {key: value for key, value in schema.items() if key != "const"}


def _both_types(one: str | list[str], other: str | list[str]) -> str | list[str]:
    first, second = types_of({"type": one}), types_of({"type": other})
    shared = [item for item in first if item in second or (item == "integer" and "number" in second)]
    if "number" in first and "integer" in second and "integer" not in shared:
        shared.append("integer")
    return one if not shared else shared[0] if len(shared) == 1 else shared


def _both_enums(one: list[object], other: list[object]) -> list[object]:
    return [item for item in one if any(item == value and type(item) is type(value) for value in other)] or one


def _both_properties(one: Mapping[str, Schema], other: Mapping[str, Schema]) -> dict[str, Schema]:
    shared = {name: _both(one[name], item) for name, item in other.items() if name in one}
    return {**one, **other, **shared}


def _both(one: Schema, other: Schema) -> Schema:
    if one == other:
        return one
    return {"allOf": [one, other]}


def _both_additional(one: bool | Schema, other: bool | Schema) -> bool | Schema:  # noqa: FBT001 - a keyword's value may be a flag
    if isinstance(one, bool) or isinstance(other, bool):
        return False if one is False or other is False else other if one is True else one
    return _both(one, other)


def _both_texts(one: str, other: str) -> str:
    if other in one:
        return one
    return f"{one} {other}"


def _union(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


_COMBINED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **dict.fromkeys(_LARGER, cast("Callable[[Any, Any], Any]", max)),
    **dict.fromkeys(_SMALLER, cast("Callable[[Any, Any], Any]", min)),
    "additionalProperties": _both_additional,
    "description": _both_texts,
    "enum": _both_enums,
    "items": _both,
    "patternProperties": _both_properties,
    "properties": _both_properties,
    "required": _union,
    "type": _both_types,
}
