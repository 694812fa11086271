"""The caller's `on_tool_call` function: its calls, and its failures, which end the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ez_ptc.errors import ArgumentsError
from ez_ptc.formats.content import as_json
from ez_ptc.sandbox.protocol.records.call_record import make_record
from ez_ptc.schema.arguments.json_text import parse_arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["CallListener", "ListenerError"]


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

    def __init__(self, listen: Callable[[dict[str, Any]], None] | None, *, ignored_tools: frozenset[str]) -> None:
        self._listen = listen
        self._ignored_tools = ignored_tools
        self._failure: Exception | None = None

    def notify(self, record: dict[str, Any]) -> None:
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
            record = {
                "name": call.name,
                "args": (),
                "kwargs": as_json(arguments),
                "result": result.output,
                "error": result.error_text,
                "duration_ms": result.duration_ms,
                "path": "",
            }
            self.notify(make_record(record))
