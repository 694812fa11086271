"""The events of a conversation's programs, on their way into its stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ez_ptc.sandbox.events import ProgramEnded
from ez_ptc.toolkit.execution.observing import sink_to

if TYPE_CHECKING:
    from ez_ptc._background import EventQueue
    from ez_ptc.sandbox.events import EventSink
    from ez_ptc.sandbox.execution import ExecutionResult

__all__ = ["Watch"]


class Watch:
    """Puts the events of programs into the queue of a conversation's stream, under the calls that run them."""

    def __init__(self, queue: EventQueue[Any]) -> None:
        self._queue = queue
        self._programs: dict[str, str] = {}

    def observe(self, program: str, *, parent: str) -> EventSink:
        """Return the receiver of the events of a program, which the call `parent` runs."""
        self._programs[parent] = program
        return sink_to(self._queue, program, parent)

    def report_end(self, parent: str, result: ExecutionResult) -> None:
        """Report the end of the program that the call `parent` runs."""
        self._queue.put(ProgramEnded(self._programs.get(parent, ""), parent, result))
