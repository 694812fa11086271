"""Questions about calls, as they pass through a framework, and the answers that come back.

A framework's own ids repeat, and some frameworks match answers by position. So a question has the call's id and its
digest, and an answer counts only for the call whose id and digest it brings back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.formats.content import as_json
from ez_ptc.schema.safe_repr import safe_repr_with_type
from ez_ptc.tools.approvals.questions import write_question
from ez_ptc.tools.decisions import Approve, Deny, Pause, to_decision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ez_ptc.messages import PendingCall
    from ez_ptc.tools.decisions import Decision

__all__ = ["answer", "describe_call", "find_decisions", "find_problem"]

_ID: Final = "id"
_DIGEST: Final = "digest"
_DECISION: Final = "decision"
_MAX_DEPTH: Final = 3


def describe_call(call: PendingCall) -> dict[str, Any]:
    """Return what a person has to know about a call, as JSON; `question` is the text to show."""
    return {
        _ID: call.id,
        _DIGEST: call.digest,
        "tool": call.tool,
        "arguments": as_json(call.arguments),
        "question": write_question(call),
    }


def answer(question: Mapping[str, Any], decision: object) -> dict[str, object]:
    """Return the answer to a question about a call, as JSON.

    Args:
        question: The question: an element of `pending`, or all of it if it is about a single call.
        decision: True, a dict of other arguments, a text with the reason to refuse, or False.
    """
    if isinstance(decision, Approve):
        decision = True if decision.arguments is None else dict(decision.arguments)
    elif isinstance(decision, Deny):
        decision = decision.reason or False
    return {_ID: question[_ID], _DIGEST: question[_DIGEST], _DECISION: as_json(decision)}


def find_decisions(pending: Iterable[PendingCall], answers: object, *, default: object = None) -> dict[str, Decision]:
    """Return the decisions about pending calls, by their ids; the first about a call counts.

    `answers` is an answer, a list of answers, or anything else, which decides nothing. `default` is the decision of
    answers that have none of their own.
    """
    waiting = {call.id: call for call in pending}
    decisions: dict[str, Decision] = {}
    for item in _answers_in(answers):
        call = waiting.get(item[_ID])
        if call is None or call.id in decisions or item[_DIGEST] != call.digest:
            continue
        decision = to_decision(item.get(_DECISION, default))
        has_decision = _DECISION in item or default is not None
        if has_decision and not isinstance(decision, Pause):
            decisions[call.id] = decision
    return decisions


def find_problem(pending: Iterable[PendingCall], answers: object) -> str:
    """Return why an answer has decided about none of these calls."""
    digests = {call.id: call.digest for call in pending}
    items = list(_answers_in(answers))
    if not items:
        return (
            "expected an answer with the id and the digest of its question, as answer(question, decision) returns it; "
            f"got {safe_repr_with_type(answers)}"
        )
    if not any(item[_ID] in digests for item in items):
        return "the previous answer was about another call"
    if not any(digests.get(item[_ID]) == item[_DIGEST] for item in items):
        return "the previous answer was about other arguments than those that would run"
    return "the previous answer has no decision: expected True, other arguments, or the reason to refuse"


def _answers_in(value: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield what has the shape of an answer: people, clients and models write them."""
    if isinstance(value, list | tuple):
        for item in cast("Iterable[object]", value):
            if depth < _MAX_DEPTH:
                yield from _answers_in(item, depth + 1)
    elif isinstance(value, dict):
        item = cast("dict[str, Any]", value)
        if isinstance(item.get(_ID), str) and isinstance(item.get(_DIGEST), str):
            yield item
        elif "pending" in item and depth < _MAX_DEPTH:
            yield from _answers_in(item["pending"], depth + 1)
