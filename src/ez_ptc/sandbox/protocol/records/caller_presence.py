"""Leaving programs from another thread.

A caller in an event loop is cancelled there. A thread may also block for a caller in another process: its context has
the caller's presence then, and the drivers of its programs watch it.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

__all__ = ["CALLER", "CallerPresence", "answer_seconds", "ending_with_caller"]

# Seconds for a result to leave for another process. Ending the program's worker and making the next one would take a
# core and the interpreter from it: a program on an actor of Ray's took 1.3 ms more (`make bench-ray`).
_ANSWER_SECONDS: Final = 0.001


class CallerPresence:
    """The caller of the programs in a context, until it leaves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._endings: list[Callable[[], object]] = []
        self.has_left = False

    def leave(self) -> None:
        """End the running programs of the context at once, and later ones before they start; from any thread."""
        # Under the lock: an ending must not come after its context, when a paused program's worker is kept.
        with self._lock:
            self.has_left = True
            for end in self._endings:
                end()

    @contextmanager
    def ending(self, end: Callable[[], object]) -> Generator[None]:
        """Call `end` if the caller leaves within the context, or has left before. It must not wait."""
        with self._lock:
            self._endings.append(end)
            if self.has_left:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._endings.remove(end)


CALLER: Final[ContextVar[CallerPresence | None]] = ContextVar("ez_ptc_caller", default=None)


def ending_with_caller(end: Callable[[], object]) -> AbstractContextManager[None]:
    """Return the context of `CallerPresence.ending`, for the caller of this thread, if there is one."""
    caller = CALLER.get()
    if caller is None:
        return nullcontext()
    return caller.ending(end)


def answer_seconds() -> float:
    """Return the seconds to leave to the result before work that can wait: 0 for a caller in this process."""
    if CALLER.get() is None:
        return 0.0
    return _ANSWER_SECONDS
