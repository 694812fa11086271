"""Quoting foreign text in our sentences: identifiers bare, everything else quoted, on one line and bounded.

Keys, values and names come from third parties through tools, and none may pass for a sentence of ours. Longer text,
such as an exception's, is indented: only our own text begins a line.
"""

from __future__ import annotations

import difflib
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, cast
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "MAX_LINE",
    "MAX_QUOTED",
    "indent_rest",
    "item_text",
    "literal",
    "name_list",
    "name_text",
    "on_one_line",
    "quoted",
]

# The maximum characters of a line of ours with foreign text in it.
MAX_LINE = 300
# The maximum characters of a quoted value, without its quotes.
MAX_QUOTED = 60
_MAX_NAMES = 40
_MAX_LIST = 1_000
# The maximum number of names compared with a wanted one, since comparing takes the program's time.
_MAX_COMPARED = 1_000
_MAX_BITS = 512
_FENCES = ("```", "~~~")
_MARGIN = "    "
# Exact types only: a subclass may have its own `__repr__`, which must not run.
_PLAIN = frozenset({bool, type(None), float, complex, date, datetime, time, timedelta, UUID, Decimal})
_CLASS_NAME = vars(type)["__name__"].__get__


def quoted(value: object) -> str:
    """Return the `repr` of a value, cut to 60 characters between its quotes.

    No code of the value runs: a value of another than the built-in types is written as its class name.
    """
    cls = type(value)
    if issubclass(cls, str):
        return _cut(literal(str.__getitem__(cast("str", value), slice(MAX_QUOTED + 1))))
    if cls is bytes:
        return _cut(repr(cast("bytes", value)[: MAX_QUOTED + 1]))
    if cls is int and cast("int", value).bit_length() <= _MAX_BITS:
        return _cut(repr(value))
    if cls is tuple:
        return _cut(f"({', '.join(map(quoted, islice(cast('tuple[object, ...]', value), 5)))})")
    if cls in _PLAIN:
        return _cut(repr(value))
    return f"<{name_text(_CLASS_NAME(cls))}>"


def literal(text: str) -> str:
    """Return text as a complete Python literal: on one line, printable, and without anything that ends a code block."""
    return _without_fences(repr(str.__str__(text)))


def item_text(of: str, key: str) -> str:
    """Return an expression that reads a key: `row["city"]`."""
    if key.isidentifier():
        return f'{of}["{key}"]'
    return f"{of}[{literal(key)}]"


def name_text(name: object) -> str:
    """Return a name for a sentence: bare if it is an identifier, quoted otherwise."""
    if type(name) is str and len(name) <= MAX_QUOTED and name.isidentifier():
        return name
    return quoted(name)


def name_list(names: Iterable[object], wanted: object = "") -> str:
    """Return names separated by commas, those similar to `wanted` first, and the number of those left out."""
    ordered = list(names)
    if type(wanted) is str and wanted:
        texts = [name for name in ordered[:_MAX_COMPARED] if type(name) is str and len(name) <= MAX_QUOTED]
        near = difflib.get_close_matches(wanted[:MAX_QUOTED], texts, n=3, cutoff=0.5)
        ordered = [*near, *(name for name in ordered if type(name) is not str or name not in near)]
    listed, length = list[str](), 0
    for name in ordered[:_MAX_NAMES]:
        listed.append(name_text(name))
        length += len(listed[-1])
        if length > _MAX_LIST:
            break
    more = len(ordered) - len(listed)
    if more:
        return f"{', '.join(listed)}, and {more} more"
    return ", ".join(listed)


def on_one_line(text: str, most: int | None = None) -> str:
    """Return text of ours with foreign text in it, such as a signature, on one line and cut to `most` characters."""
    text = _without_fences(text if most is None else text[: most + 1])
    if not text.isprintable():
        text = "".join([item if item.isprintable() else repr(item)[1:-1] for item in text])
    if most is None or len(text) <= most:
        return text
    return f"{text[:most]}…"


def indent_rest(text: str) -> str:
    """Return text with all lines except the first indented, whatever the line ends."""
    return f"\n{_MARGIN}".join(str.splitlines(text))


def _without_fences(text: str) -> str:
    """Return text with its fences escaped as in a string, since they would end the block around it."""
    for fence in _FENCES if "```" in text or "~~~" in text else ():
        text = text.replace(fence, f"\\x{ord(fence[0]):x}" * len(fence))
    return text


def _cut(written: str) -> str:
    """Return a literal cut to slightly more than a name's length, with its closing quote."""
    most = MAX_QUOTED + 2
    if len(written) <= most:
        return written
    return f"{written[:MAX_QUOTED]}…{written[-1]}"
