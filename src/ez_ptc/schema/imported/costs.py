"""The cost of checking a value against a given JSON Schema.

A validator checks one value against every schema applied to it in place, such as the choices of `anyOf` and `oneOf`,
and against each compound value of an `enum`. A schema may have thousands of them, and a call thousands of values.
"""

from collections.abc import Iterator, Mapping
from typing import Final, cast

__all__ = ["MAX_CHECKS", "checks_per_value", "has_keyword"]

# Checks of a value against a schema that take less than 200 ms together.
MAX_CHECKS: Final = 3_000_000

# Keywords whose schemas may all be tried on one value (the last: on one value in it).
_IN_PLACE: Final = frozenset(
    {"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "patternProperties"}
)
_VALUES: Final = frozenset({"default", "enum", "const", "example", "examples"})
_PLAIN: Final = (str, int, float, bool, type(None))
_Fields = Mapping[str, object]


def checks_per_value(schema: object) -> int:
    """Return the maximum number of schemas and enum values a value may be checked against.

    A reference counts as one.
    """
    if isinstance(schema, list):
        return max((checks_per_value(item) for item in cast("list[object]", schema)), default=1)
    if not isinstance(schema, dict):
        return 1
    fields = cast("_Fields", schema)
    here = 1 + _enum_size(fields) + sum(_size(field) for key, field in fields.items() if key in _IN_PLACE)
    return max(here, *(checks_per_value(item) for key, item in _parts(fields) if key not in _IN_PLACE), 1)


def _size(schema: object) -> int:
    """Return the number of schemas and enum values in a schema, itself included."""
    if isinstance(schema, list):
        return sum(map(_size, cast("list[object]", schema)))
    if not isinstance(schema, dict):
        return int(isinstance(schema, bool))  # also a schema
    fields = cast("_Fields", schema)
    return 1 + _enum_size(fields) + sum(_size(item) for _, item in _parts(fields))


def _parts(fields: _Fields) -> Iterator[tuple[str, object]]:
    # A dict under a key like `default` may be the schema of a property of that name.
    return ((key, fields[key]) for key in fields if key not in _VALUES or isinstance(fields[key], dict))


def _enum_size(fields: _Fields) -> int:
    values = fields.get("enum")
    if isinstance(values, list):
        return sum(not isinstance(value, _PLAIN) for value in cast("list[object]", values))
    return 0


def has_keyword(part: object, keywords: frozenset[str]) -> bool:
    """Return whether a schema, or a schema or value in it, has one of some keywords."""
    if isinstance(part, list):
        return any(has_keyword(item, keywords) for item in cast("list[object]", part))
    if not isinstance(part, dict):
        return False
    fields = cast("_Fields", part)
    return not keywords.isdisjoint(fields) or any(has_keyword(field, keywords) for field in fields.values())
