"""Journaled executions: starting, continuing and replaying the runs of a toolkit."""

from __future__ import annotations

import time
import uuid
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ez_ptc.errors import JournalError, RunInProgressError
from ez_ptc.journal.arguments.sealing import CallRules, Seal, key_name
from ez_ptc.journal.recorder import RunRecorder
from ez_ptc.journal.results import call_records
from ez_ptc.journal.run import in_progress
from ez_ptc.journal.states import FINISHED
from ez_ptc.sandbox.protocol.both_ends.source_repairs import SOURCE_RULES
from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.toolkit.execution.callers import check_run_id
from ez_ptc.toolkit.execution.journaled.earlier_runs import (
    SessionPlace,
    SessionRuns,
    collect_calls,
    continuation_data,
    earlier_calls,
    own_chain,
    require_own_run,
)
from ez_ptc.toolkit.execution.journaled.executions import Execution, Replay
from ez_ptc.toolkit.execution.results.recorded import parts_of_program
from ez_ptc.tools.decisions import Approve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.journal.arguments.sealing import Policy
    from ez_ptc.journal.fingerprint import Fingerprint
    from ez_ptc.journal.journal import Journal
    from ez_ptc.journal.record import RunRecord
    from ez_ptc.journal.rows import RunRow
    from ez_ptc.journal.run import Run
    from ez_ptc.journal.states import RunState
    from ez_ptc.sandbox.protocol.replies import DoneCall
    from ez_ptc.toolkit.execution.channel import ToolChannel
    from ez_ptc.tools.tool import Tool

__all__ = ["Runs"]


class _Plan(NamedTuple):
    """What an execution needs of a run's record, read before the run is claimed."""

    limits: Limits
    rules: CallRules
    channel: ToolChannel


