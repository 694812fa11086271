"""Values as the few characters of an error message; nothing of a value's own code runs."""

from collections.abc import Mapping
from typing import Final, cast

__all__ = ["shown", "shown_with_type"]

_WIDTH: Final = 80
_ITEMS: Final = 6
_DEPTH: Final = 3
_BITS: Final = 512
_BRACKETS: Final[Mapping[type, str]] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}"}


def shown(value: object) -> str:
    """Write a value in at most 80 characters.

    Only objects of exactly the built-in types are written out, to a small depth: a subclass may have a `__repr__` of
    its own, which a program in the sandbox or a stranger's library wrote. Anything else is the name of its type.
    """
    return _cut(_written(value, _DEPTH))


def shown_with_type(value: object) -> str:
    """Write a value after its type's name, as in `str 'many'` or `list of 3 [1, 2, 3]`; `None` stays `None`."""
    if value is None:
        return "None"
    name = _cut(type(value).__name__)
    text = shown(value)
    if type(value) in (*_BRACKETS, dict):
        return f"{name} of {len(cast('list[object]', value))} {text}"
    return name if text == f"<{name}>" else f"{name} {text}"


def _written(value: object, depth: int) -> str:
    kind = type(value)
    if kind in _BRACKETS:
        opening, closing = _BRACKETS[kind]
        return opening + _items(cast("list[object]", value), depth) + closing
    if kind is dict:
        return "{" + _pairs(cast("dict[object, object]", value), depth) + "}"
    if kind is str or kind is bytes:
        return repr(cast("str", value)[: _WIDTH + 1])
    if kind is int and cast("int", value).bit_length() > _BITS:
        return f"<an int of {cast('int', value).bit_length()} bits>"
    if value is None or kind in (bool, int, float, complex):
        return repr(value)
    return f"<{_cut(kind.__name__)}>"


def _items(values: list[object], depth: int) -> str:
    if not depth:
        return "…" if values else ""
    texts = [_written(value, depth - 1) for value, _ in zip(values, range(_ITEMS), strict=False)]
    return ", ".join([*texts, "…"] if len(values) > _ITEMS else texts)


def _pairs(values: dict[object, object], depth: int) -> str:
    if not depth:
        return "…" if values else ""
    texts = [
        f"{_written(key, 0)}: {_written(value, depth - 1)}"
        for (key, value), _ in zip(values.items(), range(_ITEMS), strict=False)
    ]
    return ", ".join([*texts, "…"] if len(values) > _ITEMS else texts)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
