"""Merging schemas that hold at once: those of an `allOf`, and a `$ref` with its sibling keywords."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ez_ptc.schema.standard.keywords import Schema
from ez_ptc.schema.standard.references import PREFIX
from ez_ptc.schema.standard.sentences import sentences, with_sentences

__all__ = ["flatten", "merge", "types_of"]

# The larger of two values is the stricter one.
_LARGER: Final = frozenset(
    {"exclusiveMinimum", "minContains", "minItems", "minLength", "minProperties", "minimum", "uniqueItems"}
)
_SMALLER: Final = frozenset({"exclusiveMaximum", "maxItems", "maxLength", "maxProperties", "maximum"})
# These constrain nothing, so that one value is enough.
_FIRST: Final = frozenset({"default", "deprecated", "examples", "readOnly", "writeOnly"})


_UNITS: Final = (("if", "then", "else"), ("contains", "minContains", "maxContains"))
# The characters of text that cost as much as a name.
_TEXT: Final = 100
_EVALUATING: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "not", "dependentSchemas"})


def flatten(
    schema: Mapping[str, Any],
    definitions: Mapping[str, Schema],
    seen: set[str] | None = None,
    spend: Callable[[int], object] | None = None,
) -> Schema:
    """Return a schema with the `$ref` and `allOf` at its own level merged into it.

    Constraints that cannot be merged move into the description: the result may allow more than the schema, never less.
    The names of merged definitions are added to `seen`. Many schemas may refer to one definition, and each of them
    merges it again: `spend` gets the size of each merged schema.
    """
    if seen is None:
        seen = set()
    flat = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    schemas: list[Schema] = [*schema.get("allOf", ())]
    if "$ref" in schema and (name := schema["$ref"].removeprefix(PREFIX)) not in seen:
        seen.add(name)
        schemas.insert(0, definitions[name])
    has_evaluated_all = False
    for subschema in schemas:
        inner = flatten(subschema, definitions, seen, spend)
        if spend is not None:
            names = sum(len(cast("list[object]", value)) for value in inner.values() if isinstance(value, dict | list))
            spend(1 + names + len(inner.get("description", "")) // _TEXT)
        has_evaluated_all |= inner.get("unevaluatedProperties", False) is not False
        flat = merge(flat, inner)
    if schemas:
        # What a merged schema evaluated may be in its description only, or in a branch.
        flat.pop("unevaluatedItems", None)
        if has_evaluated_all or not flat.keys().isdisjoint(_EVALUATING):
            flat.pop("unevaluatedProperties", None)
    if has_evaluated_all:
        flat["unevaluatedProperties"] = True
    return flat


def merge(one: Mapping[str, Any], other: Mapping[str, Any]) -> Schema:
    """Return the conjunction of two schemas, as far as one schema can express it; `one` wins otherwise."""
    one, other = _without_const(one), _without_const(other)
    both = dict(one)
    lost: Schema = {}
    # Their values belong together: those of two schemas would make a third.
    units = [unit for unit in _UNITS if unit[0] in one and unit[0] in other]
    lost |= {key: other[key] for unit in units for key in unit if key in other}
    for key, value in other.items():
        if key in lost:
            continue
        if key not in both:
            both[key] = value
        elif key == "description":
            if value not in both[key]:
                both[key] += f" {value}"
        elif key == "enum":
            # By their JSON text, since True and 1 are equal in Python.
            texts = {json.dumps(item, sort_keys=True) for item in value}
            shared = [item for item in both[key] if json.dumps(item, sort_keys=True) in texts]
            both[key] = shared or both[key]
        elif key == "required":
            both[key] = list(dict.fromkeys([*both[key], *value]))
        elif key in _COMBINED:
            both[key] = _COMBINED[key](both[key], value)
        elif both[key] != value and key not in _FIRST:
            lost[key] = value
    lost = {key: value for key, value in lost.items() if key not in both or both[key] != value}
    return with_sentences(both, sentences(lost))


def types_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the types a schema lists itself."""
    declared: str | list[str] = schema.get("type", [])
    if isinstance(declared, str):
        return [declared]
    return declared


def _without_const(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with an `enum` of one value instead of a `const`."""
    if "const" not in schema:
        return schema
    return {**{key: value for key, value in schema.items() if key != "const"}, "enum": [schema["const"]]}


def _both_types(one: str | list[str], other: str | list[str]) -> str | list[str]:
    first, second = types_of({"type": one}), types_of({"type": other})
    shared = [item for item in first if item in second or (item == "integer" and "number" in second)]
    # An integer is a number, whichever of the two schemas says so.
    if "number" in first and "integer" in second and "integer" not in shared:
        shared.append("integer")
    if len(shared) == 1:
        return shared[0]
    return shared or one


def _both_properties(one: Mapping[str, Schema], other: Mapping[str, Schema]) -> dict[str, bool | Schema]:
    shared = {name: _both(one[name], item) for name, item in other.items() if name in one}
    return {**one, **other, **shared}


def _both(one: bool | Schema, other: bool | Schema) -> bool | Schema:  # noqa: FBT001 - a keyword's value may be a flag
    if one is False or other is False:
        return False
    if one is True or one == other:
        return other
    if other is True:
        return one
    if one.keys() == {"allOf"}:  # one list, since a pair in a pair for each of many would be nested too deeply
        return {"allOf": [*one["allOf"], other]}
    return {"allOf": [one, other]}


def _both_lists(one: Mapping[str, list[str]], other: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {name: list(dict.fromkeys([*one.get(name, ()), *other.get(name, ())])) for name in {**one, **other}}


_COMBINED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **dict.fromkeys(_LARGER, cast("Callable[[Any, Any], Any]", max)),
    **dict.fromkeys(_SMALLER, cast("Callable[[Any, Any], Any]", min)),
    "additionalProperties": _both,
    "dependentRequired": _both_lists,
    "dependentSchemas": _both_properties,
    "propertyNames": _both,
    "items": _both,
    "patternProperties": _both_properties,
    "properties": _both_properties,
    "type": _both_types,
}
