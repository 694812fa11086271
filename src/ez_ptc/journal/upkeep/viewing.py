"""What a page shows of a run, from its events."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.errors import JournalError
from ez_ptc.journal.record import RunRecord, pending_id
from ez_ptc.journal.recorded.progress import read_progress
from ez_ptc.journal.results import call_record, result_from_bytes
from ez_ptc.journal.rows import find_run, verify_run, verify_start
from ez_ptc.journal.run import principal_of
from ez_ptc.journal.upkeep.listing import corrected_by
from ez_ptc.messages import PendingCall
from ez_ptc.sandbox.check.reading.earlier_rules import repairs_by
from ez_ptc.sandbox.check.reading.reflow import unfold_certain_statements
from ez_ptc.sandbox.check.reading.source_repair import SourceRepair
from ez_ptc.sandbox.protocol.both_ends.source_repairs import repair_note
from ez_ptc.sandbox.protocol.tool_types import parse_source
from ez_ptc.tools.approvals.questions import write_question
from ez_ptc.tools.decisions import Approve, Deny
from ez_ptc.view.runs import AttemptView, CallView, DecisionView, ProgramSpan, RunView, SessionEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ez_ptc.journal.chain import Event
    from ez_ptc.journal.record import CallState
    from ez_ptc.journal.run import Run
    from ez_ptc.journal.stores.protocol import RunRow, RunRows
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.view import runs

__all__ = ["find_error_line", "list_attempts", "show_source", "view_call", "view_result", "view_run"]

_MAX_ATTEMPTS: Final = 10
# A correction starts soon after the failure; others may start runs in between.
_MAX_BETWEEN: Final = 20


def list_attempts(rows: RunRows, row: RunRow) -> tuple[AttemptView, ...]:
    """Return a run between the runs it corrects and those that correct it, in order; none if it is alone."""
    attempts = [row]
    with suppress(JournalError):  # it was pruned: the others are shown all the same
        while len(attempts) < _MAX_ATTEMPTS and (failed := corrected_by(rows, attempts[0])):
            attempts.insert(0, find_run(rows, failed))
    while attempts[-1].state == "failed" and len(attempts) < _MAX_ATTEMPTS:
        later = rows.after(attempts[-1].number, _MAX_BETWEEN)
        correction = next((other for other in later if corrected_by(rows, other) == attempts[-1].id), None)
        if correction is None:
            break
        attempts.append(correction)
    if len(attempts) == 1:
        return ()
    return tuple(_view_attempt(rows, attempt) for attempt in attempts)


def _view_attempt(rows: RunRows, row: RunRow) -> AttemptView:
    error = None
    try:
        record = RunRecord.of(row.id, verify_run(rows, row))
        if record.ending is not None and record.ending.payload is not None:
            error = result_from_bytes(record.ending.payload, row.id, record, has_calls=False).error
    except JournalError:
        return AttemptView(row.id, "damaged", "")
    return AttemptView(row.id, row.state, record.program, error)


_MAX_ENTRIES: Final = 100
# The maximum characters of a program that is read here as a worker reads it: it has no limits of time here.
_MAX_READ: Final = 20_000
_LINE: Final = re.compile(r'^  File "<program[^"\n]*", line (\d{1,9})', re.MULTILINE)


def show_source(view: RunView, rules: int) -> RunView:
    """Return a page with the source whose lines the run's record counts, repaired as its worker did by these rules."""
    source = _find_source(view.program, rules)
    return replace(view, program=source.program, program_note=repair_note(source.keys))


def _find_source(program: str, rules: int) -> SourceRepair:
    """Return the source that a worker reads a program as; a long one is not repaired."""
    unchanged = SourceRepair(program, ())
    if len(program) > _MAX_READ:
        return unchanged
    unwrap, repair = repairs_by(rules)
    try:
        return unwrap(program, parse_source(program)) or unchanged
    except SyntaxError:
        unfolded = unfold_certain_statements(program)
        return repair(program) or (SourceRepair(unfolded, ("statements",)) if unfolded else unchanged)
    except (ValueError, RecursionError, MemoryError):  # raised by the parser
        return unchanged


def view_run(rows: RunRows, row: RunRow, events: Sequence[Event], run: Run, record: RunRecord) -> RunView:
    """Return a run for its page, with its program as given: from its verified events, and what was made of them."""
    times = _CallTimes(row.id, events)
    is_owned = run.state == "running"
    tools = record.start.data["tools"]
    calls = [view_call(row, call, times, is_owned=is_owned) for call in record.calls.values() if call.tool in tools]
    if is_owned:  # a call that may be repeated is recorded with its reply
        calls += [
            CallView(path, call.tool, "running", None, line=call.line, started=call.first, progress=call.progress)
            for path, call in times.reported.items()
            if path not in record.calls and call.tool in tools
        ]
    return RunView(
        id=row.id,
        state=run.state,
        program=run.program,
        created=row.created,
        changed=row.changed,
        # By their places in the program: parallel calls arrive in any order.
        calls=tuple(sorted(calls, key=lambda call: [*map(int, call.path.split("."))])),
        spans=tuple(_spans(events)),
        session=run.session,
        entries=_session_entries(rows, row),
        attempts=list_attempts(rows, row),
        principal=principal_of(record.start),
        owner=row.owner,
        events=row.events,
        head=row.head.hex(),
        **view_result(run.result),
    )


