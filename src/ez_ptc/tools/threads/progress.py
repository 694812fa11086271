"""Reporting the progress of a call to its watcher.

A watched call has a `ProgressReporter` while its function runs; the functions of other calls report to no one. Tools
called by the function of a watched call report for that call.
"""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Self

from ez_ptc.schema.annotations.progress import REPORT, ProgressReport

if TYPE_CHECKING:
    from contextvars import Token

__all__ = ["ProgressReporter"]

# With the last report, which comes as soon as the call ends, there are at most ten within any second.
_SECONDS_BETWEEN: Final = 1 / 8


class ProgressReporter:
    """Takes the reports of one call, from any thread, and passes on at most ten a second.

    A held report is passed on at the call's end if no other follows. Reports after the end are ignored, and those of a
    call whose caller has left.
    """

    def __init__(
        self, pass_on: Callable[[ProgressReport], object], is_wanted: Callable[[], bool] = lambda: True
    ) -> None:
        """Take the function for reports, called in the reporting threads, one at a time."""
        self._pass_on = pass_on
        self._is_wanted = is_wanted
        # A signal handler may report while its thread does.
        self._lock = threading.RLock()
        self._latest: ProgressReport | None = None
        self._next_at = 0.0
        self._is_ended = False
        self._token: Token[Any] | None = None

    def __call__(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress. Raises TypeError and ValueError for a wrong number or message."""
        self.report(ProgressReport.of(done, total, message))

    def report(self, progress: ProgressReport) -> None:
        """Report checked progress."""
        with self._lock:
            self._latest = progress
            now = time.monotonic()
            if now >= self._next_at:
                self._next_at = now + _SECONDS_BETWEEN
                self._flush()

    def __enter__(self) -> Self:
        self._token = REPORT.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        if self._token is not None:
            REPORT.reset(self._token)
        with self._lock:
            self._flush()
            self._is_ended = True
            # What passes it on may refer to this object, and so to all of a request until the next collection.
            self._pass_on = _ignore

    def _flush(self) -> None:
        progress, self._latest = self._latest, None
        if progress is not None and not self._is_ended and self._is_wanted():
            self._pass_on(progress)


def _ignore(progress: ProgressReport) -> None:
    del progress
