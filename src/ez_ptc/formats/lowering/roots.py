"""The schema of a tool's arguments as an object, which every provider requires at the root."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.errors import SchemaError
from ez_ptc.formats.lowering.keywords import ANNOTATIONS, BY_TYPE, Schema, any_of
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
    rest = {key: value for key, value in root.items() if key not in _KEPT}
    root = with_sentences({key: value for key, value in root.items() if key in _KEPT}, sentences(rest))
    root = {**root, "type": "object", "properties": root.get("properties", {})}
    # Definitions out of reach are dropped: a merged $ref leaves some behind.
    reachable: set[str] = set()
    waiting: list[object] = [root]
    while waiting:
        subschema = waiting.pop()
        if isinstance(subschema, list):
            waiting.extend(cast("list[object]", subschema))
        elif isinstance(subschema, dict):
            keywords = cast("Schema", subschema)
            waiting.extend(keywords.values())
            name = str(keywords.get("$ref", "")).removeprefix(PREFIX)
            if name in definitions and name not in reachable:
                reachable.add(name)
                waiting.append(definitions[name])
    if reachable:
        root["$defs"] = {name: definitions[name] for name in definitions if name in reachable}
    return root


def _object(tool: str, schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    types = types_of(schema)
    if types and "object" not in types:
        message = (
            f"{tool}: its parameters are of type {' or '.join(types)}, and a model passes its arguments as an object: "
            "write {'type': 'object', 'properties': {...}}"
        )
        raise SchemaError(message)
    for keyword in _UNIONS:
        if keyword in schema:
            branches = [flatten(branch, definitions) for branch in schema.pop(keyword)]
            schema = _merge_branches(tool, schema, branches, definitions)
    return schema


def _merge_branches(tool: str, base: Schema, branches: Sequence[Schema], definitions: Mapping[str, Schema]) -> Schema:
    objects = [branch for branch in branches if not types_of(branch) or "object" in types_of(branch)]
    if not objects:
        _object(tool, {"type": [type_ for branch in branches for type_ in types_of(branch)]}, definitions)
    objects = [_object(tool, branch, definitions) for branch in objects]
    properties: dict[str, list[Schema]] = {}
    for branch in objects:
        for name, property_ in branch.get("properties", {}).items():
            known = properties.setdefault(name, [])
            if property_ not in known:
                known.append(property_)
    merged: Schema = {"properties": {name: any_of(known) for name, known in properties.items()}}
    required: list[list[str]] = [branch.get("required", []) for branch in objects]
    if in_all := [name for name in required[0] if all(name in names for names in required)]:
        merged["required"] = in_all
    if all(branch.get("additionalProperties") is False for branch in objects):
        merged["additionalProperties"] = False
    sets = list(map(safe_names, required))
    note = ""
    if len(set(sets)) > 1 and all(sets):
        note = f"Give one of these sets of arguments: {'; or '.join(sets)}."
    return with_sentences(merge(base, merged), note)
