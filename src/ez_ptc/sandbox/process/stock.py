"""How many workers are kept ready: more while more are asked for, and fewer again after a while."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from ez_ptc.sandbox.process.workers.gone import ZygoteGoneError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc._sync import Threads
    from ez_ptc.sandbox.process.workers.closing import Closing
    from ez_ptc.sandbox.process.zygote import ZygoteProcess

__all__ = ["Stock"]

_MAX_READY = 16
_CALM_SECONDS = 2.0
"""After so long without a queue, half of the workers that were kept ready for it are let go."""


class Stock:
    """The workers of one pool that nobody has taken. As in the pool, nobody waits for a lock here."""

    def __init__(self, ready: int, threads: Threads, closing: Closing) -> None:
        """Keep so many ready at the least, and wait in `threads` for the time after which there are no more again."""
        self._ready = ready
        self._threads = threads
        self._closing = closing
        self._wanted = ready
        self._busy_at = 0.0
        self._is_shrinking = False

    def grow(self, waiting: int, find_zygote: Callable[[], ZygoteProcess | None]) -> None:
        """Keep more ready from now on, because so many callers had to wait; fewer again when nobody has for a while."""
        self._busy_at = time.monotonic()
        self._wanted = min(max(self._wanted, waiting + self._ready), max(_MAX_READY, self._ready))
        if self._wanted > self._ready and not self._is_shrinking:
            self._is_shrinking = True
            try:
                self._threads.start(lambda: self._shrink(find_zygote))
            except RuntimeError:
                # Where no thread can be started, they stay.
                self._is_shrinking = False

    def refill(self, zygote: ZygoteProcess) -> None:
        """Order as many as should be ready; does not wait for them. Raises ZygoteGoneError."""
        missing = self._missing(zygote)
        # Several at one go: the zygote is woken up less often.
        if missing > self._wanted // 4:
            # Few left: they are needed sooner than a rehearsal takes.
            zygote.order(missing, hurry=2 * missing > self._wanted)

    def cool_down(self, zygote: ZygoteProcess) -> None:
        """Let go of all beyond the least; return when as many are ready, and none is on its way.

        Raises:
            ZygoteGoneError: There is none any more.
        """
        self._wanted = self._ready
        while not zygote.refusals:
            zygote.receive()
            for worker in (*zygote.take_spare(self._wanted), *zygote.take_ended()):
                worker.close()
            missing = self._missing(zygote)
            if missing > 0:
                zygote.order(missing, hurry=False)
            elif not zygote.ordered:
                return
            zygote.wait()

    def _missing(self, zygote: ZygoteProcess) -> int:
        return self._wanted - zygote.ready - zygote.ordered

    def _shrink(self, find_zygote: Callable[[], ZygoteProcess | None]) -> None:
        while not self._closing.wait(_CALM_SECONDS):
            if time.monotonic() - self._busy_at < _CALM_SECONDS:
                continue
            self._wanted = max(self._ready, self._wanted // 2)
            zygote = find_zygote()
            if zygote is not None:
                # Where it is gone, whoever needs a worker finds out.
                with contextlib.suppress(ZygoteGoneError):
                    zygote.receive()
                for worker in zygote.take_spare(self._wanted):
                    worker.close()
            if self._wanted <= self._ready:
                self._is_shrinking = False
                return
