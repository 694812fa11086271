"""The clock of one program, which stands still during approvals."""

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
    """Counts down to the end of a program's time. Threads may share it."""

    def __init__(self, deadline: float) -> None:
        """Count down to `deadline`, on the clock of `time.perf_counter`."""
        self._deadline = deadline
        self._lock = threading.Lock()
        self._questions = 0
        self._stopped_at = 0.0

    def left(self) -> float:
        """Return the remaining seconds, at least 0."""
        return max(self._deadline - (self._stopped_at or time.perf_counter()), 0.0)

    def nap(self) -> float:
        """Return how many seconds to wait before checking the clock again."""
        if self._stopped_at:
            return max(self.left(), _MIN_NAP)
        return self.left()

    @contextlib.contextmanager
    def pausing(self) -> Generator[None]:
        """Stop the clock; it continues when the last of several pauses ends."""
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
        """Set the deadline `seconds` from now, even during a pause."""
        with self._lock:
            self._deadline = time.perf_counter() + seconds
            self._stopped_at = 0.0
            self._questions += 1  # so that no later pause stops it