@dataclass(frozen=True)
class Runs:
    """Starts and continues the journaled runs of one toolkit."""

    journal: Journal
    fingerprint: Fingerprint

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools of the toolkit."""
        return self.fingerprint.tools

    def upgrading(self) -> Runs:
        """Return the same, but runs may go on with another minor version of Python."""
        return replace(self, fingerprint=replace(self.fingerprint, may_upgrade=True))

    def start(
        self,
        code: str,
        channel: ToolChannel,
        limits: Limits,
        *,
        place: SessionPlace | None = None,
        repairs: str | None = None,
        run_id: str | None = None,
    ) -> Execution:
        """Start a run, at a place in a session; `repairs` is the id of the failed one that it corrects.

        Raises JournalError if it cannot be recorded, or if there is a run of the id `run_id`.
        """
        is_chosen = run_id is not None
        run_id = run_id or uuid.uuid4().hex
        place = place or SessionPlace.first("", limits.seed)
        session, clock_ns = place.session, place.clock_ns
        if place.position and clock_ns is not None:
            clock_ns = time.time_ns()  # a session may be hours old
        limits = replace(limits, seed=place.seed)
        data = {**self.fingerprint.to_json(code), "limits": asdict(limits), "clock_ns": clock_ns, "repairs": repairs}
        # Earlier versions recorded no schedule, and knew the first rules alone.
        data |= {"scheduled": True, "source_rules": SOURCE_RULES}
        data |= {"caller": channel.caller.to_json(run_id), **continuation_data(channel)}
        key = key_name(self.journal.store, (tool.definition for tool in self.tools))
        if key is not None:
            data["key"] = key
        if is_chosen:
            data["keys"] = uuid.uuid4().hex
        data["results"] = channel.results and channel.results.offer(code)
        holder = object()
        try:
            own_chain(self.journal, channel.earlier, holder)
            row, record = self.journal.start(
                code, data, session=session, position=place.position, run_id=run_id, holder=holder
            )
            return self._execution(row, record, self._plan(record, channel), holder)
        except BaseException:  # an interruption as well: no one would execute the run
            self.journal.give_up(holder)
            raise

    def open(
        self, code: str, channel: ToolChannel, limits: Limits, *, run_id: str, repairs: str | None = None
    ) -> Execution | ExecutionResult:
        """Start a run, or go on with that of the same id, program and caller: return an execution, or its result.

        Raises:
            RunInProgressError: Its owner lives.
            JournalError: The id is that of another program or caller, or the run cannot be recorded or continued.
        """
        check_run_id(run_id)
        channel.caller.require_identity(run_id)
        known = self.journal.known_run(run_id)
        try:
            if known is None:
                return self.start(code, channel, limits, repairs=repairs, run_id=run_id)
            if self._look_up(*known, code, channel) == "resumable":
                return self.resume(run_id, {}, channel)
        except RunInProgressError:
            raise
        except JournalError:
            before, known = known, self.journal.known_run(run_id)
            # Another caller may have begun or ended the run in this moment.
            if known is None or (before is not None and before[0].state == known[0].state):
                raise
            if self._look_up(*known, code, channel) == "resumable":
                raise
        run, record = known
        return run.result if run.result is not None and run.state != "outcome_unknown" else _waiting_result(run, record)

    def _look_up(self, run: Run, record: RunRecord, code: str, channel: ToolChannel) -> RunState:
        """Return the state of a run looked up by its id. Raises as `open` does."""
        channel.caller.require_owner(run.id, record.start.data.get("caller"), is_lookup=True)
        if run.program != code or run.session is not None:
            message = f"run {run.id} is of another program: give this one an id of its own; nothing was run"
            raise JournalError(message)
        if run.state == "running":
            raise in_progress(run.id, run.owner)
        return run.state

    def find_result(self, run_id: str, channel: ToolChannel) -> ExecutionResult | None:
        """Return the result of a caller's own run, or None if it has not ended. Raises JournalError otherwise."""
        known = self.journal.known_run(run_id)
        if known is None:
            return None
        run, record = known
        channel.caller.require_owner(run_id, record.start.data.get("caller"))
        return run.result if run.state in FINISHED else None

    def correction_of(self, run_id: str, failed: str | None) -> str | None:
        """Return the program of the run `run_id` if it corrects the failed run, or None if there is no such run."""
        known = self.journal.known_run(run_id)
        if known is None or known[1].start.data.get("repairs") != failed:
            return None
        return known[0].program

    def program_of(self, run_id: str) -> str:
        """Return the program of a run. Raises JournalError if the run is unknown."""
        return self.journal.run(run_id).program

    def session_of(self, run_id: str) -> str | None:
        """Return the id of a run's session, or None. Raises JournalError for an unknown run."""
        return self.journal.session_of(run_id) or None

    def session_runs(self, session: str) -> SessionRuns:
        """Return what the journal has of a session. Raises JournalError if it has none of that id."""
        rows = self.journal.session_rows(session)
        if not rows:
            message = f"the journal has no session {safe_repr(session)}: open a new one with toolkit.session()"
            raise JournalError(message)
        data = rows[0][1].start.data
        unfinished = [row for row, _ in rows if row.state not in FINISHED]
        kept = [row.id for row, record in rows if record.ending is not None and not record.ending.data.get("lost")]
        kept = [run_id for run_id in kept if run_id not in {row.id for row in unfinished}]
        place = SessionPlace(session, len(rows), data["limits"]["seed"], data["clock_ns"])
        waiting = unfinished[0].id if unfinished else None
        last, record = rows[-1]
        results = (
            *(record.start.data.get("results") or ()),
            *parts_of_program(self.journal.run(last.id).result, len(rows)),
        )
        failed = last.id if last.state == "failed" else None
        return SessionRuns(place, tuple(kept), waiting, rows[0][0].id, data.get("caller"), tuple(results), failed)

    def resume(self, run_id: str, answers: Mapping[str, object], channel: ToolChannel) -> Execution:
        """Continue a run. Raises JournalError, before anything runs, if that is not possible."""
        plans, holder = list[_Plan](), object()

        def check(record: RunRecord, decisions: Mapping[str, object]) -> None:
            channel.caller.require_owner(run_id, record.start.data.get("caller"))
            self.fingerprint.require_fit(record)
            record.require_readable()
            plans.append(self._plan(record, channel))
            if len(plans) == 1:
                own_chain(self.journal, plans[0].channel.earlier, holder)
            for path, decision in decisions.items():
                # Masks need not fit; where they stand is checked again with the secrets that the program makes.
                is_masked = bool(record.calls[path].secrets)
                if isinstance(decision, Approve) and decision.arguments is not None and not is_masked:
                    # An edited call that would not run is refused now: the binder raises ArgumentsError.
                    name = record.calls[path].tool
                    (definition,) = [tool.definition for tool in self.tools if tool.name == name]
                    definition.binder.bind((), decision.arguments, context=channel.context_of(name))

        try:
            row, record = self.journal.claim(run_id, answers, check, holder)
            return self._execution(row, record, plans[-1], holder)
        except BaseException:  # an interruption as well: no one would execute the run
            self.journal.give_up(holder)
            raise

    def replay(self, run_id: str, channel: ToolChannel, journal: Journal) -> Replay:
        """Return an execution that repeats a finished run from its record.

        Raises JournalError if it has not finished.
        """
        row, record = journal.read_ended(run_id)
        self.fingerprint.require_fit(record)
        record.require_readable()
        plan = self._plan(record, channel)
        recorder = self._recorder(row, record, plan.rules, is_replay=True)
        is_other = self.fingerprint.is_other_python(record)
        channel = replace(plan.channel, recorder=recorder)
        return Replay(recorder, record, record.program, channel, plan.limits, journal.run(run_id), is_other)

    def _plan(self, record: RunRecord, channel: ToolChannel) -> _Plan:
        """Return what an execution needs of a record, all of it. Raises JournalError if that cannot be used."""
        policies: dict[str, Policy] = {}
        for tool in self.tools:
            if tool.read_only is True:
                policies[tool.name] = "reader"
            elif tool.idempotent:
                policies[tool.name] = "idempotent"
            else:
                policies[tool.name] = "once"
        channel = channel.with_offer(record.start.data.get("results"))
        if channel.finders is not None:
            policies |= dict.fromkeys(channel.finders.by_name, "reader")
        if channel.results is not None and channel.results.names is not None:
            policies |= dict.fromkeys(channel.results.grants.by_name, "reader")
        seal = Seal.of(self.journal.store, record.run_id, record.start.data, (tool.definition for tool in self.tools))
        earlier = earlier_calls(self.journal, record, channel)
        channel = replace(channel.restricted_to(set(record.start.data["tools"])), earlier=earlier)
        return _Plan(record.limits(), CallRules(policies, seal), channel)

    def _recorder(self, row: RunRow, record: RunRecord, rules: CallRules, *, is_replay: bool = False) -> RunRecorder:
        upgrade = None if record.versions == self.fingerprint.versions else self.fingerprint.versions
        return RunRecorder(self.journal.store, row, record, rules, is_replay=is_replay, upgrade=upgrade)

    def _execution(self, row: RunRow, record: RunRecord, plan: _Plan, holder: object) -> Execution:
        recorder = self._recorder(row, record, plan.rules)
        channel = replace(plan.channel, recorder=recorder)
        return Execution(self.journal, row, record, recorder, record.program, channel, plan.limits, holder)

    def collect_calls(self, run_id: str, channel: ToolChannel | None) -> list[DoneCall]:
        """Return the calls of a failed run and those it continues; with a channel, of its caller's own runs only.

        Raises JournalError if the run is unknown, another caller's, or of another toolkit's tools.
        """
        if channel is not None:
            self.fingerprint.require_tools(require_own_run(self.journal, run_id, channel))
        return collect_calls(self.journal, run_id)


def _waiting_result(run: Run, record: RunRecord) -> ExecutionResult:
    """Return the result of a waiting run without a recorded one."""
    names = ", ".join(call.tool for call in run.pending)
    return ExecutionResult(
        success=False,
        status="paused",
        error=f"the program waits for a decision about {names}",
        tool_calls=call_records(record),
        run_id=run.id,
        pending=run.pending,
    )
