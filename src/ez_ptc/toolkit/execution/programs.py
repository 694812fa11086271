"""Running programs: at once, in a session, and again with corrections."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from ez_ptc._sync import BlockingEvents, run_coroutine, to_thread_and_back
from ez_ptc.errors import JournalError
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.execution.continuing import ProgramSequence, ToolkitIdentity, continue_after
from ez_ptc.toolkit.execution.results.scopes import ResultScope, ShortNames
from ez_ptc.toolkit.execution.resuming import RunResumer
from ez_ptc.toolkit.execution.telemetry import watched
from ez_ptc.toolkit.prompting.effects import effects_of
from ez_ptc.toolkit.validation import check_program

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
    from pathlib import Path

    from ez_ptc.journal.journal import Journal
    from ez_ptc.sandbox.protocol.events import ProgramEvent
    from ez_ptc.sandbox.protocol.execution import Limits
    from ez_ptc.sandbox.protocol.interfaces import Observer
    from ez_ptc.sandbox.protocol.records.call_record import CallRecord, OnToolCall
    from ez_ptc.toolkit.execution.channel import ToolChannel
    from ez_ptc.toolkit.execution.journaled.executions import Execution
    from ez_ptc.toolkit.execution.journaled.runs import Runs
    from ez_ptc.toolkit.execution.observing import ThreadEvents
    from ez_ptc.toolkit.execution.session import Session
    from ez_ptc.toolkit.execution.shared_sandbox import SandboxAccess
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

    _Corrected = str | Awaitable[str | None] | None
    Repair = Callable[[str, str, list[CallRecord]], _Corrected] | Callable[[str, str, list[dict[str, Any]]], _Corrected]

__all__ = ["ProgramRunner"]


class ProgramRunner(RunResumer):
    """The methods of `Toolkit` that run programs."""

    if TYPE_CHECKING:  # `Toolkit` has and documents them
        tools: Iterable[Tool[..., Any] | Any]
        limits: Limits
        on_tool_call: OnToolCall | None
        context: object
        approve: Approver | None
        reraise: tuple[type[BaseException], ...]
        allow_imports: Iterable[str]
        journal: Journal | str | Path | None
        _access: SandboxAccess

    def _is_recorded(self, code: str, limits: Limits) -> bool:
        """Return whether the journal gets a run of a program: there is a journal, and the program can be started."""
        if self.journal is None:
            return False
        from ez_ptc.sandbox.host.runner import find_code_problem  # brings most of the sandbox with it

        return find_code_problem(code, limits) is None

    def execute(  # noqa: PLR0913 - users type them
        self,
        code: str,
        timeout: float | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        repair: Repair | None = None,
        max_attempts: int = 3,
        run_id: str | None = None,
        principal: str | None = None,
        after: ExecutionResult | None = None,
        reread: bool = False,
        max_text: int | None = None,
    ) -> ExecutionResult:
        """Run a program and return its result. The program's errors are in the result, never raised.

        Args:
            code, timeout: The program, and the maximum seconds it may run; by default, the toolkit's.
            context, approve: The value of the tools' `Context` parameters and the approver, instead of the toolkit's.
            on_tool_call: Called with the record of each finished call, in addition to the toolkit's.
            repair: Corrects a failed program: `repair(code, error, done)` returns another, or None to give up. It is
                not asked after a refusal (`is_denied`). `done` are the records of calls that may have had an effect.
            max_attempts: The maximum number of programs to run, the first included.
            run_id: The id of the run in the journal. Executing the same program with it again repeats nothing: an ended
                run returns its result, a paused one its pending calls, and a run without a live process goes on.
            principal: For whom the program runs, such as a user's id. No other one (or context) can continue the run.
            after: The failed result that this program corrects: equal calls return their results again, once each.
            reread: Whether the calls of read-only tools run again in a correction.
            max_text: The maximum characters of the result's texts for a model, instead of `limits.text`.

        Raises:
            TypeError, ValueError: The program is no text, or another argument is of a wrong type.
            ContinuationError: `after` has not failed, or is of another toolkit, principal or context.
            RunInProgressError: Another correction of `after` is running, or the run is being executed.
            SandboxError: The sandbox failed or lacks isolation (IsolationUnavailableError), or the toolkit is closed.
            JournalError: The run cannot be recorded, or is another program's or caller's.
        """
        check_program(code)
        self._access.open()  # first: describing the tools takes as long as a part of the sandbox's boot
        if self._channel.grants.has_async_tools or repair is not None:
            settings: dict[str, Any] = {"context": context, "approve": approve, "on_tool_call": on_tool_call}
            settings |= {"repair": repair, "max_attempts": max_attempts, "after": after, "reread": reread}
            run = partial(self.aexecute, **settings, run_id=run_id, principal=principal, max_text=max_text)
            return run_coroutine(run, code, timeout)
        channel = self._channel.with_settings(context, approve, on_tool_call, principal=principal)
        channel = self._continue_after(after, channel, reread=reread)
        return self._execute(code, channel, self.limits.with_timeout(timeout).with_text(max_text), run_id=run_id)

    def _continue_after(self, after: ExecutionResult | None, channel: ToolChannel, *, reread: bool) -> ToolChannel:
        """Return the channel of a program that continues a failed one, if there is one. Raises as `execute` does."""
        if after is None:
            return channel
        runs = None if self.journal is None else self._runs
        return continue_after(after, channel, self._identity, reread=reread, runs=runs)

    async def _acontinue_after(
        self, after: ExecutionResult | None, channel: ToolChannel, *, reread: bool
    ) -> ToolChannel:
        """Same as `_continue_after`, but read a journal in another thread."""
        continued = partial(self._continue_after, after, channel, reread=reread)
        if after is None or self.journal is None:
            return continued()
        return await to_thread_and_back(continued)

    def _execute(
        self,
        code: str,
        channel: ToolChannel,
        limits: Limits,
        *,
        observe: Callable[[str], Observer] | None = None,
        run_id: str | None = None,
    ) -> ExecutionResult:
        """Run a program; `observe` returns the receiver of its events, given its id."""
        return self._note_progress(
            self._start(str(code), channel, limits, observe=observe, run_id=run_id), channel, code
        )

    def _start(
        self,
        code: str,
        channel: ToolChannel,
        limits: Limits,
        *,
        observe: Callable[[str], Observer] | None,
        run_id: str | None,
    ) -> ExecutionResult:
        sandbox = watched(self._access.sandbox or self._access.open())
        if run_id is not None:
            self.open_journal()
        if not self._is_recorded(code, limits):
            with channel.correcting():
                return sandbox.execute(code, channel.observed(observe), limits)
        begun = self._begin(code, channel, limits, run_id=run_id)
        if isinstance(begun, ExecutionResult):
            begun.max_text = limits.text
            return begun
        with begun as run:
            channel = run.channel.observed(observe, run.row.id)
            return run.finish(sandbox.execute(run.code, channel, run.limits))

    def _begin(
        self, code: str, channel: ToolChannel, limits: Limits, *, run_id: str | None, repairs: str | None = None
    ) -> Execution | ExecutionResult:
        """Return a new execution; for a given id, that of its run, or its result."""
        if run_id is None:
            return self._runs.start(code, channel, limits, repairs=repairs)
        return self._runs.open(code, channel, limits, run_id=run_id, repairs=repairs)

    async def aexecute(  # noqa: PLR0913 - users type them
        self,
        code: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's time, not the task's
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        observe: Callable[[str], Observer] | None = None,
        repair: Repair | None = None,
        max_attempts: int = 3,
        reraise: tuple[type[BaseException], ...] = (),
        run_id: str | None = None,
        principal: str | None = None,
        results: ResultScope | None = None,
        after: ExecutionResult | None = None,
        reread: bool = False,
        max_text: int | None = None,
    ) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it kills the program. `repair` may be asynchronous.

        `reraise` is added to the toolkit's. `observe` returns the receiver of a program's events, given its id, and
        `results` are the kept ones for it, instead of its caller's.
        """
        check_program(code)
        self._access.open()
        channel = self._channel.with_settings(context, approve, on_tool_call, reraise, principal).with_scope(results)
        limits = self.limits.with_timeout(timeout).with_text(max_text)
        continued = await self._acontinue_after(after, channel, reread=reread)
        result = await self._arun(code, continued, limits, observe=observe, run_id=run_id)
        attempts, done = list[ExecutionResult](), list[dict[str, Any]]()
        while repair and result.status == "failed" and not result.is_denied and len(attempts) + 1 < max_attempts:
            attempts.append(result)
            done += effects_of(result.tool_calls, self.tools)
            # The corrections of a run whose id was given have ids too, so that none is asked for or run twice.
            next_id = None if run_id is None else f"{run_id}.{len(attempts) + 1}"
            corrected = await self._find_correction(code, result, list(done), repair=repair, run_id=next_id)
            if corrected is None:
                break
            code = corrected
            continued = await self._acontinue_after(result, channel, reread=reread)
            result = await self._arun(code, continued, limits, repairs=result.run_id, observe=observe, run_id=next_id)
        result.attempts = tuple(attempt for attempt in attempts if attempt is not result)
        return result

    async def _find_correction(
        self, code: str, failed: ExecutionResult, done: list[Any], *, repair: Repair, run_id: str | None
    ) -> str | None:
        """Return the program that corrects a failed one: that of the run `run_id`, if there is one, or `repair`'s."""
        corrected: str | Awaitable[str | None] | None = None
        if run_id is not None:
            corrected = await to_thread_and_back(self._runs.correction_of, run_id, failed.run_id)
        if corrected is None:
            corrected = repair(code, failed.failure_text(failed.max_text, corrected=True).strip(), done)
        return await corrected if inspect.isawaitable(corrected) else corrected

    async def _arun(
        self,
        code: str,
        channel: ToolChannel,
        limits: Limits,
        *,
        repairs: str | None = None,
        observe: Callable[[str], Observer] | None = None,
        run_id: str | None = None,
    ) -> ExecutionResult:
        """Run a program; `observe` returns the receiver of its events, given its id."""
        run = partial(self._astart, repairs=repairs, observe=observe, run_id=run_id)
        return self._note_progress(await run(str(code), channel, limits), channel, code)

    async def _astart(
        self,
        code: str,
        channel: ToolChannel,
        limits: Limits,
        *,
        repairs: str | None,
        observe: Callable[[str], Observer] | None,
        run_id: str | None,
    ) -> ExecutionResult:
        sandbox = watched(self._access.open())
        if run_id is not None:
            self.open_journal()
        if not self._is_recorded(code, limits):
            with channel.correcting():
                return await sandbox.aexecute(code, channel.observed(observe), limits)
        begin = partial(self._begin, repairs=repairs, run_id=run_id)
        begun = await to_thread_and_back(
            begin, code, channel, limits, undo=lambda begun: isinstance(begun, ExecutionResult) or begun.release()
        )
        if isinstance(begun, ExecutionResult):
            begun.max_text = limits.text
            return begun
        async with begun as run:
            channel = run.channel.observed(observe, run.row.id)
            return await to_thread_and_back(run.finish, await sandbox.aexecute(run.code, channel, run.limits))

    # Events -----------------------------------------------------------------------------------------------------------

    def stream(self, code: str, timeout: float | None = None) -> ThreadEvents | BlockingEvents[ProgramEvent]:
        """Run a program, and iterate over its events in order; the last is `ProgramEnded`, with the result.

        The program goes on while events are handled, and waits if too many are not. Leaving the iteration, or closing
        the iterator, ends the program. Raises what `execute` raises.
        """
        check_program(code)
        if self._channel.grants.has_async_tools:
            return BlockingEvents(self.astream(code, timeout))
        from ez_ptc.toolkit.execution.observing import ThreadEvents

        return ThreadEvents(partial(self._execute, code, self._channel, self.limits.with_timeout(timeout)))

    def astream(
        self,
        code: str,
        timeout: float | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
    ) -> AsyncGenerator[ProgramEvent]:
        """Same as `stream`, but iterates asynchronously. The other arguments are those of `aexecute`."""
        channel = self._channel.with_settings(context, approve, on_tool_call)
        check_program(code)
        from ez_ptc.toolkit.execution.observing import program_events

        return program_events(partial(self._arun, code, channel, self.limits.with_timeout(timeout)))

    # Sessions ---------------------------------------------------------------------------------------------------------

    def session(self, id: str | None = None, *, upgrade: bool = False) -> Session:  # noqa: A002 - what callers call it
        """Return a session, whose programs share their variables. Close it before the toolkit.

        Args:
            id: The id of a session in the journal, to continue it: its programs are run again from their records,
                without calling a tool.
            upgrade: Whether it may go on with another minor version of Python, as with `resume(..., upgrade=True)`.

        Raises SandboxError if the toolkit is closed, and JournalError if there is no such session, or no journal.
        """
        runs = self._runs if self.journal is not None or id is not None else None
        if runs is not None and upgrade:
            runs = runs.upgrading()
        return self._session(id, runs)

    def _session(self, id: str | None, runs: Runs | None) -> Session:  # noqa: A002 - as in `session`
        from ez_ptc.toolkit.execution.session import Session

        programs = self._access.open().session(recorded=runs is not None)
        recording = None
        try:
            if runs is not None:
                from ez_ptc.toolkit.execution.journaled.recording import Recording  # SQLite is not needed otherwise

                recording = Recording(runs, programs, id)
        except JournalError:
            programs.close()
            raise
        last = None if recording is None else recording.last_result()
        sequence = ProgramSequence(ToolkitIdentity(self._identity, [*self.tools]), runs, last=last)
        names = ShortNames(self.kept_results) if recording is None else recording.names(self.kept_results)
        channel = self._channel.with_scope(names)
        return Session(self, programs, channel, self.limits, sequence=sequence, recording=recording)
