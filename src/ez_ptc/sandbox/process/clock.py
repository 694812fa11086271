"""The time that one program has: it stands still while a person is asked about a call."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["Clock"]

_MIN_NAP = 0.05


class Clock:
    """Counts down to the end of a program's time, for several threads."""

    def __init__(self, deadline: float) -> None:
        """End at `deadline`, on the clock of `time.perf_counter`."""
        self._deadline = deadline
        self._lock = threading.Lock()
        self._questions = 0
        self._stopped_at = 0.0

    def left(self) -> float:
        """Return how many seconds are left, 0 where none are."""
        return max(self._deadline - (self._stopped_at or time.perf_counter()), 0.0)

    def nap(self) -> float:
        """Return how many seconds may pass until the time has to be looked at again."""
        if self._stopped_at:
            return max(self.left(), _MIN_NAP)
        return self.left()

    @contextlib.contextmanager
    def pausing(self) -> Generator[None]:
        """Let the time stand still; it goes on when the last of those who stopped it has done."""
        with self._lock:
            self._questions += 1
            if self._questions == 1:
                self._stopped_at = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._questions -= 1
                if not self._questions and self._stopped_at:
                    self._deadline += time.perf_counter() - self._stopped_at
                    self._stopped_at = 0.0

    def restart(self, seconds: float) -> None:
        """End in so many seconds from now, whoever is asked meanwhile."""
        with self._lock:
            self._deadline = time.perf_counter() + seconds
            self._stopped_at = 0.0
            self._questions += 1  # nobody stops it again
