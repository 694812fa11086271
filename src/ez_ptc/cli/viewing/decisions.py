"""Decisions as a page sends them, for `Journal.decide`: the first one about a call counts."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.errors import DecisionError
from ez_ptc.schema.arguments.json_text import read_json, unique_keys
from ez_ptc.schema.imported.validation import SchemaValidation
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.decisions import Approve, Deny, DidNotHappen, Happened, Pause

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.journal.journal import Journal
    from ez_ptc.messages import PendingCall
    from ez_ptc.view.runs import CallView

__all__ = ["MAX_DECISION_BYTES", "decide_call"]

MAX_DECISION_BYTES: Final = 1 << 20
_MAX_REASON: Final = 4_000
_TEXTS: Final = ("run", "path", "digest", "decision")
# What a decision may have beside these: more would be dropped, and a person might have meant it.
_MORE: Final = {"approve": {"changes"}, "deny": {"reason"}, "happened": {"result"}, "did_not_happen": set[str]()}


def decide_call(journal: Journal, body: bytes, by: str) -> str:
    """Record the decision in a request of the person `by`, and return what was decided, in words.

    Raises:
        DecisionError: It is no decision, the call does not wait or is not what the person has seen, or the arguments
            do not fit the tool's schema.
        JournalError: There is no such run.
    """
    fields = _read(body)
    run_id, path = fields["run"], fields["path"]
    run = journal.run(run_id)
    call = next((call for call in run.view().calls if call.path == path), None)
    pending = next((pending for pending in run.pending if pending.path == path), None)
    call_id = f"{run_id}:{path}"
    if pending is None:
        # It says why the call does not wait. One that has begun to wait since is not what the person has seen.
        journal.decide(run_id, {call_id: Pause()})
    if pending is None or not hmac.compare_digest(fields["digest"].encode(), pending.digest.encode()):
        message = "the page shows another call than the one that waits: load it again; nothing was decided"
        raise DecisionError(message)
    arguments = _edited_arguments(fields, pending)
    if arguments is not None and call is not None:
        _check_arguments(call, arguments, fields["changes"])
    journal.decide(run_id, {call_id: _decision(fields, arguments, by)})
    return f"{fields['decision'].replace('_', ' ')}: {safe_repr(path)}, by {by}"


def _read(body: bytes) -> dict[str, Any]:
    try:
        fields = read_json(body.decode())
        json.dumps(fields, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        fields = None
    if isinstance(fields, dict):
        named = cast("dict[str, Any]", fields)
        if all(isinstance(named.get(name), str) for name in _TEXTS):
            if named["decision"] not in _MORE:
                message = f"unknown decision {safe_repr(named['decision'])}: nothing was decided"
                raise DecisionError(message)
            if named.keys() - _TEXTS <= _MORE[named["decision"]]:
                return named
    message = "expected a decision as a JSON object; nothing was decided"
    raise DecisionError(message)


def _edited_arguments(fields: Mapping[str, Any], pending: PendingCall) -> dict[str, Any] | None:
    """Return the arguments with a person's changes, which are JSON texts by name; None without changes."""
    changes = fields.get("changes")
    if not changes:
        return None
    try:
        changed = {name: read_json(text, object_pairs_hook=unique_keys) for name, text in changes.items()}
    except (AttributeError, ValueError, TypeError, RecursionError):
        changed = {"": None}
    if not changed.keys() <= pending.arguments.keys():
        message = "expected the changed arguments as JSON texts, by their names; nothing was decided"
        raise DecisionError(message)
    return {**pending.arguments, **changed}


def _decision(fields: Mapping[str, Any], arguments: dict[str, Any] | None, by: str) -> object:
    """Return the decision in a request. Raises DecisionError for an invalid reason."""
    match fields["decision"]:
        case "approve":
            return Approve(arguments, by=by)
        case "deny":
            return Deny(_reason(fields.get("reason")), by=by)
        case "happened":
            return Happened(fields.get("result"), by=by)
        case _:
            return DidNotHappen(by=by)


def _reason(reason: object) -> str | None:
    if reason is None or (isinstance(reason, str) and len(reason) <= _MAX_REASON):
        return reason or None
    message = f"expected the reason as text of at most {_MAX_REASON:,} characters; nothing was decided"
    raise DecisionError(message)


def _check_arguments(call: CallView, arguments: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Raise DecisionError for edited arguments that do not fit the recorded schema; masks of secrets need not."""
    if call.schema is None or call.secrets:
        return
    # Schemas of optional parameters leave null out: a null without a change is an argument that was left out.
    passed = {name: value for name, value in arguments.items() if value is not None or name in changes}
    # Lists: what the schema names may be anything.
    omitted = [*(arguments.keys() - passed.keys())]
    schema = dict(call.schema)
    if omitted and isinstance(schema.get("required"), list):
        schema["required"] = [name for name in schema["required"] if name not in omitted]
    problem = SchemaValidation(call.tool, schema, "the edited arguments").find_problem(passed)
    if problem is not None:
        message = f"{problem}; nothing was decided"
        raise DecisionError(message)
