"""The calls of a running program as lines on standard error, as they happen."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.cli.calls import call_text, outcome_text
from ez_ptc.sandbox.protocol.events import ApprovalNeeded, CallEnded, CallProgress, CallStarted

if TYPE_CHECKING:
    from ez_ptc.cli.output.progress import ProgressBars
    from ez_ptc.sandbox.protocol.execution import ExecutionResult

__all__ = ["CallLines"]


class CallLines:
    """A line for each call, once it has ended; with `shows_starts`, its beginning stands there while it runs.

    No beginning may stand there while a person is asked: a question begins a line of its own.
    """

    def __init__(self, bars: ProgressBars, *, shows_starts: bool) -> None:
        """Write above some bars, which are hidden meanwhile."""
        self._bars: Final = bars
        self._shows_starts: Final = shows_starts
        self._running: Final[dict[str, CallStarted]] = {}
        self._shown: Final[set[str]] = set()
        # The call whose beginning is the last line, which has no end yet.
        self._open: str | None = None

    def add(self, event: object) -> None:
        """Show what an event says of a call."""
        if isinstance(event, CallEnded):
            self._end(event)
        elif isinstance(event, ApprovalNeeded | CallProgress):
            self.end_line()
        elif isinstance(event, CallStarted):
            self.end_line()
            self._running[event.id] = event
            if self._shows_starts:
                self._open = event.id
                self._write(call_text(_record(event)))

    def end_line(self) -> None:
        """End the line of a call that is running."""
        if self._open is not None:
            self._open = None
            self._write("\n")

    def add_rest(self, result: ExecutionResult) -> None:
        """Show the calls of a result without an event, such as refused ones."""
        self.end_line()
        for call in result.tool_calls:
            if call["path"] not in self._shown:
                self._write(f"{call_text(call)} -> {outcome_text(call)}\n")

    def _end(self, event: CallEnded) -> None:
        started = self._running.pop(event.id, None)
        if started is None:
            return
        record = {**_record(started), "result": event.result, "error": event.error}
        self._shown.add(started.path)
        if self._open == event.id:
            self._open = None
            self._write(f" -> {outcome_text(record)}\n")
        else:
            self.end_line()
            self._write(f"{call_text(record)} -> {outcome_text(record)}\n")

    def _write(self, text: str) -> None:
        with self._bars.paused():
            sys.stderr.write(text)
            sys.stderr.flush()


def _record(event: CallStarted) -> dict[str, Any]:
    return {"name": event.tool, "args": event.args, "kwargs": event.kwargs}
