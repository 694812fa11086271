"""The stock of ready workers: it grows with demand, and shrinks again after a while."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from ez_ptc.sandbox.host.workers.gone import ZygoteGoneError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc._sync import Threads
    from ez_ptc.sandbox.host.boot.maker import WorkerMaker
    from ez_ptc.sandbox.host.workers.closing import Closing

__all__ = ["Stock"]

_MAX_READY = 16
# Seconds without a queue after which half of the additional workers are ended.
_CALM_SECONDS = 2.0


class Stock:
    """The ready workers of one pool. As in the pool, no code here waits for a lock."""

    def __init__(self, ready: int, threads: Threads, closing: Closing) -> None:
        """Keep at least `ready` workers. `threads` run the timer that shrinks the stock."""
        self._ready = ready
        self._threads = threads
        self._closing = closing
        self.wanted = ready
        """How many workers should be ready."""
        self._busy_at = 0.0
        self._is_shrinking = False

    def grow(self, waiting: int, find_zygote: Callable[[], WorkerMaker | None]) -> None:
        """Keep more workers ready, because callers had to wait; shrink again when no one has waited for a while."""
        self._busy_at = time.monotonic()
        self.wanted = min(max(self.wanted, waiting + self._ready), max(_MAX_READY, self._ready))
        if self.wanted > self._ready and not self._is_shrinking:
            self._is_shrinking = True
            try:
                self._threads.start(lambda: self._shrink(find_zygote))
            except RuntimeError:
                # No thread can be started, so the stock stays large.
                self._is_shrinking = False

    def refill(self, zygote: WorkerMaker) -> None:
        """Order the workers that should be ready, without waiting for them, or prepare them. Raises ZygoteGoneError."""
        zygote.ready.keep(self._ready)
        zygote.ready.end_guesses()
        missing = self._missing(zygote)
        # Several at a time, to wake the zygote less often; but there should be one for any program.
        if missing > self.wanted // 4 or (missing > 0 and not zygote.ready.blank):
            zygote.order(missing)
        # While workers are made, there is no time to prepare others.
        if not zygote.ordered:
            zygote.ready.make_checker()
            zygote.ready.prepare()

    def cool_down(self, zygote: WorkerMaker) -> None:
        """End the workers in excess of the minimum; return when that many are ready and none is on its way.

        Raises:
            ZygoteGoneError: The zygote has ended.
        """
        self.wanted = self._ready
        zygote.ready.checkers.clear()
        while not zygote.refusals:
            zygote.receive()
            for worker in zygote.ready.take_spare(self.wanted):
                worker.close()
            zygote.ready.close_ended()
            if zygote.ready.kept is not None:
                zygote.ready.kept.shrink(self.wanted)
            missing = self._missing(zygote)
            if missing > 0:
                zygote.order(missing)
            elif not (zygote.ordered or zygote.ready.expected):
                return
            zygote.wait()

    def _missing(self, zygote: WorkerMaker) -> int:
        wanted = self.wanted
        if wanted and zygote.ready.kept is not None and zygote.ready.kept.is_used:
            # For programs with other tools.
            wanted = 1
        return wanted - len(zygote.ready) - zygote.ordered

    def _shrink(self, find_zygote: Callable[[], WorkerMaker | None]) -> None:
        while not self._closing.wait(_CALM_SECONDS):
            if time.monotonic() - self._busy_at < _CALM_SECONDS:
                continue
            self.wanted = max(self._ready, self.wanted // 2)
            zygote = find_zygote()
            if zygote is not None:
                # If the zygote is gone, the next caller that needs a worker notices.
                with contextlib.suppress(ZygoteGoneError):
                    zygote.receive()
                for worker in zygote.ready.take_spare(self.wanted):
                    worker.close()
                zygote.ready.checkers.shrink()
                if zygote.ready.kept is not None:
                    zygote.ready.kept.shrink(self.wanted)
            if self.wanted <= self._ready:
                self._is_shrinking = False
                return
