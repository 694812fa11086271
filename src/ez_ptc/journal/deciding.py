"""What people decide about the calls of a run: matched with what waits, and as events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ez_ptc.errors import DecisionError, OutcomeUnknownError
from ez_ptc.journal.chain import Event
from ez_ptc.journal.record import decision_data, find_changed_secrets, pending_id
from ez_ptc.messages import ToolResult
from ez_ptc.sandbox.protocol.execution import Limits
from ez_ptc.sandbox.protocol.replies import encode_call_result
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.decisions import DidNotHappen, Happened, Pause, to_decision, to_settlement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.journal.record import CallState, RunRecord
    from ez_ptc.tools.decisions import Decision, Settlement

__all__ = ["decide", "require_known_outcomes", "to_events"]


def decide(
    run_id: str, record: RunRecord, answers: Mapping[str, object], *, owner: str | None = None
) -> dict[str, Decision | Settlement]:
    """Return the decisions in people's answers, by path; `owner` is the live owner of the run, if it has one.

    Raises DecisionError, before anything is written, if one is about a call that does not wait, or does not fit it.
    """
    by_id = {pending_id(run_id, path): call for path, call in record.calls.items()}
    decisions: dict[str, Decision | Settlement] = {}
    for key, answer in answers.items():
        call = by_id.get(key)
        if owner is not None and call is not None and call.state(is_owned=True) == "running":
            message = (
                f"{key} ({call.tool}) is running, in {owner}: nothing can be decided about it until it has ended, or "
                f"its process is gone"
            )
            raise DecisionError(message)
        if call is None or not (call.is_unknown or call.is_waiting):
            raise DecisionError(_not_pending(run_id, key, record, call))
        decision = to_settlement(answer) if call.is_unknown else to_decision(answer)
        if isinstance(answer, Happened | DidNotHappen) and not call.is_unknown:
            message = (
                f"{key} waits for an approval: expected Approve(), Deny(reason) or Pause(), got {safe_repr(answer)}"
            )
            raise DecisionError(message)
        changed = find_changed_secrets(call.secrets, call.arguments, decision)
        if changed:
            message = (
                f"{key} ({call.tool}): its secret argument {', '.join(changed)} cannot be changed, because it would be "
                f"recorded: pass it on as it is shown, or deny the call"
            )
            raise DecisionError(message)
        if not isinstance(decision, Pause):
            decisions[call.path] = decision
    return decisions


def to_events(record: RunRecord, decisions: Mapping[str, Decision | Settlement]) -> list[Event]:
    """Return the events recording decisions. Raises DecisionError if a result cannot be passed to a program."""
    events: list[Event] = []
    for path, decision in decisions.items():
        call = record.calls[path]
        if isinstance(decision, DidNotHappen):
            data = {"tool": call.tool, "decision": "did_not_happen", "by": decision.by}
            events.append(Event("decision", path, data))
        elif call.is_unknown:
            events.append(_settlement_event(call, decision))
        elif isinstance(decision, Happened):  # not reached: `decide` has refused it
            message = f"{decision!r} does not decide about an approval"
            raise DecisionError(message)
        else:
            events.append(Event("decision", path, {"tool": call.tool, **decision_data(decision)}))
    return events


def require_known_outcomes(run_id: str, record: RunRecord, decisions: Mapping[str, object]) -> None:
    """Raise OutcomeUnknownError if a call has an unknown outcome, and no decision says what happened."""
    unknown = [
        call for call in record.pending(run_id) if call.state == "outcome_unknown" and call.path not in decisions
    ]
    if unknown:
        calls = ", ".join(f"{call.tool} ({call.id})" for call in unknown)
        message = (
            f"it is unknown whether {calls} took effect: find out, and resume with Happened(result) or DidNotHappen() "
            f"for each id; nothing was run"
        )
        raise OutcomeUnknownError(message, pending=unknown)


def _settlement_event(call: CallState, decision: Decision | Settlement) -> Event:
    """Return a person's result of a call with an unknown outcome."""
    if isinstance(decision, Happened):
        result = ToolResult(success=True, output=decision.result)
    else:
        reason = getattr(decision, "reason", None) or "no one knows whether it took effect"
        result = ToolResult(success=False, error=f"{call.tool}: {reason}")
    encoded = encode_call_result(call.tool, result, Limits().frame)
    if isinstance(decision, Happened) and encoded.error is not None:
        message = f"Happened: {safe_repr(decision.result)} cannot be passed to a program: {encoded.error}"
        raise DecisionError(message)
    data = {
        "tool": call.tool,
        "kind": encoded.kind.decode(),
        "error": encoded.error,
        "duration_ms": 0.0,
        "by": getattr(decision, "by", None),
        "settled": True,
    }
    return Event("result", call.path, data, encoded.body)


def _not_pending(run_id: str, key: str, record: RunRecord, call: CallState | None) -> str:
    if call is not None and call.decided is not None:
        who = call.decided.data.get("by") or "someone"
        when = datetime.fromtimestamp(call.decided.time, UTC).isoformat(timespec="seconds")
        return f"{key} is decided already: {call.decided.data['decision']}, by {who}, at {when}"
    waiting = ", ".join(item.id for item in record.pending(run_id)) or "none"
    return f"run {run_id} has no pending call {safe_repr(key)}; pending: {waiting}"
