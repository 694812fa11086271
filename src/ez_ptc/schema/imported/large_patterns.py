r"""The work that the patterns of a schema, in the standard form, have with a value.

A check takes time in proportion to the length of a text times the size of its patterns, and nothing else of the
process runs meanwhile: with `(?:a{0,200}){0,200}`, seconds for 2,000 characters; with `\p{L}{1,96}`, for 200,000. A
validator cannot be stopped, so the steps are counted before it begins. A value with too many is checked without
patterns; the tool's server has them, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from ez_ptc.schema.imported.applications import (
    OF_ITEMS,
    Applications,
    Counts,
    add_schema,
    recursive_names,
    schemas_of_item,
)
from ez_ptc.schema.imported.costs import MAX_CHECKS, has_keyword
from ez_ptc.schema.standard.pattern_sizes import expanded_size
from ez_ptc.schema.standard.references import PREFIX

__all__ = ["PATTERNS", "PatternSteps", "without_patterns"]

_Schema = Mapping[str, Any]
PATTERNS: Final = frozenset({"pattern", "patternProperties"})
# Of characters and parts of patterns: less than a second by the most costly ones, at 115 ns for Unicode's letters.
_MAX_STEPS: Final = 4_000_000
# Counting takes time, too.
_STEPS_OF_A_VALUE: Final = 20
_BY_NAME: Final = frozenset({"properties", "$defs", "dependentSchemas"})
_VALUES: Final = frozenset({"const", "default", "enum", "examples"})
# Fewer rules within these may refuse more values. The first keyword of each group decides about the others.
_REVERSING: Final = (("not",), ("if", "then", "else"), ("contains", "minContains", "maxContains"))
_LEFT_OUT: Final = ("pattern", "unevaluatedProperties", "unevaluatedItems")


@dataclass(frozen=True, slots=True)
class _Applied:
    """The patterns for one value, as parts for each character of it and of its keys, and the schemas of its items."""

    text: int
    keys: int
    inward: list[tuple[_Schema, int]]


class PatternSteps:
    """Counts the steps of the patterns in a standard form."""

    __slots__ = ("_applications", "_form", "_parts_in_all")

    def __init__(self, form: _Schema) -> None:
        self._form = form
        self._applications = Applications(form)
        # As if all patterns applied to all texts; None if a definition leads to itself, since there is no limit then.
        self._parts_in_all: int | None = None
        if not recursive_names(form.get("$defs", {})):
            self._parts_in_all = _Sizes(form).parts_in(form)

    def exceed(self, value: object) -> bool:
        """Return whether the patterns would take long with a value and those in it."""
        if self._parts_in_all is not None and not _exceed_by_length(value, self._parts_in_all):
            return False
        steps_left = _MAX_STEPS
        waiting: list[tuple[object, Counts]] = [(value, add_schema({}, self._form, 1))]
        known: dict[tuple[tuple[int, int], ...], _Applied] = {}
        while waiting and steps_left >= 0:
            item, counts = waiting.pop()
            names = tuple((name, count) for name, (_, count) in counts.items())
            if names not in known:
                known[names] = self._apply(counts)
            applied = known[names]
            if isinstance(item, str):
                steps_left -= len(item) * applied.text
            elif isinstance(item, dict | list | tuple):
                inner = cast("dict[str, object] | list[object]", item)
                steps_left -= len(inner) * _STEPS_OF_A_VALUE
                if isinstance(inner, dict):
                    keys = cast("Iterable[object]", inner)  # which the validator refuses if they are no text
                    steps_left -= sum(len(key) for key in keys if isinstance(key, str)) * applied.keys
                if steps_left >= 0 and applied.inward:
                    waiting += _inner_values(inner, applied.inward)
        return steps_left < 0

    def _apply(self, counts: Counts) -> _Applied:
        applied = self._applications.apply(counts, MAX_CHECKS)
        keys = 0
        for schema, count in applied:
            keys += count * sum(map(expanded_size, schema.get("patternProperties", ())))
            names = self._applications.apply(add_schema({}, schema.get("propertyNames"), count), MAX_CHECKS)
            keys += _parts_of_patterns(names)
        inward = [(schema, count) for schema, count in applied if not OF_ITEMS.isdisjoint(schema)]
        return _Applied(_parts_of_patterns(applied), keys, inward)


class _Sizes:
    """The sizes of all patterns in definitions that do not lead to themselves."""

    def __init__(self, form: _Schema) -> None:
        self._definitions: _Schema = form.get("$defs", {})
        self._sizes: dict[str, int] = {}

    def parts_in(self, part: object) -> int:
        """Return the parts of all patterns in a schema, and in its definitions as often as it refers to them."""
        if isinstance(part, list):
            return sum(map(self.parts_in, cast("list[object]", part)))
        if not isinstance(part, Mapping):
            return 0
        fields = cast("_Schema", part)
        pattern, by_pattern = fields.get("pattern"), fields.get("patternProperties")
        size = expanded_size(pattern) if isinstance(pattern, str) else 0
        size += sum(map(expanded_size, cast("_Schema", by_pattern))) if isinstance(by_pattern, Mapping) else 0
        if isinstance(reference := fields.get("$ref"), str):
            name = reference.removeprefix(PREFIX)
            if name not in self._sizes:
                self._sizes[name] = self.parts_in(self._definitions.get(name))
            size += self._sizes[name]
        return size + sum(self.parts_in(item) for key, item in fields.items() if key != "$defs")


def _exceed_by_length(value: object, parts: int) -> bool:
    """Return whether the texts of a value would take long with patterns of so many parts."""
    steps_left, waiting = _MAX_STEPS, [value]
    while waiting and steps_left >= 0:
        item = waiting.pop()
        if isinstance(item, str):
            steps_left -= len(item) * parts
        elif isinstance(item, dict | list | tuple):
            inner = cast("dict[str, object] | list[object]", item)
            steps_left -= len(inner)
            if steps_left >= 0:
                waiting += inner
                waiting += inner.values() if isinstance(inner, dict) else ()
    return steps_left < 0


def _parts_of_patterns(schemas: Iterable[tuple[_Schema, int]]) -> int:
    return sum(count * expanded_size(schema["pattern"]) for schema, count in schemas if "pattern" in schema)


def _inner_values(
    container: dict[str, object] | list[object], schemas: list[tuple[_Schema, int]]
) -> Iterable[tuple[object, Counts]]:
    items: Iterable[tuple[str | int, object]] = enumerate(container)
    if isinstance(container, dict):
        items = container.items()
    for key, item in items:
        counts: Counts = {}
        for schema, count in schemas:
            for inner in schemas_of_item(schema, key):
                add_schema(counts, inner, count)
        if counts:
            yield item, counts


def without_patterns(form: _Schema) -> dict[str, Any]:
    """Return a schema that every valid value fits, too, without its patterns and the rules depending on them."""
    return cast("dict[str, Any]", _without(form))


def _without(schema: object) -> object:
    if isinstance(schema, list):
        return [_without(item) for item in cast("list[object]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    rest = {key: item for key, item in cast("_Schema", schema).items() if key not in _LEFT_OUT}
    for first, *others in _REVERSING:
        if first in rest and _loses_rules(rest[first]):
            for keyword in (first, *others):
                rest.pop(keyword, None)
    if rest.pop("patternProperties", None) is not None:
        rest.pop("additionalProperties", None)
    if "oneOf" in rest and _loses_rules(rest["oneOf"]):
        rest["allOf"] = [*rest.get("allOf", ()), {"anyOf": rest.pop("oneOf")}]
    return {key: _without_within(key, item) for key, item in rest.items()}


def _without_within(keyword: str, item: object) -> object:
    if keyword in _VALUES:
        return item
    if keyword in _BY_NAME:
        return {name: _without(inner) for name, inner in cast("_Schema", item).items()}
    return _without(item)


def _loses_rules(schema: object) -> bool:
    return has_keyword(schema, PATTERNS.union(_LEFT_OUT, ("$ref",)))
