"""The stock of ready workers: it grows with demand, and shrinks again after a while.

Theory of operation. How many workers should be ready is a number. Whether a thread is about to lower it is a state:

    state     | grow      | fail    | calm    | close
    RESTING   | SHRINKING | RESTING |         | CLOSED
    SHRINKING | SHRINKING |         | RESTING | CLOSED
    CLOSED    |           |         |         | CLOSED

- grow: callers had to wait, so more workers are kept ready; of several threads that find the stock at rest, one starts
  the thread that shrinks it. With fail, no thread can be started, and the stock stays large.
- calm: no one has waited for a while, and the number is the least one again.
- close: the sandbox is closed, and its workers end.

SHRINKING is a lock that its thread holds, and no one waits for. The thread gives it up first and looks at the number
then, and `grow` raises the number first: so one of the two sees the other, and no stock stays large for long.
"""

from __future__ import annotations

import contextlib
import threading
import time
from enum import StrEnum
from typing import TYPE_CHECKING

from ez_ptc.sandbox.host.workers.orders import ZygoteGoneError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc._sync import Threads
    from ez_ptc.sandbox.host.boot.maker import WorkerMaker

__all__ = ["Closing", "Stock", "StockState"]

_MAX_READY = 16
# Seconds without a queue after which half of the additional workers are ended.
_CALM_SECONDS = 2.0


class StockState(StrEnum):
    """A state of a stock; the module describes each."""

    RESTING = "resting"
    SHRINKING = "shrinking"
    CLOSED = "closed"


class Stock:
    """The ready workers of one pool. As in the pool, no code here waits for a lock."""

    def __init__(self, ready: int, threads: Threads, closing: Closing, *, calm: float = _CALM_SECONDS) -> None:
        """Keep at least `ready` workers. `threads` run the timer that shrinks the stock after `calm` seconds."""
        self._ready = ready
        self._threads = threads
        self._closing = closing
        self._calm = calm
        self.wanted = ready
        """How many workers should be ready."""
        self._busy_at = 0.0
        self._shrinking = threading.Lock()

    @property
    def state(self) -> StockState:
        """What becomes of the number of workers."""
        if self._closing.is_set:
            return StockState.CLOSED
        return StockState.SHRINKING if self._shrinking.locked() else StockState.RESTING

    def grow(self, waiting: int, find_zygote: Callable[[], WorkerMaker | None]) -> None:
        """Keep more workers ready, because callers had to wait; shrink again when no one has waited for a while."""
        self._busy_at = time.monotonic()
        self.wanted = min(max(self.wanted, waiting + self._ready), max(_MAX_READY, self._ready))
        if self.wanted > self._ready and not self._closing.is_set and self._shrinking.acquire(blocking=False):
            try:
                self._threads.start(lambda: self._shrink(find_zygote))
            except RuntimeError:
                # No thread can be started, so the stock stays large.
                self._shrinking.release()

    def refill(self, zygote: WorkerMaker) -> None:
        """Order the workers that should be ready, without waiting for them, or prepare them. Raises ZygoteGoneError."""
        zygote.ready.order_more(self._ready)
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
            zygote.ready.shrink(self.wanted)
            zygote.ready.close_ended()
            missing = self._missing(zygote)
            if missing > 0:
                zygote.order(missing)
            elif not (zygote.ordered or zygote.ready.expected):
                return
            zygote.wait()

    def _missing(self, zygote: WorkerMaker) -> int:
        return zygote.ready.count_wanted(self.wanted) - len(zygote.ready) - zygote.ordered

    def _shrink(self, find_zygote: Callable[[], WorkerMaker | None]) -> None:
        while not self._closing.wait(self._calm):
            if time.monotonic() - self._busy_at < self._calm:
                continue
            self.wanted = max(self._ready, self.wanted // 2)
            zygote = find_zygote()
            if zygote is not None:
                # If the zygote is gone, the next caller that needs a worker notices.
                with contextlib.suppress(ZygoteGoneError):
                    zygote.receive()
                zygote.ready.shrink(self.wanted)
                zygote.ready.checkers.shrink()
            if self.wanted > self._ready:
                continue
            self._shrinking.release()
            if self.wanted <= self._ready or not self._shrinking.acquire(blocking=False):
                return


class Closing:
    """An event that is set once. Unlike `threading.Event`, it can be set in a handler that interrupts `set`."""

    def __init__(self) -> None:
        """Create an event that is not set."""
        self.is_set = False
        self._held = threading.Lock()
        self._held.acquire()

    def set(self) -> None:
        """Set the event and wake all waiting threads."""
        was_set, self.is_set = self.is_set, True
        if not was_set:
            with contextlib.suppress(RuntimeError):
                self._held.release()

    def wait(self, seconds: float) -> bool:
        """Wait for the event for at most `seconds`. Return whether it is set."""
        if not self._held.acquire(timeout=seconds):
            return False
        with contextlib.suppress(RuntimeError):
            self._held.release()
        return True
