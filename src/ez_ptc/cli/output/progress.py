"""Bars for the progress that tools report."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from ez_ptc.cli.terminal import printable
from ez_ptc.messages import ToolResultMessage
from ez_ptc.sandbox.protocol.events import ApprovalNeeded, CallEnded, CallProgress
from ez_ptc.tools.approvals.questions import name_text

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import TextIO

    from rich.progress import Progress, TaskID

__all__ = ["ProgressBars"]

# More would fill a terminal of 24 lines.
_MAX_BARS: Final = 8
_MAX_MESSAGE: Final = 40


class ProgressBars:
    """A bar for each running call with reported progress, on standard error if it is a terminal.

    Other text hides them first; the next report shows them again.
    """

    def __init__(self) -> None:
        self._stream: Final = sys.stderr
        self._is_shown: Final = self._stream.isatty()
        self._lock = threading.RLock()
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._undecided: set[str] = set()
        self._pauses = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.hide()

    def add(self, event: object) -> None:
        """Take note of an event; a call in wait for a decision hides the bars until it goes on."""
        if not self._is_shown:
            return
        with self._lock:
            if isinstance(event, CallProgress):
                self._undecided.discard(event.id)
                self._show(event)
            elif isinstance(event, CallEnded):
                self._end(event.id)
            elif isinstance(event, ToolResultMessage):
                self._end(event.tool_call_id)
            elif isinstance(event, ApprovalNeeded):
                self._undecided.add(event.id)
                self.hide()

    def hide(self) -> None:
        """Remove the bars from the terminal."""
        with self._lock:
            if self._progress is not None:
                self._progress.stop()

    @contextmanager
    def paused(self) -> Generator[None]:
        """Return a context in which no bars are shown."""
        with self._lock:
            self._pauses += 1
            self.hide()
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1

    def _show(self, event: CallProgress) -> None:
        progress = self._progress = self._progress or _make_progress(self._stream)
        values: dict[str, Any] = {"completed": event.done, "total": event.total, "numbers": f"{event.done:,.12g}"}
        if event.total is not None:
            values["numbers"] += f" of {event.total:,.12g}"
            values["completed"] = min(event.done, event.total)
        values["message"] = printable(event.message or "")[:_MAX_MESSAGE]
        if event.id in self._tasks:
            progress.update(self._tasks[event.id], **values)
        elif len(self._tasks) < _MAX_BARS:
            self._tasks[event.id] = progress.add_task(name_text(event.tool)[:_MAX_MESSAGE], **values)
        if not (self._undecided or self._pauses):
            progress.start()
            progress.refresh()

    def _end(self, call_id: str) -> None:
        self._undecided.discard(call_id)
        task = self._tasks.pop(call_id, None)
        if self._progress is not None and task is not None:
            self._progress.remove_task(task)
            if not self._tasks:
                self.hide()


def _make_progress(stream: TextIO) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    # A tool's words are no markup.
    texts = [
        TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[numbers]", "fields[message]")
    ]
    # Each report refreshes them, so no thread writes to the terminal by itself.
    return Progress(texts[0], BarColumn(), *texts[1:], console=Console(file=stream), transient=True, auto_refresh=False)
