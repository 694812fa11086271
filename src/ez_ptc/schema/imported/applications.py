"""The number of schemas that a validator applies to the containers in a value.

Branches that name the same key apply several schemas to its value, and each of these as many again to the value in it:
the number doubles at each level. A validator cannot be stopped, so they are counted before it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from ez_ptc.schema.standard.references import PREFIX

__all__ = ["MULTIPLYING", "OF_ITEMS", "Applications", "Counts", "add_schema", "recursive_names", "schemas_of_item"]

_Schema = Mapping[str, Any]
# How often each schema, by its identity, applies to one value.
Counts = dict[int, tuple[_Schema, int]]

_LISTED: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else")
_PROPERTIES: Final = ("additionalProperties", "unevaluatedProperties")
_ITEMS: Final = ("items", "unevaluatedItems", "contains")
OF_ITEMS: Final = frozenset({*_PROPERTIES, *_ITEMS, "properties", "patternProperties", "prefixItems"})
MULTIPLYING: Final = frozenset(
    {*_LISTED, *_SINGLE, *_PROPERTIES[1:], *_ITEMS[1:], "dependentSchemas", "patternProperties"}
)
"""Without one of these keywords, each value has one schema."""
# Fewer levels than these cannot multiply much.
_MAX_SHALLOW: Final = 3
# A definition that leads back to itself in place is applied once more each time.
_MAX_ROUNDS: Final = 100


class Applications:
    """What a standard form applies to the containers in a value."""

    __slots__ = ("_definitions", "_form", "_recursive")

    def __init__(self, form: _Schema) -> None:
        self._form = form
        self._definitions: Mapping[str, _Schema] = form.get("$defs", {})
        self._recursive = recursive_names(self._definitions)

    def exceed(self, value: object, most: int) -> bool:
        """Return whether a validator would apply more than `most` schemas to a value and those in it."""
        level = [value]
        for _ in range(_MAX_SHALLOW):
            level = [item for container in level for _, item in _containers(container)]
        if not level:
            return False
        waiting: list[tuple[object, Counts]] = [(value, add_schema({}, self._form, 1))]
        # Most of the values in a large one have the same schemas: their number, and those with schemas of items.
        known: dict[tuple[tuple[int, int], ...], tuple[int, list[tuple[_Schema, int]]]] = {}
        while waiting:
            container, counts = waiting.pop()
            names = tuple((name, count) for name, (_, count) in counts.items())
            if names not in known:
                applied = self.apply(counts, most)
                inward = [(schema, count) for schema, count in applied if not OF_ITEMS.isdisjoint(schema)]
                known[names] = sum(count for _, count in applied), inward
            number, inward = known[names]
            most -= number
            if most < 0:
                return True
            for key, item in _containers(container):
                inner: Counts = {}
                for schema, count in inward:
                    for subschema in schemas_of_item(schema, key):
                        add_schema(inner, subschema, count)
                waiting.append((item, inner))
        return False

    def apply(self, counts: Counts, most: int) -> list[tuple[_Schema, int]]:
        """Return the schemas that apply to one value, with those in branches and references; no more than `most`."""
        applied: list[tuple[_Schema, int]] = []
        remembered: set[str] = set()
        for _ in range(_MAX_ROUNDS):
            if not counts or most < 0:
                break
            applied += counts.values()
            most -= sum(count for _, count in counts.values())
            inner: Counts = {}
            for schema, count in counts.values():
                if isinstance(reference := schema.get("$ref"), str):
                    name = reference.removeprefix(PREFIX)
                    # The validator remembers what it found out about a value by a definition that leads to itself.
                    if name not in self._recursive:
                        add_schema(inner, self._definitions.get(name), count)
                    elif name not in remembered:
                        remembered.add(name)
                        add_schema(inner, self._definitions.get(name), 1)
                branches = [branch for keyword in _LISTED for branch in schema.get(keyword, ())]
                branches += [schema[keyword] for keyword in _SINGLE if keyword in schema]
                for branch in (*branches, *schema.get("dependentSchemas", {}).values()):
                    add_schema(inner, branch, count)
            counts = inner
        return applied


def recursive_names(definitions: Mapping[str, _Schema]) -> set[str]:
    """Return the definitions that lead to themselves: the strongly connected components, by Kosaraju's algorithm."""
    forward = {
        name: [other for other in _references(schema) if other in definitions] for name, schema in definitions.items()
    }
    backward: dict[str, list[str]] = {name: [] for name in definitions}
    for name, others in forward.items():
        for other in others:
            backward[other].append(name)
    order: list[str] = []
    seen: set[str] = set()
    for name in forward:
        order += _visit(name, forward, seen)
    recursive = {name for name, others in forward.items() if name in others}
    seen = set()
    for name in reversed(order):
        component = _visit(name, backward, seen)
        if len(component) > 1:
            recursive.update(component)
    return recursive


def _visit(start: str, edges: Mapping[str, list[str]], seen: set[str]) -> list[str]:
    """Return what is reached from a name and not `seen`, each after what is reached from it; all of it is then."""
    left: list[str] = []
    waiting = [(start, False)]
    while waiting:
        name, is_left = waiting.pop()
        if is_left:
            left.append(name)
        elif name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting += [(other, False) for other in edges[name]]
    return left


def _references(schema_node: object) -> Iterator[str]:
    if isinstance(schema_node, Mapping):
        fields = cast("_Schema", schema_node)
        if isinstance(reference := fields.get("$ref"), str):
            yield reference.removeprefix(PREFIX)
        schema_node = list(fields.values())
    if isinstance(schema_node, list):
        for item in cast("list[object]", schema_node):
            yield from _references(item)


def _containers(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        items: Iterator[tuple[str | int, object]] = iter(cast("dict[str | int, object]", value).items())
    elif isinstance(value, list | tuple):
        items = enumerate(cast("list[object]", value))
    else:
        return
    yield from ((key, item) for key, item in items if isinstance(item, dict | list | tuple))


def add_schema(counts: Counts, schema: object, count: int) -> Counts:
    """Add a schema that applies so many times, and return the counts."""
    if isinstance(schema, Mapping):
        fields = cast("_Schema", schema)
        if id(fields) in counts:
            count += counts[id(fields)][1]
        counts[id(fields)] = (fields, count)
    return counts


def schemas_of_item(schema: _Schema, key: str | int) -> Iterator[object]:
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
