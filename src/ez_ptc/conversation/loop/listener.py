"""Who hears of a conversation's calls: its stream, and the caller's `on_tool_call` function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ez_ptc.errors import ArgumentsError
from ez_ptc.formats.content import as_json
from ez_ptc.sandbox.protocol.events import CallProgress, ProgramEnded
from ez_ptc.sandbox.protocol.records.call_record import make_record
from ez_ptc.schema.arguments.json_text import parse_arguments
from ez_ptc.toolkit.execution.observing import sink_to
from ez_ptc.tools.definitions.secret_arguments import mask_arguments
from ez_ptc.tools.threads.progress import ProgressReporter

if TYPE_CHECKING:
    from ez_ptc._background import EventQueue
    from ez_ptc.messages import ToolCall, ToolResult
    from ez_ptc.sandbox.protocol.events import EventSink
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.schema.annotations.progress import ProgressReport
    from ez_ptc.tools.call_lifetime import CallLife
    from ez_ptc.tools.registry import ToolRegistry

__all__ = ["CallListener", "EventForwarder", "ListenerError"]


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


class ListenerError(Exception):
    """What a listener raised inside a program, wrapped: a sandbox takes some exceptions, as OSError, for its own."""

    def __init__(self, failure: Exception) -> None:
        super().__init__(failure)
        self.failure = failure


class CallListener:
    """Notifies the caller's function of each tool call that has ended.

    What the function raises is not a failure of the tool: it ends the conversation. A failure inside a program becomes
    the failure of `execute_tools` first, so it is kept here to be recognized.
    """

    def __init__(self, listen: OnToolCall | None, tools: ToolRegistry, *, ignored_tools: frozenset[str]) -> None:
        self._listen = listen
        self._tools = tools
        self._ignored_tools = ignored_tools
        self._failure: Exception | None = None

    def notify(self, record: Any) -> None:  # noqa: ANN401 - as `make_record` returns
        """Pass on the record of a call."""
        try:
            if self._listen is not None:
                self._listen(record)
        except Exception as error:
            self._failure = error
            raise

    def notify_from_program(self, record: dict[str, Any]) -> None:
        """Pass on the record of a call that a program made. Raises ListenerError."""
        try:
            self.notify(record)
        except Exception as error:
            raise ListenerError(error) from error

    def raise_failure(self, result: ToolResult) -> None:
        """Raise what the listener raised, if that is why the call failed."""
        if self._failure is not None and result.exception is self._failure:
            raise self._failure

    def call_ended(self, call: ToolCall, result: ToolResult) -> None:
        """Notify of a call of the model, with its record as in `ExecutionResult.tool_calls`.

        Raises what the listener raises now, or has raised inside the call.
        """
        if self._failure is not None:
            raise self._failure
        if self._listen is not None and call.name not in self._ignored_tools:
            arguments: object = call.arguments
            if isinstance(arguments, str):
                try:
                    arguments = parse_arguments(call.name, arguments)
                except ArgumentsError:  # the result's error says so
                    arguments = {}
            shown: dict[str, object] = as_json(arguments)
            if (tool := self._tools.get(call.name)) is not None:
                _, shown = mask_arguments(tool.definition, (), shown)
            record = {
                "name": call.name,
                "args": (),
                "kwargs": shown,
                "result": result.output,
                "error": result.error_text,
                "duration_ms": result.duration_ms,
                "path": "",
            }
            self.notify(make_record(record))
