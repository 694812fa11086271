"""The programs of a journaled session, and what its process runs for them."""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ez_ptc.errors import JournalError
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.toolkit.execution.journaled.earlier_runs import SessionPlace
from ez_ptc.toolkit.execution.results.recorded import name_parts, recall_in_session
from ez_ptc.toolkit.execution.results.scopes import ShortNames

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from ez_ptc.results.store import ResultStore
    from ez_ptc.sandbox.protocol.execution import Limits
    from ez_ptc.sandbox.protocol.interfaces import SandboxSession
    from ez_ptc.toolkit.execution.channel import ToolChannel
    from ez_ptc.toolkit.execution.journaled.earlier_runs import SessionRuns
    from ez_ptc.toolkit.execution.journaled.executions import Execution, Replay
    from ez_ptc.toolkit.execution.journaled.runs import Runs

__all__ = ["Recording", "Step", "Steps"]


class Step(NamedTuple):
    """What the session's process runs next; `run_id` is that of the caller's own program, not of one before it."""

    code: str
    channel: ToolChannel
    limits: Limits
    run_id: str | None = None


Steps: TypeAlias = "Generator[Step, ExecutionResult, ExecutionResult]"
"""Yields what the session's process runs next, gets its result, and returns the last one."""


class Recording:
    """The runs of a journaled session, and what its process has to run for them.

    `kept` are the runs whose variables the session has, in order; if its process is new, they are run again first.
    """

    def __init__(self, runs: Runs, programs: SandboxSession, session: str | None) -> None:
        """Begin a session, or continue the one with the id `session`. Raises JournalError if there is none."""
        self._runs = runs
        self._programs = programs
        self._kept: list[str] = []
        self._unfinished: str | None = None
        self._recorded: SessionRuns | None = None
        if session is None:
            self._place = SessionPlace.first(uuid.uuid4().hex, None)
        else:
            self._recorded = recorded = runs.session_runs(session)
            self._place, self._unfinished = recorded.place, recorded.unfinished
            self._kept += recorded.kept

    @property
    def id(self) -> str:
        """The session's id."""
        return self._place.session

    def names(self, store: ResultStore) -> ShortNames:
        """Return the kept results of the session: of one that is continued, those that the journal has."""
        earlier = () if self._recorded is None else self._recorded.results
        recall = partial(recall_in_session, self._runs.journal, self._place.session)
        return ShortNames(store, recall=recall, earlier=earlier)

    def last_result(self) -> ExecutionResult | None:
        """Return the last program's result, as far as a program that continues it has to know, or None."""
        if self._recorded is None or self._recorded.failed is None:
            return None
        return ExecutionResult(success=False, status="failed", run_id=self._recorded.failed)

    def steps(self, code: str, channel: ToolChannel, limits: Limits) -> Steps:
        """Yield what runs a program. Raises JournalError if another one waits."""
        if self._unfinished is not None:
            message = f"the session waits for its program {self._unfinished}: resume it first, session.resume(...)"
            raise JournalError(message)
        if self._recorded is not None:  # a session's id alone gives no one the variables of another
            self._recorded.require_owner(channel)
        yield from self._rebuild(channel)
        place = self._place
        start = partial(self._runs.start, code, channel, limits, place=place)
        return (yield from self._execute(start))

    def resuming(self, decisions: Mapping[str, object], channel: ToolChannel, run_id: str | None = None) -> Steps:
        """Yield what continues the program that waits. Raises JournalError if none does, or not the run `run_id`."""
        if self._unfinished is None:
            message = "no program of this session waits: run the next one with session.execute(...)"
            raise JournalError(message)
        if run_id not in {None, self._unfinished}:
            message = f"run {run_id} does not wait, but the next one of its session does: {self._unfinished}"
            raise JournalError(message)
        yield from self._rebuild(channel)
        return (yield from self._execute(partial(self._runs.resume, self._unfinished, decisions, channel)))

    def replaying(self, run_id: str, channel: ToolChannel) -> Steps:
        """Yield what runs the programs up to `run_id` again. Raises JournalError if it is none of them."""
        if run_id not in self._kept:
            message = f"run {run_id} is no finished program of this session, or its variables were lost"
            raise JournalError(message)
        del self._kept[self._kept.index(run_id) + 1 :]
        return (yield from self._rebuild(channel))

    def _execute(self, begin: Callable[[], Execution]) -> Steps:
        with begin() as run:
            if self._unfinished is None:
                self._place = self._place.following()
            self._unfinished = run.row.id
            result = yield Step(run.code, run.channel, run.limits, run.row.id)
            is_lost = self._programs.is_fresh
            result = run.finish(result, is_lost=is_lost)
            name_parts(result, f"r{self._place.position}")
        if result.status != "paused":
            self._unfinished = None
            if not is_lost:
                self._kept.append(run.row.id)
        return result

    def _rebuild(self, channel: ToolChannel) -> Steps:
        """Yield the programs whose variables a new process does not have; return the last one's result."""
        result: Any = None
        if self._programs.is_fresh:
            for run_id in self._kept:
                replay: Replay = self._runs.replay(run_id, channel, self._runs.journal)
                result = replay.compare((yield Step(replay.code, replay.channel, replay.limits)))
        return result
