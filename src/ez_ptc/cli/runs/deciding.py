"""`ez-ptc runs approve`, `deny` and `settle`: a person's decisions about the calls of a run."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.cli.pending import RunReference, pending_lines
from ez_ptc.cli.run import CommandError
from ez_ptc.cli.runs.opening import find_run_id, login_name, open_journal
from ez_ptc.journal.deciding import decide
from ez_ptc.journal.record import RunRecord, pending_id
from ez_ptc.schema.arguments.json_text import read_json, unique_keys
from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type
from ez_ptc.tools.approvals.questions import argument_lines, call_heading
from ez_ptc.tools.decisions import Approve, Deny, DidNotHappen, Happened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ez_ptc.journal.journal import Journal
    from ez_ptc.journal.run import Run
    from ez_ptc.messages import PendingCall

__all__ = ["approve_call", "deny_call", "settle_call"]

_MAX_NAMES: Final = 10
_APPROVABLE: Final = ("needs_approval",)
_SETTLEABLE: Final = ("outcome_unknown",)


def approve_call(journal_path: str, run: str, call: str | None, *, arguments: str | None, remember: bool) -> int:
    """Approve a call that waits, perhaps with other arguments, and return 0.

    Raises:
        CommandError: The run, the call or the arguments are missing or invalid.
        DecisionError: The call does not wait, or is decided already.
    """
    edited: dict[str, Any] | None = None
    if arguments is not None:
        value = _read_json("--arguments", arguments)
        if not isinstance(value, dict):
            got = safe_repr_with_type(value)
            message = f"--arguments: expected a JSON object with the call's arguments, got {got}"
            raise CommandError(message)
        edited = cast("dict[str, Any]", value)
    decision = Approve(edited, remember="run" if remember else None, by=login_name())
    with open_journal(journal_path) as journal:
        pending = _decide(journal, run, call, decision, _APPROVABLE)
        _report(journal, f"approved {call_heading(pending)}", pending, pending.arguments if edited is None else edited)
    return 0


def deny_call(journal_path: str, run: str, call: str | None, *, reason: str | None) -> int:
    """Deny a call that waits, or let one with an unknown outcome fail, and return 0. Raises as `approve_call`."""
    with open_journal(journal_path) as journal:
        pending = _decide(journal, run, call, Deny(reason, by=login_name()), (*_APPROVABLE, *_SETTLEABLE))
        _report(journal, f"denied {call_heading(pending)}", pending, pending.arguments)
    return 0


def settle_call(journal_path: str, run: str, call: str | None, *, happened: str | None, did_not_happen: bool) -> int:
    """Record what happened to a call with an unknown outcome, and return 0. Raises as `approve_call`."""
    if (happened is not None) is did_not_happen:
        message = "expected either --happened with the call's result as JSON, such as null, or --did-not-happen"
        raise CommandError(message)
    by = login_name()
    decision: Happened | DidNotHappen
    if happened is None:
        decision, words = DidNotHappen(by=by), "did not happen, and runs again"
    else:
        decision, words = Happened(_read_json("--happened", happened), by=by), "happened, and does not run again"
    with open_journal(journal_path) as journal:
        pending = _decide(journal, run, call, decision, _SETTLEABLE)
        _report(journal, f"{call_heading(pending)} {words}", pending, pending.arguments)
    return 0


def _decide(journal: Journal, prefix: str, call: str | None, decision: object, states: Sequence[str]) -> PendingCall:
    """Record a decision about the call of a run that is in one of these states, and return the call."""
    run = journal.run(find_run_id(journal, prefix, is_to_change=True))
    waiting = [pending for pending in run.pending if pending.state in states]
    decided = {event.path for event in journal.events(run.id) if event.kind == "decision"}
    if call is not None:
        pending = _find_call(journal, run, call, states)
    elif len(waiting) == 1 and decided <= {waiting[0].path}:
        (pending,) = waiting
    elif len(waiting) == 1:
        # Someone may have decided about the call that the person has seen, and the run may have gone on since.
        message = f"another call of run {run.id} is decided already: name the position of {call_heading(waiting[0])}"
        raise CommandError(message)
    else:
        raise CommandError(_which_call(run, waiting, states))
    journal.decide(run.id, {pending.id: decision})
    return pending


def _find_call(journal: Journal, run: Run, name: str, states: Sequence[str]) -> PendingCall:
    for pending in run.pending:
        if name in {pending.id, pending.path}:
            if pending.state not in states:
                raise CommandError(_wrong_state(pending))
            return pending
    if run.state not in {"done", "failed"}:
        key = name if name.startswith(f"{run.id}:") else pending_id(run.id, name)
        # Raises DecisionError, which names an earlier decision.
        decide(run.id, RunRecord.of(run.id, journal.events(run.id)), {key: Deny()})
    raise CommandError(_which_call(run, [], states))


def _wrong_state(call: PendingCall) -> str:
    if call.state == "running":
        name = call_heading(call)
        return f"{name} is running: nothing can be decided about it until it has ended, or its process is gone"
    if call.state == "needs_approval":
        return f"{call_heading(call)} waits for an approval, and has not run: use approve or deny"
    return f"it is unknown whether {call_heading(call)} took effect: find out, and use settle"


def _which_call(run: Run, waiting: Sequence[PendingCall], states: Sequence[str]) -> str:
    if waiting:
        names = ", ".join(call_heading(call) for call in waiting[:_MAX_NAMES])
        return f"{len(waiting):,} calls of run {run.id} wait: name the position of one of {names}"
    if run.pending:
        return _wrong_state(run.pending[0])
    verb = "has an unknown outcome" if states == _SETTLEABLE else "waits for a decision"
    return f"no call of run {run.id} {verb}: its state is {run.state}"


def _report(journal: Journal, words: str, call: PendingCall, arguments: Mapping[str, object]) -> None:
    """Print what was decided, and what to do next."""
    run_id = call.id.removesuffix(f":{call.path}")
    print(words)
    for line in argument_lines(arguments, columns=shutil.get_terminal_size().columns):
        print(line)
    run = journal.run(run_id)
    for line in pending_lines(RunReference(run_id, journal.name, principal=run.principal), run.pending):
        print(line)


def _read_json(option: str, text: str) -> object:
    try:
        return read_json(text, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        message = f"{option}: expected JSON, got {safe_repr(text)}: {error}"
        raise CommandError(message) from None
