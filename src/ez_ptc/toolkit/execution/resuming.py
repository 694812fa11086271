"""Journaled runs of a toolkit: continuing those that have paused or lost their process, and replaying others."""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._lazy import lazy
from ez_ptc._sync import run_coroutine, to_thread_and_back
from ez_ptc.errors import JournalError
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.execution.channel import ToolChannel
from ez_ptc.toolkit.execution.continuing import FailedProgram, ToolkitIdentity
from ez_ptc.toolkit.execution.results import recorded
from ez_ptc.toolkit.execution.results.scopes import ResultAccess
from ez_ptc.toolkit.execution.telemetry import watched
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.decisions import require_decisions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from ez_ptc.journal.journal import Journal
    from ez_ptc.results.store import ResultStore
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.sandbox.protocol.interfaces import Observer
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.toolkit.catalog.searching import ToolSearch
    from ez_ptc.toolkit.execution.journaled.runs import Runs
    from ez_ptc.toolkit.execution.results.scopes import OfferedResults, ResultScope
    from ez_ptc.toolkit.execution.session import Session
    from ez_ptc.toolkit.execution.shared_sandbox import SandboxAccess
    from ez_ptc.toolkit.shapes.observing import ResultObserver
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

__all__ = ["RunResumer"]

_RESUME: Final = "resume(run_id, {result.pending[0].id: True})"


