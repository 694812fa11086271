"""How large a value is, before anybody looks into it."""

from itertools import islice
from typing import Final, cast

__all__ = ["is_little"]

_LITTLE: Final = 300
_CHARACTERS: Final = 50
"""Characters of text that count as much as a value."""

_PLAIN: Final = frozenset({bool, float, int, type(None)})


def is_little(*values: object) -> bool:
    """Whether values are plain ones, and so few that checking them in any way takes a few milliseconds at most."""
    left, level = _LITTLE, [*values]
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