def view_result(result: ExecutionResult | None) -> dict[str, Any]:
    """Return the fields of a page that come from a result."""
    if result is None:
        return {}
    error = result.error
    if result.status == "paused":
        error = None
    return {
        "output": result.output,
        "error_output": result.error_output,
        "error": error,
        "error_line": find_error_line(result.error_output, error or ""),
        "has_value": result.return_value is not None,
        "value": result.return_value,
        "described": result.described,
        "images": tuple(result.images),
        "truncated": result.truncated,
    }


def find_error_line(error_output: str, error: str) -> int:
    """Return the line of the program where its last traceback ends, or 0.

    What stands behind the beginning of the message is the message's own text.
    """
    end = error_output.rfind("\n" + error.partition("\n")[0])
    lines = ["0", *_LINE.findall(error_output, 0, max(end, 0))]
    return int(lines[-1])


class _CallTimes:
    """When the calls of a run were asked about, began and ended, what they reported, and their lines in the program."""

    def __init__(self, run_id: str, events: Sequence[Event]) -> None:
        self.reported = read_progress(events)
        self.asked: dict[str, float] = {}
        self.began: dict[str, float] = {}
        self.ended: dict[str, float] = {}
        self.lines: dict[str, int] = {}
        self.schemas: dict[str, Any] = {}
        self.asked_about: dict[str, dict[str, Any]] = {}
        for event in events:
            if event.kind == "pending":
                self.asked[event.path] = event.time
                self.schemas[event.path] = event.data.get("schema")
                self.asked_about[event.path] = RunRecord.of(run_id, (events[0], event)).calls[event.path].arguments
            elif event.kind == "intent":
                self.began[event.path] = event.time
            elif event.kind == "result":
                self.ended[event.path] = event.time
                # A reader's intent is written with its result.
                if self.began.get(event.path, event.time) >= event.time:
                    self.began[event.path] = event.time - float(event.data["duration_ms"]) / 1000
            line = event.data.get("line")
            if type(line) is int:
                self.lines[event.path] = line


def view_call(row: RunRow, call: CallState, times: _CallTimes, *, is_owned: bool) -> CallView:
    """Return a call for the page of its run, which has a live owner or none."""
    path = call.path
    reported = times.reported.get(path)
    values = call_record(row.id, call, is_owned=is_owned)
    question = digest = ""
    if call.is_pending or call.is_unknown:
        state, arguments = call.state(is_owned=is_owned), call.arguments
        if state is None:  # a person has decided, and may have edited the arguments in the question
            state, arguments = "needs_approval", times.asked_about[path]
        pending = PendingCall(pending_id(row.id, path), call.tool, arguments, path, state)
        question, digest = write_question(pending), pending.digest
    return CallView(
        path=path,
        tool=call.tool,
        state=_state(call, is_owned=is_owned),
        arguments=call.arguments,
        result=values["result"],
        error=call.reply and call.reply.error,
        line=times.lines.get(path, 0),
        started=times.began.get(path),
        ended=times.ended.get(path),
        asked=times.asked.get(path),
        question=question,
        decision=call.decided and _view_decision(call, call.decided),
        schema=times.schemas.get(path),
        secrets=call.secrets,
        digest=digest,
        progress=reported and reported.progress,
    )


def _state(call: CallState, *, is_owned: bool) -> runs.CallState:
    if call.reply is None:
        if isinstance(call.decision, Deny):
            return "denied"
        return call.state(is_owned=is_owned) or "decided"
    if isinstance(call.decision, Deny):
        return "denied"
    if call.reply.error is not None:
        return "failed"
    return "done"


def _view_decision(call: CallState, event: Event) -> DecisionView:
    by, decision = event.data.get("by"), call.decision
    if isinstance(decision, Approve):
        verdict = "approved"
        if decision.arguments is not None:
            verdict = "approved with other arguments"
        return DecisionView(verdict, by, event.time, arguments=decision.arguments)
    if isinstance(decision, Deny):
        return DecisionView("denied", by, event.time, decision.reason)
    return DecisionView("declared not to have happened", by, event.time)


def _spans(events: Iterable[Event]) -> Iterable[ProgramSpan]:
    """Yield the executions of a run: from its start or a claim to its pause, its end, or the last word of it."""
    started: Event | None = None
    last = 0.0
    for event in events:
        if event.kind in {"start", "claim"}:
            if started is not None:  # its process is gone
                yield ProgramSpan(started.time, last, str(started.data.get("owner", "")))
            started = event
        elif event.kind in {"pause", "end"} and started is not None:
            yield ProgramSpan(started.time, event.time, str(started.data.get("owner", "")))
            started = None
        if event.kind != "decision":
            last = event.time
    if started is not None:
        yield ProgramSpan(started.time, None, str(started.data.get("owner", "")))


def _session_entries(rows: RunRows, row: RunRow) -> tuple[SessionEntry, ...]:
    if not row.session:
        return ()
    entries: list[SessionEntry] = []
    for other in rows.of_session(row.session)[-_MAX_ENTRIES:]:
        try:
            entries.append(SessionEntry(other.id, other.state, (verify_start(rows, other).payload or b"").decode()))
        except JournalError:
            entries.append(SessionEntry(other.id, "damaged", ""))
    return tuple(entries)
