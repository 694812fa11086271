"""Estimating the size of a value before it is inspected."""

from collections import deque
from itertools import chain, islice
from operator import is_
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["MAX_WRITTEN", "are_scalars", "has_more", "is_little", "json_containers"]

# Plain values that can be written as JSON within a few milliseconds.
MAX_WRITTEN: Final = 3_000

_MAX_CHECKED: Final = 300
# Characters of text that count like one value.
_CHARACTERS: Final = 50
# Far more than JSON may have: a circular value has no last level.
_MAX_LEVELS: Final = 1_000

# Of values whose size and form are evident.
_MAX_SCALARS: Final = 20
_MAX_TEXT: Final = 500
_MAX_NUMBER: Final = 2**53

_PLAIN: Final = frozenset({bool, float, int, type(None)})


def are_scalars(values: "Collection[object]") -> bool:
    """Return whether values are a few short texts, flags and numbers that JSON can carry, as most arguments are."""
    if len(values) > _MAX_SCALARS:
        return False
    for value in values:
        cls = type(value)
        if cls is str:
            if len(cast("str", value)) > _MAX_TEXT:
                return False
        elif cls is int or cls is float:
            # Not a number, and infinity, are not JSON's; nor do all parsers take longer integers.
            if not -_MAX_NUMBER < cast("float", value) < _MAX_NUMBER:
                return False
        elif cls is not bool and value is not None:
            return False
    return True


def is_little(*values: object, most: int = _MAX_CHECKED) -> bool:
    """Return whether values are plain and few; by default, so few that any check takes milliseconds at most."""
    count_left, level = most, [*values]
    while level:
        value = level.pop()
        cls = type(value)
        if cls is str or cls is bytes:
            count_left -= len(cast("str", value)) // _CHARACTERS
        elif cls is dict:
            inner = cast("dict[object, object]", value)
            level += [item for pair in islice(inner.items(), count_left + 1) for item in pair]
        elif cls is list or cls is tuple:
            level += cast("list[object]", value)[: count_left + 1]
        elif cls not in _PLAIN:
            return False
        count_left -= 1
        if count_left < 0:
            return False
    return True


def has_more(value: object, most: int) -> bool:
    """Return whether a JSON value has more than `most` values in it, itself included; a circular one has."""
    count_left, level = most, [value]
    for _ in range(_MAX_LEVELS):
        if not level:
            return False
        count_left -= len(level)
        if count_left < 0:
            return True
        dicts = [cast("dict[str, object]", item).values() for item in level if isinstance(item, dict)]
        lists = [cast("list[object]", item) for item in level if isinstance(item, list)]
        level = list(islice(chain(*dicts, *lists), count_left + 1))
    return True


def json_containers(value: object, levels: int) -> object:
    """Return a value with JSON's containers: a named tuple becomes a dict, a range or deque a list.

    A value without others is not copied. Values deeper than `levels` stay unchanged.
    """
    cls, deeper = type(value), levels - 1
    if deeper < 0:
        return value
    if cls is dict:
        fields = cast("dict[object, object]", value)
        changed = {key: new for key, field in fields.items() if (new := json_containers(field, deeper)) is not field}
        return fields | changed if changed else fields
    if cls is list or cls is tuple:
        items = cast("list[object]", value)
        converted = [json_containers(item, deeper) for item in items]
        return value if all(map(is_, converted, items)) else converted
    if cls is range or cls is deque:
        return [json_containers(item, deeper) for item in cast("Iterable[object]", value)]
    if issubclass(cls, tuple) and hasattr(value, "_asdict"):
        return json_containers(cast("Any", value)._asdict(), deeper)
    return value
