"""Sessions: programs that share their variables."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from ez_ptc._closing import Closable
from ez_ptc._sync import BlockingEvents, run_coroutine, to_thread_and_back
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import JournalError
from ez_ptc.sandbox.host.runner import find_code_problem
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.execution.continuing import LAST
from ez_ptc.toolkit.execution.telemetry import watched
from ez_ptc.toolkit.validation import check_program
from ez_ptc.tools.decisions import require_decisions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from ez_ptc.sandbox.protocol.events import ProgramEvent
    from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
    from ez_ptc.sandbox.protocol.interfaces import Observer, SandboxSession
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.toolkit.execution.channel import ToolChannel
    from ez_ptc.toolkit.execution.continuing import ProgramSequence
    from ez_ptc.toolkit.execution.journaled.recording import Recording, Step, Steps
    from ez_ptc.toolkit.execution.observing import ThreadEvents
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["Session"]

_RESUME: Final = "session.resume({result.pending[0].id: True})"


@explain_calls(checks="after code decisions max_text on_tool_call principal run_id timeout")
class Session(Closable):
    """Programs of a toolkit that share their variables: the next program can use what the last one defined.

        with toolkit.session() as session:
            session.execute("price = price_of('lamp')")
            print(session.execute("price * 2").return_value)

    Use it as a context manager or call `close()` to end its process; it also ends, with a ResourceWarning, when the
    session is dropped. A session runs one program at a time. The limits apply to each program, except that the memory
    of the variables counts for all. Variables and imported modules survive a program; threads, executors and event
    loops end with it.

    The variables are lost if a program is killed, as after a timeout. Its result says so, and the next program starts
    with none. If no one got that result, because `aexecute` was cancelled, the next program is not run and its result
    says so instead.

    With a journal, the session has an `id`, and no variables are lost: where its process has ended, the programs before
    are run again from their records, without calling a tool. `Toolkit.session(id)` does so in another process. A
    program that pauses pauses the session; `resume` goes on.
    """

    def __init__(
        self,
        toolkit: object,
        programs: SandboxSession,
        channel: ToolChannel,
        limits: Limits,
        *,
        sequence: ProgramSequence,
        recording: Recording | None = None,
    ) -> None:
        """Use `Toolkit.session` instead."""
        self._toolkit = toolkit  # keeps the shared sandbox open
        self._programs = programs
        self._channel = channel
        self._limits = limits
        self._sequence = sequence
        self._recording = recording

    @property
    def id(self) -> str | None:
        """The id of the session in the journal, or None without one."""
        return None if self._recording is None else self._recording.id

    def execute(  # noqa: PLR0913 - users type them
        self,
        code: str,
        timeout: float | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
        after: ExecutionResult | None = LAST,
        reread: bool = False,
        max_text: int | None = None,
    ) -> ExecutionResult:
        """Run a program and return its result, as `Toolkit.execute` does, with the same arguments.

        A program after one that has failed continues it, as with `after`; pass None to continue nothing.

        Raises:
            IsolationUnavailableError: The kernel lacks a required isolation feature.
            SandboxError: The sandbox failed, not the program; or the session is already running a program, is closed,
                or was closed while the program ran.
            RunInProgressError: A correction of the failed program before is running, in this session or elsewhere.
            JournalError: The run cannot be recorded, a program of the session waits, or another process has it.
        """
        check_program(code)
        # Asynchronous tools need an event loop, which `aexecute` runs on.
        if self._channel.grants.has_async_tools:
            settings: dict[str, Any] = {"context": context, "approve": approve, "on_tool_call": on_tool_call}
            settings |= {"principal": principal, "after": after, "reread": reread, "max_text": max_text}
            return run_coroutine(partial(self.aexecute, **settings), code, timeout)
        channel = self._channel.with_settings(context, approve, on_tool_call, principal=principal)
        limits = self._limits.with_timeout(timeout).with_text(max_text)
        return self._execute(code, channel, limits, after=after, reread=reread)

    def _execute(
        self,
        code: str,
        channel: ToolChannel,
        limits: Limits,
        *,
        observe: Callable[[str], Observer] | None = None,
        after: object = LAST,
        reread: bool = False,
    ) -> ExecutionResult:
        channel = self._sequence.next_channel(channel, after, reread=reread)
        if self._recording is None or find_code_problem(code, limits):
            with channel.correcting():
                result = watched(self._programs).execute(str(code), channel.observed(observe), limits)
        else:
            result = self._drive(self._recording.steps(str(code), channel, limits), observe)
        return self._sequence.note(result, channel, code)

    async def aexecute(  # noqa: PLR0913 - users type them
        self,
        code: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's time, not the task's
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
        after: ExecutionResult | None = LAST,
        reread: bool = False,
        max_text: int | None = None,
    ) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it ends the program and drops the variables."""
        check_program(code)
        channel = self._channel.with_settings(context, approve, on_tool_call, principal=principal)
        limits = self._limits.with_timeout(timeout).with_text(max_text)
        return await self._aexecute(code, channel, limits, after=after, reread=reread)

    async def _aexecute(
        self,
        code: str,
        channel: ToolChannel,
        limits: Limits,
        *,
        observe: Callable[[str], Observer] | None = None,
        after: object = LAST,
        reread: bool = False,
    ) -> ExecutionResult:
        channel = await to_thread_and_back(partial(self._sequence.next_channel, reread=reread), channel, after)
        if self._recording is None or find_code_problem(code, limits):
            with channel.correcting():
                result = await watched(self._programs).aexecute(str(code), channel.observed(observe), limits)
        else:
            result = await self._adrive(self._recording.steps(str(code), channel, limits), observe)
        return self._sequence.note(result, channel, code)

    def stream(self, code: str, timeout: float | None = None) -> ThreadEvents | BlockingEvents[ProgramEvent]:
        """Run a program, and iterate over its events, as `Toolkit.stream` does."""
        check_program(code)
        if self._channel.grants.has_async_tools:
            return BlockingEvents(self.astream(code, timeout))
        from ez_ptc.toolkit.execution.observing import ThreadEvents

        return ThreadEvents(partial(self._execute, code, self._channel, self._limits.with_timeout(timeout)))

    def astream(self, code: str, timeout: float | None = None) -> AsyncGenerator[ProgramEvent]:
        """Same as `stream`, but iterates asynchronously."""
        check_program(code)
        from ez_ptc.toolkit.execution.observing import program_events

        return program_events(partial(self._aexecute, code, self._channel, self._limits.with_timeout(timeout)))

    def resume(
        self,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
    ) -> ExecutionResult:
        """Continue the session's program that waits, as `Toolkit.resume` does, with the same arguments.

        Raises JournalError if none waits, or if it began with another principal or context.
        """
        decisions = require_decisions(decisions, _RESUME)
        channel = self._channel.with_settings(context, approve, on_tool_call, principal=principal)
        if self._channel.grants.has_async_tools:
            return run_coroutine(self.aresume_run, channel, decisions)
        return self.resume_run(channel, decisions)

    async def aresume(
        self,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
    ) -> ExecutionResult:
        """Same as `resume`, but awaits."""
        decisions = require_decisions(decisions, _RESUME)
        channel = self._channel.with_settings(context, approve, on_tool_call, principal=principal)
        return await self.aresume_run(channel, decisions)

    def resume_run(
        self, channel: ToolChannel, decisions: Mapping[str, object] | None, run_id: str | None = None
    ) -> ExecutionResult:
        """Continue the program that waits, which is the run `run_id` if given. Used by `Toolkit.resume`."""
        channel = channel.with_results_of(self._channel)
        result = self._drive(self._require_recording().resuming(decisions or {}, channel, run_id))
        return self._sequence.note(result, channel)

    async def aresume_run(
        self,
        channel: ToolChannel,
        decisions: Mapping[str, object] | None,
        run_id: str | None = None,
        *,
        observe: Callable[[str], Observer] | None = None,
    ) -> ExecutionResult:
        """Same as `resume_run`, but awaits. Used by `Toolkit.aresume`."""
        channel = channel.with_results_of(self._channel)
        result = await self._adrive(self._require_recording().resuming(decisions or {}, channel, run_id), observe)
        return self._sequence.note(result, channel)

    def replay(self, run_id: str) -> ExecutionResult:
        """Run the session's programs up to a finished one from their records, as `Toolkit.replay` does."""
        return self._drive(self._require_recording().replaying(run_id, self._channel))

    def _require_recording(self) -> Recording:
        if self._recording is None:
            message = "this session has no journal: pass Toolkit(tools, journal='runs.db')"
            raise JournalError(message)
        return self._recording

    def _drive(self, steps: Steps, observe: Callable[[str], Observer] | None = None) -> ExecutionResult:
        with closing(steps):
            try:
                step = next(steps)
                while True:
                    channel = _observed(step, observe)
                    step = steps.send(watched(self._programs).execute(step.code, channel, step.limits))
            except StopIteration as end:
                return end.value

    async def _adrive(self, steps: Steps, observe: Callable[[str], Observer] | None = None) -> ExecutionResult:
        # The steps wait for the disk, so a thread takes them; it returns the last one's result, since a thread cannot
        # raise StopIteration.
        def take(result: ExecutionResult | None) -> Step | ExecutionResult:
            try:
                return next(steps) if result is None else steps.send(result)
            except StopIteration as end:
                return end.value

        try:
            step = await to_thread_and_back(take, None)
            while isinstance(step, tuple):
                channel = _observed(step, observe)
                result = await watched(self._programs).aexecute(step.code, channel, step.limits)
                step = await to_thread_and_back(take, result)
            return step
        finally:
            await to_thread_and_back(steps.close)

    def close(self) -> None:
        """End the session's process. If a program is still running, its caller gets a SandboxError.

        Closing twice is harmless, in another thread and in a signal handler too.
        """
        self._programs.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _observed(step: Step, observe: Callable[[str], Observer] | None) -> ToolChannel:
    """Return the channel of a step, observed if it is the caller's own program."""
    return step.channel if step.run_id is None else step.channel.observed(observe, step.run_id)
