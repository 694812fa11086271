"""Quoting foreign text and values in our sentences: bounded, on one line, without running any code of the value.

Everything from a model, a tool or a server, and every message of a foreign library, passes through one of these
functions before it appears in a message.
"""

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Final, cast

__all__ = ["safe_line", "safe_name", "safe_names", "safe_repr", "safe_repr_with_type"]

_WIDTH: Final = 80
_ITEMS: Final = 6
_DEPTH: Final = 3
_BITS: Final = 512
_SENTENCE: Final = 200
_NAMES: Final = 40
_BRACKETS: Final[Mapping[type, str]] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}


def safe_repr(value: object) -> str:
    """Return a value's `repr` in at most 80 characters.

    Only objects of exactly the built-in types are written, to a small depth: a subclass may have its own `__repr__`,
    from a sandboxed program or a foreign library. Any other value is written as its type's name.
    """
    return _cut(_repr(value, _DEPTH))


def safe_repr_with_type(value: object) -> str:
    """Return a value after its type's name, such as `str 'many'` or `list of 3 [1, 2, 3]`; `None` stays `None`."""
    if value is None:
        return "None"
    name = _cut(type(value).__name__)
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
        opening, closing = _BRACKETS[cls]
        values = cast("Collection[object]", value)
        texts: list[str] = []
        if cls is dict and depth:
            pairs = islice(cast("dict[object, object]", value).items(), _ITEMS)
            texts = [f"{_repr(key, 0)}: {_repr(item, depth - 1)}" for key, item in pairs]
        elif depth:
            texts = [_repr(item, depth - 1) for item in islice(values, _ITEMS)]
        if len(values) > len(texts):
            texts.append("…")
        return f"{opening}{', '.join(texts)}{closing}"
    if cls is str or cls is bytes:
        return repr(cast("str", value)[: _WIDTH + 1])
    if cls is int and cast("int", value).bit_length() > _BITS:
        return f"<an int of {cast('int', value).bit_length()} bits>"
    if value is None or cls in (bool, int, float, complex):
        return repr(value)
    return f"<{_cut(cls.__name__)}>"


def _cut(text: str) -> str:
    if len(text) <= _WIDTH:
        return text
    return f"{text[: _WIDTH - 1]}…"
