"""The interfaces around a sandbox: what runs its programs' calls, records them and watches them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

    from ez_ptc.errors import ReplayDivergedError
    from ez_ptc.messages import ToolResult
    from ez_ptc.results.bounds import ResultKeeper
    from ez_ptc.sandbox.protocol.execution import ExecutionResult, Grants, Limits
    from ez_ptc.sandbox.protocol.frames import CallFrame, OutputFrame
    from ez_ptc.sandbox.protocol.isolation import Report
    from ez_ptc.sandbox.protocol.replies import EncodedResult
    from ez_ptc.schema.annotations.progress import ProgressReport
    from ez_ptc.tools.approval_requests import ApprovalRequest
    from ez_ptc.tools.call_lifetime import CallLife
    from ez_ptc.tools.decisions import Decision

__all__ = ["Channel", "EventReader", "KeptResults", "Observer", "Recorder", "Sandbox", "SandboxSession"]


class Recorder(Protocol):
    """Records the calls of one program, and replays those of its earlier execution. Any thread may call it.

    Methods that write raise CallInterrupted if they cannot.
    """

    @property
    def run_id(self) -> str:
        """The id of the program's run."""
        ...

    @property
    def run_key(self) -> Hashable:
        """The identity of the program's run, among those of all journals: ids are equal in several."""
        ...

    @property
    def execution(self) -> int:
        """Which execution of the run this is, from 1."""
        ...

    def adopt(self, paths: Iterable[str]) -> None:
        """Take note of calls that were made before the program paused, and have their replies."""
        ...

    @property
    def clock_ns(self) -> int | None:
        """The time at which the program's clock starts, in nanoseconds since 1970; None for the fixed one."""
        ...

    @property
    def source_rules(self) -> int:
        """The version of the rules by which the program's source is repaired."""
        ...

    @property
    def called(self) -> Collection[str]:
        """The names of the tools in the recorded calls."""
        ...

    def schedule(self, max_bytes: int) -> tuple[list[tuple[str, str | None]], list[tuple[str, int]] | None]:
        """Return the recorded calls and events, as `ez_ptc.sandbox.worker.schedule` describes them.

        The first replies are in it, with up to `max_bytes` in all.
        """
        ...

    @property
    def is_replay(self) -> bool:
        """Whether no call runs: one without a recorded reply gets none, as when it was recorded."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the program has made every recorded call again."""
        ...

    def divergence(self, reason: str = ...) -> ReplayDivergedError:
        """Return the error of a program that never makes its next recorded call again, for a reason."""
        ...

    def arrive(self, call: CallFrame) -> EncodedResult | None:
        """Take note of a call, and return the recorded reply to it, if there is one.

        Raises ReplayDivergedError if it is not the recorded call, ProtocolError for too many events with it.
        """
        ...

    def report_output(self, frame: OutputFrame) -> None:
        """Take note of output, before the call that follows it arrives."""
        ...

    def report_events(self, events: Sequence[tuple[str, int]]) -> None:
        """Take note of events of the program's schedule, which are recorded with what comes next.

        Raises ProtocolError for more than the run may record.
        """
        ...

    def call_id(self, call: CallFrame) -> str:
        """Return the id under which a call waits, the same in every execution of the program."""
        ...

    def idempotency_key(self, call: CallFrame) -> str:
        """Return the key of a call, the same in every execution of the program, and that of no call of another run."""
        ...

    def verdict(self, call: CallFrame) -> bool | None:
        """Return whether a call needs approval, as recorded; None if its tool's rule has to be asked."""
        ...

    def clear(self, call: CallFrame) -> None:
        """Take note: a call needs no approval; recorded when it runs."""
        ...

    def mark(self, call: CallFrame, request: ApprovalRequest) -> None:
        """Record a call as waiting for a decision, once."""
        ...

    def recall(self, call: CallFrame, request: ApprovalRequest) -> Decision | None:
        """Return the decision that was made about a call earlier, or None."""
        ...

    def keep(self, call: CallFrame, request: ApprovalRequest, decision: Decision) -> Decision:
        """Record a decision about a call that waits; return the one that counts."""
        ...

    def repeated_key(self, call: CallFrame) -> str | None:
        """Return the key of the earlier call that a call began to repeat, or None."""
        ...

    def begin(self, call: CallFrame, read_arguments: Callable[[], dict[str, object]], repeated_key: str | None) -> None:
        """Record that a call's function is about to run, perhaps with the key of an earlier call."""
        ...

    def enqueue(self, call: CallFrame) -> None:
        """Let a call wait for its thread. Raises CallInterrupted if the execution has ended."""
        ...

    def dequeue(self, call: CallFrame) -> None:
        """End the wait of a call for its thread. Raises CallInterrupted if the execution has ended."""
        ...

    def enter_function(self, call: CallFrame) -> None:
        """Take note of the beginning of a call's function. Raises CallInterrupted if the execution has ended."""
        ...

    def leave_function(self, call: CallFrame) -> None:
        """Take note of the end of a call's function, perhaps long after its execution."""
        ...

    def report_progress(self, call: CallFrame, progress: ProgressReport) -> None:
        """Take note, in any thread and without a wait, of how far a call is."""
        ...

    def end(self, call: CallFrame, encoded: EncodedResult) -> None:
        """Record a call's reply, before the program gets it."""
        ...

    def abandon(self, call: CallFrame) -> None:
        """Record that a call's function is left behind in its thread.

        Raises CallInterrupted if the program cannot go on without knowing its outcome.
        """
        ...