class RunResumer:
    """The methods of `Toolkit` that record runs in a journal, continue them, and replay others."""

    if TYPE_CHECKING:  # `Toolkit` and `ProgramRunner` have and document them
        tools: Iterable[Tool[..., Any] | Any]
        on_tool_call: OnToolCall | None
        context: object
        approve: Approver | None
        reraise: tuple[type[BaseException], ...]
        allow_imports: Iterable[str]
        journal: Journal | str | Path | None
        session: Callable[[str], Session]
        _access: SandboxAccess
        tool_search: Callable[[], ToolSearch]
        kept_results: ResultStore
        observed_shapes: ResultObserver | None
        _session: Callable[[str | None, Runs | None], Session]

    @lazy
    def _channel(self) -> ToolChannel:
        settings = CallSettings(self.context, self.approve, self.reraise)
        channel = ToolChannel.of_tools(tuple(self.tools), settings, self.on_tool_call, self.tool_search())
        recall = None if self.journal is None else partial(recorded.recall, self.open_journal())
        return replace(channel, access=ResultAccess(self.kept_results, recall=recall), shapes=self.observed_shapes)

    @lazy
    def _runs(self) -> Runs:
        return self._runs_of(self.open_journal())

    def _runs_of(self, journal: Journal) -> Runs:
        from ez_ptc.journal.fingerprint import Fingerprint
        from ez_ptc.toolkit.execution.journaled.runs import Runs

        interpreter = self._access.open().interpreter
        return Runs(journal, Fingerprint(tuple(self.tools), tuple(self.allow_imports), interpreter))

    def open_journal(self) -> Journal:
        """Return the toolkit's journal. Raises JournalError if it has none."""
        if self.journal is None:
            message = "this toolkit has no journal: pass Toolkit(tools, journal='runs.db')"
            raise JournalError(message)
        return cast("Journal", self.journal)

    @lazy
    def _identity(self) -> str:
        return secrets.token_hex(16)

    def _note_progress(self, result: ExecutionResult, channel: ToolChannel, code: str) -> ExecutionResult:
        """Return the result of a program of this toolkit, to be continued if it has failed."""
        FailedProgram.note(result, channel, ToolkitIdentity(self._identity, [*self.tools]), code)
        return result

    def results_of(self, principal: str | None = None, *, context: object = NO_CONTEXT) -> ResultScope:
        """Return the kept results of a caller, as its programs read them.

        The caller is the `principal` or, without one, the `context`, by default the toolkit's. Raises ValueError if the
        principal is not a short text.
        """
        channel = self._channel.with_settings(context, None, None, principal=principal)
        return cast("OfferedResults", channel.results).scope

    def resume(  # noqa: PLR0913 - users type them
        self,
        run_id: str,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        principal: str | None = None,
        upgrade: bool = False,
    ) -> ExecutionResult:
        """Continue a run that has paused, or whose process died, and return its result.

        Args:
            run_id: The run's id.
            decisions: Decisions by the ids of `pending` calls: `Approve()`, `Approve({...})`, `Deny("reason")` or their
                short forms; for a call with an unknown outcome, `Happened(result)`, `DidNotHappen()` or `Deny("...")`.
            context, approve, on_tool_call: As in `execute`; the approver is asked about calls without a decision.
            principal: The one from the beginning of the run.
            upgrade: Whether it may go on with another minor version of Python, if the program makes its recorded calls
                and its output again there. Otherwise nothing is run, and it can be resumed where it was recorded.

        Raises:
            RunInProgressError: The run is being executed.
            JournalError: The run is unknown, has ended, or began with another principal or context.
            DecisionError, ArgumentsError: A decision is about a call that is not pending, or does not fit the tool.
            OutcomeUnknownError: A call may have taken effect, and there is no decision about it.
            ReplayDivergedError: The program does not make its recorded calls again, or a tool has changed.
            SandboxError: The sandbox failed, not the program.
        """
        decisions = require_decisions(decisions, _RESUME)
        if self._channel.grants.has_async_tools:
            settings: dict[str, Any] = {"context": context, "approve": approve, "on_tool_call": on_tool_call}
            settings |= {"principal": principal, "upgrade": upgrade}
            return run_coroutine(partial(self.aresume, **settings), run_id, decisions)
        channel = self._channel.with_settings(context, approve, on_tool_call, principal=principal)
        runs = self._runs.upgrading() if upgrade else self._runs
        session = runs.session_of(run_id)
        if session is not None:
            with self._session(session, runs) as programs:
                return programs.resume_run(channel, decisions, run_id)
        sandbox = watched(self._access.open())
        with runs.resume(run_id, decisions, channel) as run:
            result = run.finish(sandbox.execute(run.code, run.channel, run.limits))
        return self._note_progress(result, channel, run.code)

    async def aresume(  # noqa: PLR0913 - the additions to an execution, as in `aexecute`
        self,
        run_id: str,
        decisions: Mapping[str, object] | None = None,
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: OnToolCall | None = None,
        observe: Callable[[str], Observer] | None = None,
        reraise: tuple[type[BaseException], ...] = (),
        principal: str | None = None,
        results: ResultScope | None = None,
        upgrade: bool = False,
    ) -> ExecutionResult:
        """Same as `resume`, but awaits. `observe`, `reraise` and `results` are those of `aexecute`."""
        decisions = require_decisions(decisions, _RESUME)
        channel = self._channel.with_settings(context, approve, on_tool_call, reraise, principal).with_scope(results)
        runs = self._runs.upgrading() if upgrade else self._runs
        session = await to_thread_and_back(runs.session_of, run_id)
        if session is not None:
            opened = to_thread_and_back(self._session, session, runs, undo=lambda programs: programs.close())
            async with await opened as programs:
                return await programs.aresume_run(channel, decisions, run_id, observe=observe)
        sandbox = watched(self._access.open())
        begun = to_thread_and_back(runs.resume, run_id, decisions, channel, undo=lambda run: run.release())
        async with await begun as run:
            channel = run.channel
            if observe is not None:
                channel = replace(channel, observer=observe(run_id))
            result = await to_thread_and_back(run.finish, await sandbox.aexecute(run.code, channel, run.limits))
        return self._note_progress(result, channel, run.code)

    def find_result(
        self, run_id: str, *, context: object = NO_CONTEXT, principal: str | None = None
    ) -> ExecutionResult | None:
        """Return the result of a run, or None if it has not ended. Raises JournalError as `resume` does."""
        return self._runs.find_result(run_id, self._channel.with_settings(context, None, None, principal=principal))

    def replay(self, run_id: str, *, journal: Journal | None = None, upgrade: bool = False) -> ExecutionResult:
        """Run a finished program from its record, without calling a tool, and return its result, which is the same.

        With `upgrade`, another minor version of Python may have recorded it; then calls and output are compared.
        Raises ReplayDivergedError if they are not the same, or if the toolkit or the interpreter is not the run's.
        """
        runs = self._runs if journal is None else self._runs_of(journal)
        if upgrade:
            runs = runs.upgrading()
        session = runs.session_of(run_id)
        if session is not None:
            with self._session(session, runs) as programs:
                return programs.replay(run_id)
        replay = runs.replay(run_id, self._channel, runs.journal)
        return replay.compare(watched(self._access.open()).execute(replay.code, replay.channel, replay.limits))
