"""The events of a conversation's calls and programs, on their way into its stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ez_ptc.sandbox.protocol.events import CallProgress, ProgramEnded
from ez_ptc.toolkit.execution.observing import sink_to
from ez_ptc.tools.threads.progress import ProgressReporter

if TYPE_CHECKING:
    from ez_ptc._background import EventQueue
    from ez_ptc.messages import ToolCall
    from ez_ptc.sandbox.protocol.events import EventSink
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.schema.annotations.progress import ProgressReport
    from ez_ptc.tools.call_lifetime import CallLife

__all__ = ["EventForwarder"]


class EventForwarder:
    """Puts events into the queue of a conversation's stream: those of programs, under the calls that run them."""

    def __init__(self, queue: EventQueue[Any]) -> None:
        self._queue = queue
        self._programs: dict[str, str] = {}
        self._sink = sink_to(queue, "")

    def put(self, event: Any) -> None:  # noqa: ANN401 - any event of the queue
        """Put an event after the earlier ones of other threads."""
        self._sink.put(event)

    def observe(self, program: str, *, parent: str) -> EventSink:
        """Return the receiver of the events of a program, which the call `parent` runs."""
        self._programs[parent] = program
        return sink_to(self._queue, program, parent)

    def reporter(self, call: ToolCall, life: CallLife) -> ProgressReporter:
        """Return the reporter of the progress of a model's call."""

        def pass_on(progress: ProgressReport) -> None:
            self._sink.put_from_thread(CallProgress(call.id, "", call.name, *progress))

        return ProgressReporter(pass_on, lambda: life.is_wanted)

    def report_end(self, parent: str, result: ExecutionResult) -> None:
        """Report the end of the program that the call `parent` runs."""
        self._queue.put(ProgramEnded(self._programs.get(parent, ""), parent, result))
