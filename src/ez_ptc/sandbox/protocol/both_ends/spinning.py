"""Spinning: polling a socket for a moment before sleeping, on both ends of a worker's connection.

Theory of operation. Waking a sleeping process on another core takes longer than most tools run, and it finds cold
caches. So a reader that expects an answer soon polls for it, and lets other processes run between two looks: if both
ends share a core, the sender gets it. Polling only costs time if the answers are slow, or if other processes want the
cores. So each failure doubles the number of reads before the next try, and a success forgets the failures. A success
that comes much later than the polling should have taken is luck, because another process had the core in between: it
counts as a failure.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Spinner"]

_MAX_FAILURES: Final = 6
# Only Linux spins, but other systems import this module.
_let_others_run: Callable[[], object] = vars(os).get("sched_yield", time.perf_counter)


class Spinner:
    """Polls for something to read as long as polling is successful."""

    __slots__ = ("_failures", "_reads_to_next_try")

    def __init__(self) -> None:
        self._failures = 0
        self._reads_to_next_try = 0

    def wait(self, seconds: float, poll: Callable[[int], object]) -> None:
        """Return when `poll(0)` is true, after `seconds`, or at once."""
        if self._reads_to_next_try:
            self._reads_to_next_try -= 1
            return
        now, until = 0.0, time.perf_counter() + seconds
        while now < until:
            if poll(0):
                if time.perf_counter() < until + seconds:
                    self._failures = 0
                    return
                break
            _let_others_run()
            now = time.perf_counter()
        self._failures = min(self._failures + 1, _MAX_FAILURES)
        self._reads_to_next_try = (1 << self._failures) - 1
