"""What happens while a program runs, as events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ez_ptc.messages import PendingCall, Printable
from ez_ptc.sandbox.protocol.execution import ExecutionResult  # noqa: TC001 - type hints of public classes can be resolved

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ez_ptc.sandbox.protocol.frames import CallFrame, OutputFrame
    from ez_ptc.sandbox.protocol.interfaces import EventReader
    from ez_ptc.schema.annotations.progress import ProgressReport

__all__ = [
    "ApprovalNeeded",
    "CallEnded",
    "CallProgress",
    "CallStarted",
    "EventSink",
    "OutputDelta",
    "ProgramEnded",
    "ProgramEvent",
]


@dataclass(frozen=True, slots=True, repr=False)
class OutputDelta(Printable):
    """A program has written text; `stream` is "output" or "error".

    `parent` is the program's id or, in a conversation, that of the call of `execute_tools` which runs it.
    """

    text: str
    stream: Literal["output", "error"]
    parent: str


@dataclass(frozen=True, slots=True, repr=False)
class CallStarted(Printable):
    """A program calls a tool.

    `id` is the call's, the same as in `PendingCall`, and `parent` that of the program's output; `args` and `kwargs` are
    unchecked.
    """

    id: str
    parent: str
    tool: str
    args: tuple[object, ...]
    kwargs: dict[str, object]
    path: str


@dataclass(frozen=True, slots=True, repr=False)
class CallProgress(Printable):
    """A tool has reported how far its call is: `done` of `total`, or of an unknown total if it is None.

    `id`, `parent` and `tool` are those of its `CallStarted`. In a conversation, a call of the model itself has its own
    id, and the parent "". The numbers are at least 0; `done` may exceed `total`, and may decrease.
    """

    id: str
    parent: str
    tool: str
    done: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class CallEnded(Printable):
    """A call of a program has ended, with a `result` or an `error`.

    `id` and `parent` are those of its `CallStarted`.
    """

    id: str
    parent: str
    tool: str
    result: object
    error: str | None
    duration_ms: float


@dataclass(frozen=True, slots=True, repr=False)
class ApprovalNeeded(Printable):
    """A call waits for a decision: its approver is asked, or the program pauses for it."""

    pending: PendingCall
    parent: str

    @property
    def id(self) -> str:
        """The call's id."""
        return self.pending.id


@dataclass(frozen=True, slots=True, repr=False)
class ProgramEnded(Printable):
    """A program has ended or paused.

    `id` is the program's, and `parent` that of the call of `execute_tools` which ran it; "" outside a conversation.
    """

    id: str
    parent: str
    result: ExecutionResult


ProgramEvent: TypeAlias = OutputDelta | CallStarted | CallProgress | CallEnded | ApprovalNeeded | ProgramEnded
"""An event of a program that runs."""


@dataclass(frozen=True)
class EventSink:
    """Makes events of what it observes of the program `id`; `Observer` documents the methods.

    `parent` is that of the events: the program, or the call of a conversation that runs it.

    `put` takes an event, in the event loop of the program; `put_from_thread` in any thread. `wait_for_room` waits while
    the consumer is behind. Where a thread runs the program instead, `reader` is the consumer in another one.
    """

    id: str
    parent: str
    put: Callable[[ProgramEvent], None]
    put_from_thread: Callable[[ProgramEvent], None]
    wait_for_room: Callable[[], Awaitable[None]] | None = None
    reader: EventReader | None = None

    async def room(self) -> None:
        """Wait while the consumer is behind."""
        if self.wait_for_room is not None:
            await self.wait_for_room()

    def report_output(self, frame: OutputFrame) -> None:
        """Report output."""
        self.put(OutputDelta(frame.text, "output" if frame.stream == 1 else "error", self.parent))

    def report_call(self, call: CallFrame) -> None:
        """Report a call."""
        self.put(CallStarted(self.call_id(call), self.parent, call.name, call.args, call.kwargs, call.path))

    def report_progress(self, call: CallFrame, progress: ProgressReport) -> None:
        """Report, from any thread, how far a call is."""
        self.put_from_thread(CallProgress(self.call_id(call), self.parent, call.name, *progress))

    def report_end(self, call: CallFrame, record: dict[str, Any]) -> None:
        """Report the end of a call, with its record."""
        self.put(
            CallEnded(
                self.call_id(call), self.parent, call.name, record["result"], record["error"], record["duration_ms"]
            )
        )

    def report_approval(self, call: CallFrame, arguments: dict[str, Any]) -> None:
        """Report, from any thread, that a call waits for a decision; `arguments` are the checked ones."""
        pending = PendingCall(self.call_id(call), call.name, arguments, call.path)
        self.put_from_thread(ApprovalNeeded(pending, self.parent))

    def call_id(self, call: CallFrame) -> str:
        """Return the id of a call in the events about it."""
        return f"{self.id}:{call.path}"
