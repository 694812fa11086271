"""Running programs: at once, step by step, again after a pause, and again with corrections."""

from __future__ import annotations

import inspect
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._lazy import lazy
from ez_ptc._sync import BlockingEvents, run_coroutine, to_thread_and_back
from ez_ptc.errors import JournalError
from ez_ptc.sandbox.execution import ExecutionResult
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.execution.channel import ToolChannel
from ez_ptc.toolkit.execution.observing import ThreadEvents, program_events
from ez_ptc.toolkit.execution.results import recorded
from ez_ptc.toolkit.execution.results.scopes import ResultAccess, ResultScope, ShortNames
from ez_ptc.toolkit.execution.telemetry import watched
from ez_ptc.toolkit.prompting.effects import effects_of
from ez_ptc.toolkit.validation import check_program
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.decisions import require_decisions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
    from pathlib import Path

    from ez_ptc.journal.journal import Journal
    from ez_ptc.results.store import ResultStore
    from ez_ptc.sandbox.events import ProgramEvent
    from ez_ptc.sandbox.execution import Limits
    from ez_ptc.sandbox.protocols import Observer
    from ez_ptc.toolkit.execution.runs import Execution, Runs
    from ez_ptc.toolkit.execution.session import Session
    from ez_ptc.toolkit.execution.shared_sandbox import SandboxAccess
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

    Repair = Callable[[str, str, list[dict[str, Any]]], "str | Awaitable[str | None] | None"]

__all__ = ["ProgramRunner"]

_RESUME: Final = "resume(run_id, {result.pending[0].id: True})"


