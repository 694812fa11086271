"""How deeply JSON text is nested, before a parser follows it."""

from array import array
from itertools import accumulate
from typing import Final

__all__ = ["is_nested_deeper"]

_NEITHER: Final = bytes(set(range(256)) - set(b'"[]{}'))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_MOST_QUOTES: Final = 2_000_000
_PASSES: Final = 2


def is_nested_deeper(data: bytes, most: int) -> bool:
    """Return whether brackets in JSON text are nested deeper than `most`, or it has more texts than can be looked at.

    It errs by up to 4 levels, on the side of no. Where the text is no JSON, it holds for what comes before the mistake.

    CPython's own parser follows brackets as far as it may, for which it needs 2 MB of stack. A thread may have less,
    above all where the C library is musl, and then whoever sends the text would end the process.
    """
    if data.count(b"[") + data.count(b"{") <= most:
        return False
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    # Two quotes beside each other change nothing: what follows is as much in a text, or not, as without them.
    quotes = data.translate(None, _NEITHER).replace(b'""', b"")
    if quotes.count(b'"') > _MOST_QUOTES:
        return True
    brackets = b"".join(quotes.split(b'"')[::2])
    for pair in (b"[]", b"{}") * _PASSES:
        brackets = brackets.replace(pair, b"")
    return max(accumulate(array("b", brackets.translate(_STEPS))), default=0) > most
