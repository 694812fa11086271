"""The schema of a tool's arguments as an object, which every provider requires at the root."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.keywords import ANNOTATIONS, BY_TYPE, Schema
from ez_ptc.formats.lowering.merging import flatten, merge, types_of
from ez_ptc.formats.lowering.references import PREFIX
from ez_ptc.formats.lowering.sentences import sentences, with_sentences
from ez_ptc.formats.lowering.upgrade import upgrade
from ez_ptc.schema.safe_repr import safe_names

__all__ = ["with_object_root"]

_UNIONS: Final = ("anyOf", "oneOf")
_KEPT: Final = ANNOTATIONS | BY_TYPE["object"] | {"type"}


def with_object_root(tool: str, schema: Mapping[str, Any]) -> Schema:
    """Return a tool's parameters as plain JSON Schema: an object with `properties` at its root.

    A `$ref`, an `allOf` and a union at the root are merged into one object, in which an argument is required if every
    member of the union requires it; a sentence in the description states the rest. Raises `SchemaError` if the schema
    allows no object.
    """
    document = upgrade(tool, schema)
    definitions: dict[str, Schema] = document.pop("$defs", {})
    root = _object(tool, flatten(document, definitions), definitions)
    if rest := {key: value for key, value in root.items() if key not in _KEPT}:
        root = with_sentences({key: value for key, value in root.items() if key in _KEPT}, sentences(rest))
    root = {**root, "type": "object", "properties": root.get("properties", {})}
    used = _reachable(root, definitions)
    if used:
        return {**root, "$defs": used}
    return root


def _object(tool: str, schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    if (kinds := types_of(schema)) and "object" not in kinds:
        message = (
            f"{tool}: its parameters are of type {' or '.join(kinds)}, and a model passes its arguments as an object: "
            "write {'type': 'object', 'properties': {...}}"
        )
        raise SchemaError(message)
    for keyword in _UNIONS:
        if keyword in schema:
            branches: list[Schema] = schema.pop(keyword)
            schema = _merge_branches(tool, schema, [flatten(branch, definitions) for branch in branches], definitions)
    return schema


def _merge_branches(tool: str, base: Schema, branches: Sequence[Schema], definitions: Mapping[str, Schema]) -> Schema:
    objects = [branch for branch in branches if not types_of(branch) or "object" in types_of(branch)]
    if not objects:
        _object(tool, {"type": [kind for branch in branches for kind in types_of(branch)]}, definitions)
    objects = [_object(tool, object_schema, definitions) for object_schema in objects]
    properties: dict[str, list[Schema]] = {}
    for object_schema in objects:
        for name, value in object_schema.get("properties", {}).items():
            known = properties.setdefault(name, [])
            if value not in known:
                known.append(value)
    required = [
        name
        for name in objects[0].get("required", ())
        if all(name in object_schema.get("required", ()) for object_schema in objects)
    ]
    merged: Schema = {
        "properties": {
            name: property_[0] if len(property_) == 1 else {"anyOf": property_}
            for name, property_ in properties.items()
        },
        **({"required": required} if required else {}),
    }
    if all(object_schema.get("additionalProperties") is False for object_schema in objects):
        merged["additionalProperties"] = False
    sets = [safe_names(object_schema.get("required", ())) for object_schema in objects]
    note = f"Give one of these sets of arguments: {'; or '.join(sets)}." if len(set(sets)) > 1 and all(sets) else ""
    return with_sentences(merge(base, merged), note)


def _reachable(schema: Schema, definitions: Mapping[str, Schema]) -> dict[str, Schema]:
    reachable: dict[str, Schema] = {}
    waiting: list[object] = [schema]
    while waiting:
        subschema = waiting.pop()
        if isinstance(subschema, list):
            waiting.extend(cast("list[object]", subschema))
        elif isinstance(subschema, dict):
            keywords = cast("Schema", subschema)
            waiting.extend(keywords.values())
            name = str(keywords.get("$ref", "")).removeprefix(PREFIX)
            if name in definitions and name not in reachable:
                reachable[name] = definitions[name]
                waiting.append(definitions[name])
    return {name: definitions[name] for name in definitions if name in reachable}