class ProgramRunner:
    """The methods of `Toolkit` that run programs."""

    if TYPE_CHECKING:  # `Toolkit` has and documents them
        tools: Iterable[Tool[..., Any] | Any]
        limits: Limits
        on_tool_call: Callable[[dict[str, Any]], None] | None
        context: object
        approve: Approver | None
        reraise: tuple[type[BaseException], ...]
        allow_imports: Iterable[str]
        journal: Journal | str | Path | None
        _access: SandboxAccess
        kept_results: ResultStore

    @lazy
    def _channel(self) -> ToolChannel:
        settings = CallSettings(self.context, self.approve, self.reraise)
        channel = ToolChannel.of_tools(tuple(self.tools), settings, self.on_tool_call)
        recall = None if self.journal is None else partial(recorded.recall, self.open_journal())
        return replace(channel, access=ResultAccess(self.kept_results, recall=recall))

    @lazy
    def _runs(self) -> Runs:
        return self._runs_of(self.open_journal())

    def _runs_of(self, journal: Journal) -> Runs:
        from ez_ptc.toolkit.execution.runs import Runs

        return Runs(journal, tuple(self.tools), tuple(self.allow_imports))

    def open_journal(self) -> Journal:
        """Return the toolkit's journal. Raises JournalError if it has none."""
        if self.journal is None:
            message = "this toolkit has no journal: pass Toolkit(tools, journal='runs.db')"
            raise JournalError(message)
        return cast("Journal", self.journal)

    def _is_recorded(self, code: str, limits: Limits) -> bool:
        """Return whether the journal gets a run of a program: there is a journal, and the program can be started."""
        if self.journal is None:
            return False
        from ez_ptc.sandbox.process.runner import find_code_problem  # brings most of the sandbox with it

        return find_code_problem(code, limits) is None

    def execute(  # noqa: PLR0913 - users type them
        self,
        code: str,
        timeout: float | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: Callable[[dict[str, Any]], None] | None = None,
        repair: Repair | None = None,
        max_attempts: int = 3,
        run_id: str | None = None,
        principal: str | None = None,
    ) -> ExecutionResult:
        """Run a program and return its result. The program's errors are in the result, never raised.

        Args:
            code: The program.
            timeout: The maximum seconds it may run; by default, the toolkit's.
            context: The value of the tools' `Context` parameters, instead of the toolkit's.
            approve: The approver, instead of the toolkit's.
            on_tool_call: Called with the record of each finished call, in addition to the toolkit's.
            repair: Corrects a program that has failed: `repair(code, error, done)` returns another, or None to give up.
                `done` are the records of the calls that have succeeded and may have had an effect. It is not asked
                after a refusal (`is_denied`).
            max_attempts: The maximum number of programs to run, the first included.
            run_id: The id of the run in the journal, instead of a new one. Executing the same program with it again
                repeats nothing: an ended run returns its result, a paused one its pending calls, and a run without a
                live process goes on.
            principal: For whom the program runs, such as the id of a user. The run is bound to it or, without one, to
                the context: no other caller can continue it, or look it up by its id.

        Raises:
            TypeError: The program is no text, or another argument is of a wrong type.
            IsolationUnavailableError: The kernel lacks a required isolation feature.
            SandboxError: The sandbox failed, not the program; or the toolkit is closed.
            RunInProgressError: The run `run_id` is being executed.
            JournalError: The run cannot be recorded, and no further call was made; or `run_id` is the id of another
                program, principal or context.
        """
        check_program(code)
        # Before the tools are described, which takes as long as a part of the sandbox's boot.
        self._access.open()
        if self._channel.grants.has_async_tools or repair is not None:
            settings: dict[str, Any] = {"context": context, "approve": approve, "on_tool_call": on_tool_call}
            settings |= {"repair": repair, "max_attempts": max_attempts, "run_id": run_id, "principal": principal}
            return run_coroutine(partial(self.aexecute, **settings), code, timeout)
        channel = self._channel.with_settings(context, approve, on_tool_call, principal=principal)
        return self._execute(code, channel, self.limits.with_timeout(timeout), run_id=run_id)

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
        sandbox = watched(self._access.sandbox or self._access.open())
        if run_id is not None:
            self.open_journal()
        if not self._is_recorded(code, limits):
            if observe is not None:
                channel = replace(channel, observer=observe(uuid.uuid4().hex))
            return sandbox.execute(code, channel, limits)
        begun = self._begin(code, channel, limits, run_id=run_id)
        if isinstance(begun, ExecutionResult):
            return begun
        with begun as run:
            channel = run.channel
            if observe is not None:
                channel = replace(channel, observer=observe(run.row.id))
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
        on_tool_call: Callable[[dict[str, Any]], None] | None = None,
        observe: Callable[[str], Observer] | None = None,
        repair: Repair | None = None,
        max_attempts: int = 3,
        reraise: tuple[type[BaseException], ...] = (),
        run_id: str | None = None,
        principal: str | None = None,
        results: ResultScope | None = None,
    ) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it kills the program. `repair` may be asynchronous.

        `reraise` is added to the toolkit's. `observe` returns the receiver of a program's events, given its id, and
        `results` are the kept ones for it, instead of its caller's.
        """
        check_program(code)
        self._access.open()
        channel = self._channel.with_settings(context, approve, on_tool_call, reraise, principal).with_scope(results)
        limits = self.limits.with_timeout(timeout)
        result = await self._arun(code, channel, limits, observe=observe, run_id=run_id)
        attempts, done = list[ExecutionResult](), list[dict[str, Any]]()
        while repair and result.status == "failed" and not result.is_denied and len(attempts) + 1 < max_attempts:
            attempts.append(result)
            done += effects_of(result.tool_calls, self.tools)
            # The corrections of a run whose id was given have ids too, so that none is asked for or run twice.
            next_id = None if run_id is None else f"{run_id}.{len(attempts) + 1}"
            corrected: str | Awaitable[str | None] | None = None
            if next_id is not None:
                corrected = await to_thread_and_back(self._runs.correction_of, next_id, result.run_id)
            if corrected is None:
                corrected = repair(code, result.error_output.strip() or result.error or "", list(done))
            if inspect.isawaitable(corrected):
                corrected = await corrected
            if corrected is None:
                break
            code = corrected
            result = await self._arun(code, channel, limits, repairs=result.run_id, observe=observe, run_id=next_id)
        result.attempts = tuple(attempt for attempt in attempts if attempt is not result)
        return result

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
        sandbox = watched(self._access.open())
        if run_id is not None:
            self.open_journal()
        if not self._is_recorded(code, limits):
            if observe is not None:
                channel = replace(channel, observer=observe(uuid.uuid4().hex))
            return await sandbox.aexecute(code, channel, limits)
        begin = partial(self._begin, repairs=repairs, run_id=run_id)
        begun = await to_thread_and_back(begin, code, channel, limits)
        if isinstance(begun, ExecutionResult):
            return begun
        async with begun as run:
            channel = run.channel
            if observe is not None:
                channel = replace(channel, observer=observe(run.row.id))
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
        return ThreadEvents(partial(self._execute, code, self._channel, self.limits.with_timeout(timeout)))

    def astream(
        self,
        code: str,
        timeout: float | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: Callable[[dict[str, Any]], None] | None = None,
    ) -> AsyncGenerator[ProgramEvent]:
        """Same as `stream`, but iterates asynchronously. The other arguments are those of `aexecute`."""
        channel = self._channel.with_settings(context, approve, on_tool_call)
        check_program(code)
        return program_events(partial(self._arun, code, channel, self.limits.with_timeout(timeout)))

    # Runs of the journal ----------------------------------------------------------------------------------------------

    def resume(
        self,
        run_id: str,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: Callable[[dict[str, Any]], None] | None = None,
        principal: str | None = None,
    ) -> ExecutionResult:
        """Continue a run that has paused, or whose process died, and return its result.

        Args:
            run_id: The run's id.
            decisions: Decisions by the ids of `pending` calls: `Approve()`, `Approve({...})`, `Deny("reason")` or their
                short forms; for a call with an unknown outcome, `Happened(result)`, `DidNotHappen()` or `Deny("...")`.
            context: The value of the tools' `Context` parameters, instead of the toolkit's.
            approve: The approver, instead of the toolkit's; it is asked about calls without a decision.
            on_tool_call: Called with the record of each finished call, in addition to the toolkit's.
            principal: The one from the beginning of the run.

        Raises:
            RunInProgressError: The run is being executed.
            JournalError: The run is unknown, has ended, or began with another principal or context.
            DecisionError: A decision is about a call that is not pending, or does not fit it.
            ArgumentsError: The arguments of an approval do not fit the tool.
            OutcomeUnknownError: A call may have taken effect, and there is no decision about it.
            ReplayDivergedError: The toolkit, the library or the interpreter is not the run's.
            SandboxError: The sandbox failed, not the program.
        """
        decisions = require_decisions(decisions, _RESUME)
        if self._channel.grants.has_async_tools:
            settings: dict[str, Any] = {"context": context, "approve": approve, "on_tool_call": on_tool_call}
            return run_coroutine(partial(self.aresume, **settings, principal=principal), run_id, decisions)
        channel = self._channel.with_settings(context, approve, on_tool_call, principal=principal)
        session = self._runs.session_of(run_id)
        if session is not None:
            with self.session(session) as programs:
                return programs.resume_run(channel, decisions, run_id)
        sandbox = watched(self._access.open())
        with self._runs.resume(run_id, decisions, channel) as run:
            return run.finish(sandbox.execute(run.code, run.channel, run.limits))

    async def aresume(  # noqa: PLR0913 - the additions to an execution, as in `aexecute`
        self,
        run_id: str,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: Callable[[dict[str, Any]], None] | None = None,
        observe: Callable[[str], Observer] | None = None,
        reraise: tuple[type[BaseException], ...] = (),
        principal: str | None = None,
        results: ResultScope | None = None,
    ) -> ExecutionResult:
        """Same as `resume`, but awaits. `observe`, `reraise` and `results` are those of `aexecute`."""
        decisions = require_decisions(decisions, _RESUME)
        channel = self._channel.with_settings(context, approve, on_tool_call, reraise, principal).with_scope(results)
        session = await to_thread_and_back(self._runs.session_of, run_id)
        if session is not None:
            async with await to_thread_and_back(self.session, session) as programs:
                return await programs.aresume_run(channel, decisions, run_id, observe=observe)
        sandbox = watched(self._access.open())
        async with await to_thread_and_back(self._runs.resume, run_id, decisions, channel) as run:
            channel = run.channel
            if observe is not None:
                channel = replace(channel, observer=observe(run_id))
            return await to_thread_and_back(run.finish, await sandbox.aexecute(run.code, channel, run.limits))

    def find_result(
        self, run_id: str, *, context: object = NO_CONTEXT, principal: str | None = None
    ) -> ExecutionResult | None:
        """Return the result of a run, or None if it has not ended. Raises JournalError as `resume` does."""
        return self._runs.find_result(run_id, self._channel.with_settings(context, None, None, principal=principal))

    def replay(self, run_id: str, *, journal: Journal | None = None) -> ExecutionResult:
        """Run a finished program from its record, without calling a tool, and return its result, which is the same.

        Raises ReplayDivergedError if it is not, or if the toolkit, the library or the interpreter is not the run's.
        """
        runs = self._runs if journal is None else self._runs_of(journal)
        session = runs.session_of(run_id)
        if session is not None:
            with self._session(session, runs) as programs:
                return programs.replay(run_id)
        replay = runs.replay(run_id, self._channel, runs.journal)
        return replay.compare(watched(self._access.open()).execute(replay.code, replay.channel, replay.limits))

    # Sessions ---------------------------------------------------------------------------------------------------------

    def session(self, id: str | None = None) -> Session:  # noqa: A002 - what callers call it
        """Return a session, whose programs share their variables. Close it before the toolkit.

        Args:
            id: The id of a session in the journal, to continue it: its programs are run again from their records,
                without calling a tool.

        Raises:
            SandboxError: The toolkit is closed.
            JournalError: There is no such session, or no journal.
        """
        runs = self._runs if self.journal is not None or id is not None else None
        return self._session(id, runs)

    def _session(self, id: str | None, runs: Runs | None) -> Session:  # noqa: A002 - as in `session`
        from ez_ptc.toolkit.execution.session import Session

        programs = self._access.open().session(recorded=runs is not None)
        recording = None
        try:
            if runs is not None:
                from ez_ptc.toolkit.execution.recording import Recording  # SQLite is not needed otherwise

                recording = Recording(runs, programs, id)
        except JournalError:
            programs.close()
            raise
        names = ShortNames(self.kept_results) if recording is None else recording.names(self.kept_results)
        return Session(self, programs, self._channel.with_scope(names), self.limits, recording=recording)
