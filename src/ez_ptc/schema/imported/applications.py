"""The number of schemas that a validator applies to the containers in a value.

Branches that name the same key apply several schemas to its value, and each of these as many again to the value in it:
the number doubles at each level. A validator cannot be stopped, so they are counted before it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from ez_ptc.schema.standard.references import PREFIX

__all__ = ["MULTIPLYING", "applies_more"]

_Schema = Mapping[str, Any]
# How often each schema, by its identity, applies to one value, and the definition that it stands in.
_Counts = dict[int, tuple[_Schema, int, str]]

_LISTED: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else")
_PROPERTIES: Final = ("additionalProperties", "unevaluatedProperties")
_ITEMS: Final = ("items", "unevaluatedItems", "contains")
MULTIPLYING: Final = frozenset(
    {*_LISTED, *_SINGLE, *_PROPERTIES[1:], *_ITEMS[1:], "dependentSchemas", "patternProperties"}
)
"""Without one of these keywords, each value has one schema."""
# Fewer levels than these cannot multiply much.
_MAX_SHALLOW: Final = 3
# A definition that leads back to itself in place is applied once more each time.
_MAX_ROUNDS: Final = 100


def applies_more(form: _Schema, value: object, most: int) -> bool:
    """Return whether a validator of a standard form would apply more than `most` schemas to containers in a value."""
    if not _is_deep(value):
        return False
    definitions: Mapping[str, _Schema] = form.get("$defs", {})
    waiting: list[tuple[object, _Counts]] = [(value, _add({}, form, 1, ""))]
    while waiting:
        container, counts = waiting.pop()
        applied = _apply(definitions, counts, most)
        most -= sum(count for _, count, _ in applied)
        if most < 0:
            return True
        for key, item in _containers(container):
            inner: _Counts = {}
            for schema, count, definition in applied:
                for part in _schemas_of_item(schema, key):
                    _add(inner, part, count, definition)
            waiting.append((item, inner))
    return False


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(_MAX_SHALLOW):
        level = [item for container in level for _, item in _containers(container)]
    return bool(level)


def _containers(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        items: Iterator[tuple[str | int, object]] = iter(cast("dict[str | int, object]", value).items())
    elif isinstance(value, list | tuple):
        items = enumerate(cast("list[object]", value))
    else:
        return
    yield from ((key, item) for key, item in items if isinstance(item, dict | list | tuple))


def _add(counts: _Counts, schema: object, count: int, definition: str) -> _Counts:
    if isinstance(schema, Mapping):
        fields = cast("_Schema", schema)
        if id(fields) in counts:
            count += counts[id(fields)][1]
        counts[id(fields)] = (fields, count, definition)
    return counts


def _apply(definitions: Mapping[str, _Schema], counts: _Counts, most: int) -> list[tuple[_Schema, int, str]]:
    """Return the schemas that apply to one value, with those in their branches and references; no more than enough."""
    applied: list[tuple[_Schema, int, str]] = []
    for _ in range(_MAX_ROUNDS):
        if not counts or most < 0:
            break
        applied += counts.values()
        most -= sum(count for _, count, _ in counts.values())
        inner: _Counts = {}
        for schema, count, definition in counts.values():
            if isinstance(reference := schema.get("$ref"), str):
                name = reference.removeprefix(PREFIX)
                target = definitions.get(name)
                # The validator remembers what it found out by a definition that refers to itself.
                if name != definition:
                    _add(inner, target, count, name)
                elif id(target) not in inner:
                    _add(inner, target, 1, name)
            branches = [branch for keyword in _LISTED for branch in schema.get(keyword, ())]
            branches += [schema[keyword] for keyword in _SINGLE if keyword in schema]
            for branch in (*branches, *schema.get("dependentSchemas", {}).values()):
                _add(inner, branch, count, definition)
        counts = inner
    return applied


def _schemas_of_item(schema: _Schema, key: str | int) -> Iterator[object]:
    """Yield the schemas that may apply to an item of a value."""
    if isinstance(key, int):
        prefix = schema.get("prefixItems", ())
        if key < len(prefix):
            yield prefix[key]
        yield from (schema.get(keyword) for keyword in _ITEMS)
        return
    yield schema.get("properties", {}).get(key)
    yield from schema.get("patternProperties", {}).values()
    yield from (schema.get(keyword) for keyword in _PROPERTIES)