class EventReader(Protocol):
    """Reads the events of a program in another thread than those that run it."""

    def begin(self, cancel: Callable[[], None]) -> None:
        """Receive the function by which any thread ends the program at once."""
        ...

    def wait_for_room(self, seconds: float) -> bool:
        """Wait while too many events are unread, `seconds` at most. Return whether there is room now."""
        ...


class Observer(Protocol):
    """Receives the events of one program, in its event loop or in the threads that run it."""

    @property
    def reader(self) -> EventReader | None:
        """The reader in another thread; None for a consumer in the event loop."""
        ...

    def call_id(self, call: CallFrame) -> str:
        """Return the id of a call in the events about it."""
        ...

    def report_output(self, frame: OutputFrame) -> None:
        """Receive output."""
        ...

    def report_call(self, call: CallFrame) -> None:
        """Receive a call, before it is checked."""
        ...

    def report_progress(self, call: CallFrame, progress: ProgressReport) -> None:
        """Receive, in any thread, how far a call is."""
        ...

    def report_end(self, call: CallFrame, record: dict[str, Any]) -> None:
        """Receive the record of a call that has ended."""
        ...

    def report_approval(self, call: CallFrame, arguments: dict[str, Any]) -> None:
        """Receive, in any thread, the checked arguments of a call that waits for a decision."""
        ...

    async def room(self) -> None:
        """Wait while the consumer of the events is behind."""
        ...


class KeptResults(Protocol):
    """The results of earlier calls and programs, too long for a model, for a program to read."""

    @property
    def grants(self) -> Grants:
        """The tools to read them with."""
        ...

    def offer(self, code: str) -> Sequence[str] | None:
        """Return the names of those for a program, or None if it gets no access to any."""
        ...

    def keeper(self) -> ResultKeeper | None:
        """Return the keeper of the program's own result, or None."""
        ...


class Channel(Protocol):
    """Runs the tool calls of one program. The sandbox checks frames; the channel checks arguments."""

    @property
    def recorder(self) -> Recorder | None:
        """The recorder of the program's calls, or None."""
        ...

    @property
    def observer(self) -> Observer | None:
        """The receiver of the program's events, or None."""
        ...

    @property
    def grants(self) -> Grants:
        """The tools programs may call."""
        ...

    @property
    def results(self) -> KeptResults | None:
        """The kept results for the program, or None."""
        ...

    @property
    def finders(self) -> Grants | None:
        """The functions to find tools with, for programs that name one of them, or None."""
        ...

    @property
    def has_listeners(self) -> bool:
        """Whether `report_call` does anything."""
        ...

    def call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Run the granted tool `name` and return its result; errors of the tool and the program never raise.

        `life` knows whether the program still wants the result, and stops the program's clock during approval.
        """
        ...

    async def acall(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Same as `call`, but awaits."""
        ...

    def report_call(self, record: dict[str, Any]) -> None:
        """Receive the record of a finished call, as in `ExecutionResult.tool_calls`."""
        ...


@runtime_checkable
class Sandbox(Protocol):
    """Runs programs in isolation."""

    @property
    def isolation(self) -> Report:
        """The isolation that is enforced, found by probing it."""
        ...

    @property
    def interpreter(self) -> str:
        """The name and version of the interpreter for programs, as runs record it."""
        ...

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run a program to completion. Raises SandboxError if the sandbox fails, not the program."""
        ...

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it kills the program."""
        ...

    def session(self, *, recorded: bool = False) -> SandboxSession:
        """Return a session, whose programs share their variables.

        The programs of a `recorded` one have a seed, and its caller rebuilds what is lost.
        """
        ...

    def close(self) -> None:
        """End every process of this sandbox. It must not be used afterwards."""
        ...


class SandboxSession(Protocol):
    """Runs programs one after another that share their variables; the limits apply to each program."""

    @property
    def is_fresh(self) -> bool:
        """Whether there are no variables yet, or they were lost."""
        ...

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run a program to completion. Raises SandboxError if the sandbox fails, or if a program is running here."""
        ...

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it ends the program and drops the variables."""
        ...

    def close(self) -> None:
        """End the session. It must not be used afterwards."""
        ...
