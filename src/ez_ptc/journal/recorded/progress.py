"""The progress of a run's calls, in its record now and then, for those who look at the run in other processes.

A thread writes it, because neither a tool nor an event loop should wait for the disk. It begins with the first report,
and ends when nothing is left to write. A short call leaves no trace; a long one is written about more and more rarely,
so that even days of it take a few hundred events. No reply, decision or replay depends on these events.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from ez_ptc.errors import JournalError
from ez_ptc.journal.chain import Event
from ez_ptc.schema.annotations.progress import ProgressReport
from ez_ptc.view.runs import ProgressView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ez_ptc.sandbox.protocol.frames import CallFrame

__all__ = ["ProgressWriter", "ReportedCall", "next_due", "read_progress"]

_FIELDS: Final = ("done", "total", "message")

# What becomes due in the same quarter of a second is one event: hundreds of calls may run side by side.
_QUARTER: Final = 0.25
_SECONDS_BETWEEN: Final = 1.0
# Of the time since the first report, between two events about a call.
_SHARE: Final = 1 / 50
_MAX_CALLS: Final = 50


@dataclass(slots=True)
class _CallProgress:
    """What is to be written about a call, from the moment `due` on; None after it was written."""

    first: float
    due: float
    data: dict[str, Any] | None = None


class ProgressWriter:
    """Writes what the calls of one execution report, for any thread."""

    def __init__(self, write: Callable[[Event], object]) -> None:
        """Take the function that adds an event to the run's record; it may raise JournalError."""
        self._write = write
        # Reentrant: a signal handler may report while the thread it interrupts does.
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._closed = threading.Event()
        self._calls: dict[str, _CallProgress] = {}
        self._is_running = False

    def report(self, call: CallFrame, progress: ProgressReport) -> None:
        """Take a report; it never waits for a write."""
        now = time.monotonic()
        with self._lock:
            if self._closed.is_set():
                return
            state = self._calls.setdefault(call.path, _CallProgress(now, next_due(now)))
            state.data = {"tool": call.name, "line": call.line, **progress._asdict()}
            if not self._is_running:
                # Where the system has no further thread, the next report tries again: a tool never fails by this.
                with contextlib.suppress(RuntimeError):
                    threading.Thread(target=self._run, name="ez-ptc progress", daemon=True).start()
                    self._is_running = True

    def forget(self, call: CallFrame) -> None:
        """Take note of a call's end: its reply says more."""
        if self._calls:
            with self._lock:
                self._calls.pop(call.path, None)

    def close(self) -> None:
        """Write nothing more, once a write under way has ended."""
        self._closed.set()
        with self._writing:
            self._calls.clear()

    def _run(self) -> None:
        while (seconds := self._next_seconds()) is not None and not self._closed.wait(seconds):
            with self._writing:
                data = self._take()
                if data and not self._closed.is_set():
                    # The record loses no more than this: if the journal fails, so does the next write about a call.
                    with contextlib.suppress(JournalError):
                        self._write(Event("progress", data={"calls": data}))

    def _next_seconds(self) -> float | None:
        """Return the seconds until something is due, or None, and no thread any more, if nothing is left."""
        with self._lock:
            due = [state.due for state in self._calls.values() if state.data is not None]
            self._is_running = bool(due)
            return max(min(due) - time.monotonic(), 0.0) if due else None

    def _take(self) -> dict[str, Any]:
        now = time.monotonic()
        taken: dict[str, Any] = {}
        with self._lock:
            for path, state in self._calls.items():
                if state.data is not None and state.due <= now and len(taken) < _MAX_CALLS:
                    taken[path], state.data = state.data, None
                    state.due = next_due(state.first, now)
        return taken


def next_due(first: float, written: float | None = None) -> float:
    """Return when the next event about a call is due: by its first report, and the last event about it, in seconds."""
    due = first + _QUARTER if written is None else written + max(_SECONDS_BETWEEN, (written - first) * _SHARE)
    return math.ceil(due / _QUARTER) * _QUARTER


class ReportedCall(NamedTuple):
    """A call that has reported its progress: its tool, its line, the time of its first report, and the last report."""

    tool: str
    line: int
    first: float
    progress: ProgressView


def read_progress(events: Iterable[Event]) -> dict[str, ReportedCall]:
    """Return what calls have last reported, by their paths; not of those that run again."""
    reported: dict[str, ReportedCall] = {}
    ended: set[str] = set()
    for event in events:
        if event.kind == "result":
            ended.add(event.path)
        elif event.kind == "claim":
            reported = {path: call for path, call in reported.items() if path in ended}
        elif event.kind == "progress":
            for path, data in cast("dict[str, dict[str, Any]]", event.data["calls"]).items():
                progress = ProgressView(*ProgressReport.of(*map(data.get, _FIELDS)), event.time)
                first = reported[path].first if path in reported else event.time
                reported[path] = ReportedCall(str(data["tool"]), int(data["line"]), first, progress)
    return reported
