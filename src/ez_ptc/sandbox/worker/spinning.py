"""Spinning: polling a socket for a moment before sleeping, on both ends of a worker's connection.

Theory of operation. Waking a core takes longer than most tools run, so a reader that expects an answer soon polls for
it for some microseconds. That only costs time if both ends share a core, or if the tools are slow. So after three
misses in a row the reader sleeps at once, and tries again at every fiftieth read. A hit that comes much later than the
polling should have taken is luck, because another process had the core in between: it counts as three misses.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Spinner"]

_MAX_MISSES = 3
_READS_TO_NEXT_TRY = 50


class Spinner:
    """Polls for bytes as long as polling is successful."""

    __slots__ = ("_misses",)

    def __init__(self) -> None:
        self._misses = 0

    def poll(self, seconds: float, receive: Callable[..., bytes], *arguments: Any) -> bytes | None:
        """Return what `receive(*arguments)` returns within `seconds`, or None; BlockingIOError means not yet."""
        self._misses += 1
        if self._misses > _READS_TO_NEXT_TRY:
            self._misses = _MAX_MISSES
        if self._misses > _MAX_MISSES:
            return None
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            try:
                data = receive(*arguments)
            except BlockingIOError:
                continue
            self._misses = 0 if time.perf_counter() < until + seconds else _MAX_MISSES
            return data
        return None
