"""How large a value is, before anybody looks into it."""

from itertools import chain, islice
from typing import Final, cast

__all__ = ["MAX_WRITTEN", "has_more", "is_little"]

MAX_WRITTEN: Final = 3_000
"""Plain values that are written as JSON within a few milliseconds."""

_MAX_CHECKED: Final = 300
_CHARACTERS: Final = 50
"""Characters of text that count as much as a value."""

_PLAIN: Final = frozenset({bool, float, int, type(None)})


def is_little(*values: object, most: int = _MAX_CHECKED) -> bool:
    """Whether values are plain and few; by default, so few that any check of them takes a few milliseconds at most."""
    left, level = most, [*values]
    while level:
        value = level.pop()
        kind = type(value)
        if kind is str or kind is bytes:
            left -= len(cast("str", value)) // _CHARACTERS
        elif kind is dict:
            inner = cast("dict[object, object]", value)
            level += [each for pair in islice(inner.items(), left + 1) for each in pair]
        elif kind is list or kind is tuple:
            level += cast("list[object]", value)[: left + 1]
        elif kind not in _PLAIN:
            return False
        left -= 1
        if left < 0:
            return False
    return True


def has_more(value: object, most: int) -> bool:
    """Whether a JSON value has more values in it than `most`, itself among them."""
    left, level = most, [value]
    while level:
        left -= len(level)
        if left < 0:
            return True
        dicts = [cast("dict[str, object]", each).values() for each in level if isinstance(each, dict)]
        lists = [cast("list[object]", each) for each in level if isinstance(each, list)]
        level = list(islice(chain(*dicts, *lists), left + 1))
    return False
