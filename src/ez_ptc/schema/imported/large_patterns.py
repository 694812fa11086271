"""Patterns too large for long texts, in the standard form of a schema.

A check takes time in proportion to the length of a text times the size of a pattern, and nothing else of the process
runs meanwhile: with `(?:a{0,200}){0,200}`, seconds for 2,000 characters. So long texts are checked without the
large patterns; the tool's server has them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from ez_ptc.schema.standard.pattern_sizes import expanded_size

__all__ = ["are_long", "largest_pattern", "without_large_patterns"]

_Schema = Mapping[str, Any]
# Smaller patterns are never left out.
_MAX_PARTS: Final = 100
# Of texts and a pattern, together less than a second.
_MAX_STEPS: Final = 4_000_000
_VALUES: Final = frozenset({"const", "default", "enum", "examples"})
_RULES_FOR_OTHERS: Final = frozenset({"additionalProperties", "unevaluatedProperties", "patternProperties"})


def largest_pattern(form: object) -> int:
    """Return the size of the largest pattern in a schema, or 0 if all are small."""
    sizes = map(expanded_size, _patterns(form))
    return max((size for size in sizes if size > _MAX_PARTS), default=0)


def _patterns(part: object) -> Iterator[str]:
    if isinstance(part, list):
        for item in cast("list[object]", part):
            yield from _patterns(item)
    if isinstance(part, Mapping):
        for key, item in cast("_Schema", part).items():
            if key == "pattern" and isinstance(item, str):
                yield item
            elif key == "patternProperties" and isinstance(item, Mapping):
                yield from cast("_Schema", item)
            if key not in _VALUES or isinstance(item, Mapping):
                yield from _patterns(cast("object", item))


def without_large_patterns(form: _Schema) -> dict[str, Any]:
    """Return a schema without its large patterns, and without the rules for keys depending on them."""
    return cast("dict[str, Any]", _without(form))


def _without(part: object) -> object:
    if isinstance(part, list):
        return [_without(item) for item in cast("list[object]", part)]
    if not isinstance(part, Mapping):
        return part
    fields = cast("_Schema", part)
    by_pattern = fields.get("patternProperties")
    is_large = isinstance(by_pattern, Mapping) and any(map(_is_large, cast("_Schema", by_pattern)))
    return {
        key: item if key in _VALUES and type(item) is not dict else _without(cast("object", item))
        for key, item in fields.items()
        if not (key == "pattern" and type(item) is str and _is_large(item))
        and not (is_large and key in _RULES_FOR_OTHERS)
    }


def _is_large(pattern: str) -> bool:
    return expanded_size(pattern) > _MAX_PARTS


def are_long(value: object, pattern_size: int) -> bool:
    """Return whether the texts of a JSON value are too long for patterns of this size."""
    steps_left, waiting = _MAX_STEPS, [value]
    while waiting and steps_left >= 0:
        item = waiting.pop()
        if isinstance(item, str):
            steps_left -= len(item) * pattern_size
        elif isinstance(item, dict):
            waiting += [inner for pair in cast("dict[object, object]", item).items() for inner in pair]
        elif isinstance(item, list):
            waiting += cast("list[object]", item)
    return steps_left < 0
