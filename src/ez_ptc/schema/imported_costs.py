"""The cost of checking a value by a given JSON Schema.

A validator tries the choices of `anyOf` and `oneOf` one after the other, and so it does with the values of an `enum`
that are not plain. A schema may have thousands of them, and a call thousands of values.
"""

from collections.abc import Mapping
from typing import Final, cast

__all__ = ["MAX_CHECKS", "checks_per_value"]

MAX_CHECKS: Final = 3_000_000
"""Checks of a value against a schema that take less than 200 ms together."""

_CHOICES: Final = ("anyOf", "oneOf", "allOf")
_VALUES: Final = frozenset({"default", "enum", "const", "example", "examples"})
_PLAIN: Final = (str, int, float, bool, type(None))


def checks_per_value(schema: object) -> int:
    """Return the most schemas and values of enums that a value may be checked against; a reference counts as one."""
    if isinstance(schema, list):
        return max((checks_per_value(each) for each in cast("list[object]", schema)), default=1)
    if not isinstance(schema, dict):
        return 1
    fields = cast("dict[str, object]", schema)
    here = 1 + _enum_size(fields) + sum(_size(fields[keyword]) for keyword in _CHOICES if keyword in fields)
    inner = (checks_per_value(each) for key, each in fields.items() if key not in _VALUES and key not in _CHOICES)
    return max(here, *inner, 1)


def _size(schema: object) -> int:
    """Return how many schemas and values of enums there are in a schema, itself among them."""
    if isinstance(schema, list):
        return sum(map(_size, cast("list[object]", schema)))
    if not isinstance(schema, dict):
        return 1
    fields = cast("dict[str, object]", schema)
    return 1 + _enum_size(fields) + sum(_size(each) for key, each in fields.items() if key not in _VALUES)


def _enum_size(fields: Mapping[str, object]) -> int:
    values = fields.get("enum")
    return sum(not isinstance(each, _PLAIN) for each in cast("list[object]", values)) if isinstance(values, list) else 0
