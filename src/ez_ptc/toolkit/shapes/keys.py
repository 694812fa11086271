"""The keys of objects: names of fields, or values, which no shape may contain."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["MAX_NAMES", "are_names", "is_name", "is_shown"]

MAX_NAMES: Final = 100
"""The maximum names of one object."""
_NAME: Final = re.compile(r"[^\W\d][\w$-]{0,39}|[$@][^\W\d]\w{0,38}")
# Numbers of orders, dates and hashes: a long number, a number after a separator, or many digits.
_NUMBER: Final = re.compile(r"\d{4}|[_-]\d{3}")
_DIGIT: Final = re.compile(r"\d")
_DIGITS: Final = re.compile(r"\d+")
_MAX_DIGITS: Final = 8
# Words in lower case, upper case or camel case, with digits only at the end.
_PLAIN: Final = re.compile(
    r"(?:[a-z]+|[A-Z]{1,10})(?:[A-Z][a-z]+|[A-Z]{2,4}(?![a-z]))*\d{0,2}|[A-Z][a-z]+(?:[A-Z][a-z]+)*\d{0,2}"
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAX_SHOWN: Final = 30
_MAX_WORDS: Final = 3
# More keys than these that differ in a number only are a series, such as `user1`, `user2`.
_MAX_SERIES: Final = 3


def is_name(key: object) -> bool:
    """Return whether a key looks like the name of a field: no address, date, number or sentence does."""
    if type(key) is not str or not _NAME.fullmatch(key):
        return False
    return not _NUMBER.search(key) and len(_DIGIT.findall(key)) < _MAX_DIGITS


def is_shown(name: str) -> bool:
    """Return whether a name may stand in a model's texts: three plain words at most, no token."""
    parts = [segment for segment in re.split(r"[_$@-]+", name) if segment]
    words = [word for segment in parts for word in _WORDS.findall(segment)]
    return len(name) <= _MAX_SHOWN and len(words) <= _MAX_WORDS and all(map(_PLAIN.fullmatch, parts))


def are_names(keys: Collection[object]) -> bool:
    """Return whether all keys of an object look like the names of its fields."""
    if len(keys) > MAX_NAMES or not all(map(is_name, keys)):
        return False
    series = Counter(_DIGITS.sub("#", str(key)) for key in keys)
    return not any("#" in form and count > _MAX_SERIES for form, count in series.items())
