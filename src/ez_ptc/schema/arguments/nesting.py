"""Measuring the nesting of JSON text before it is parsed."""

from array import array
from itertools import accumulate
from typing import Final

__all__ = ["MISSED_LEVELS", "is_nested_deeper"]

_NEITHER: Final = bytes(set(range(256)) - set(b'"[]{}'))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_MAX_QUOTES: Final = 2_000_000
_PASSES: Final = 2
MISSED_LEVELS: Final = 2 * _PASSES
"""The most levels by which `is_nested_deeper` may find a text too shallow."""


def is_nested_deeper(data: bytes, most: int) -> bool:
    """Return whether brackets in JSON text are nested deeper than `most`, or it has too many strings to inspect.

    The result may miss up to `MISSED_LEVELS`. For invalid JSON, it is about the text before the mistake.

    CPython's parser needs 2 MB of stack to follow brackets to its own limit. A thread may have less, above all with
    musl, and then hostile text would kill the process.
    """
    if data.count(b"[") + data.count(b"{") <= most:
        return False
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    # Two adjacent quotes do not change whether the rest is in a string.
    quotes = data.translate(None, _NEITHER).replace(b'""', b"")
    if quotes.count(b'"') > _MAX_QUOTES:
        return True
    brackets = b"".join(quotes.split(b'"')[::2])
    for pair in (b"[]", b"{}") * _PASSES:
        brackets = brackets.replace(pair, b"")
    return max(accumulate(array("b", brackets.translate(_STEPS))), default=0) > most
