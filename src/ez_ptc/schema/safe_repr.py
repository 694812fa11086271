"""Quoting foreign text and values in our sentences: bounded, on one line, without running any code of the value.

Everything from a model, a tool or a server, and every message of a foreign library, passes through one of these
functions before it appears in a message.
"""

from collections.abc import Collection, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import islice
from types import NoneType
from typing import Any, Final, cast
from uuid import UUID
from zoneinfo import ZoneInfo

__all__ = ["safe_line", "safe_name", "safe_names", "safe_repr", "safe_repr_with_type"]

_WIDTH: Final = 80
_ITEMS: Final = 6
_DEPTH: Final = 3
_BITS: Final = 512
_SENTENCE: Final = 200
_NAMES: Final = 40
_BRACKETS: Final[Mapping[type, tuple[str, str]]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}
# Classes of the standard library, written in Python, whose values a program makes as literals are made.
_STANDARD: Final = frozenset({date, datetime, Decimal, time, timedelta, UUID})
_NUMBERS: Final = frozenset({NoneType, bool, int, float, complex})
_ZONES: Final = frozenset({NoneType, timezone, ZoneInfo})


def safe_repr(value: object) -> str:
    """Return a value's `repr` in at most 80 characters.

    Only objects of exactly the built-in types, and of dates, times, decimals and UUIDs, are written, to a small depth:
    a subclass may have its own `__repr__`, from a sandboxed program or a foreign library. Any other value is written as
    its type's name.
    """
    return _cut(_repr(value, _DEPTH))


def safe_repr_with_type(value: object) -> str:
    """Return a value after its type's name, such as `str 'many'` or `list of 3 [1, 2, 3]`; `None` stays `None`."""
    if value is None:
        return "None"
    name = _cut(type(value).__name__)
    if type(value) in _STANDARD:
        return name
    text = safe_repr(value)
    if type(value) in _BRACKETS:
        return f"{name} of {len(cast('list[object]', value))} {text}"
    if text == f"<{name}>":
        return name
    return f"{name} {text}"


def safe_name(name: object) -> str:
    """Return a name unchanged if it is an identifier of moderate length, and else as `safe_repr` does."""
    if type(name) is str and name.isidentifier() and len(name) <= _WIDTH:
        return name
    return safe_repr(name)


def safe_names(names: Collection[object]) -> str:
    """Return the first 40 of some names, and the number of the rest."""
    texts = [safe_name(name) for name in islice(names, _NAMES)]
    more = len(names) - len(texts)
    return ", ".join(texts) + (f", and {more} more" if more else "")


def safe_line(text: str, most: int = _SENTENCE) -> str:
    """Return foreign text on one line, in at most `most` characters, without invisible ones."""
    text = text if len(text) <= most else f"{text[: most - 1]}…"
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def _repr(value: object, depth: int) -> str:
    cls = type(value)
    if cls in _BRACKETS:
        return _container_repr(cast("Collection[object]", value), depth)
    if cls is str or cls is bytes:
        return repr(cast("str", value)[: _WIDTH + 1])
    if cls is int and cast("int", value).bit_length() > _BITS:
        return f"<an int of {cast('int', value).bit_length()} bits>"
    # A zone of another class may have its own `__repr__`.
    is_plain = cls in _STANDARD and type(getattr(cast("Any", value), "tzinfo", None)) in _ZONES
    if is_plain or cls in _NUMBERS:
        return repr(value)
    return f"<{_cut(cls.__name__)}>"


def _container_repr(values: Collection[object], depth: int) -> str:
    cls = type(values)
    opening, closing = _BRACKETS[cls]
    texts: list[str] = []
    if cls is dict and depth:
        pairs = islice(cast("dict[object, object]", values).items(), _ITEMS)
        texts = [f"{_repr(key, 0)}: {_repr(item, depth - 1)}" for key, item in pairs]
    elif depth:
        texts = [_repr(item, depth - 1) for item in islice(values, _ITEMS)]
    if len(values) > len(texts):
        texts.append("…")
    if cls is tuple and len(values) == 1:
        closing = ",)"
    elif not values and cls in (set, frozenset):
        opening, closing = cls.__name__, "()"
    return f"{opening}{', '.join(texts)}{closing}"


def _cut(text: str) -> str:
    if len(text) <= _WIDTH:
        return text
    return f"{text[: _WIDTH - 1]}…"
