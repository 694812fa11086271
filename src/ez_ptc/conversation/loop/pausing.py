"""Conversations that wait for decisions: which calls wait, and how they go on.

A call that waits has a result like any other, so that the conversation stays one that a provider accepts. The result
says that the call has not run, and its `paused` names what waits. Resuming replaces it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.errors import DecisionError, PausedError
from ez_ptc.messages import Answer, Paused, PendingCall, TextMessage, ToolResultMessage
from ez_ptc.schema.safe_repr import safe_line, safe_repr
from ez_ptc.tools.call_lifetime import CallInterrupted, CallLife
from ez_ptc.tools.decisions import Approve, Happened, Pause, to_decision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ez_ptc.messages import Entry, ToolCall
    from ez_ptc.tools.approval_requests import ApprovalRequest
    from ez_ptc.tools.decisions import Decision

__all__ = [
    "ConversationCall",
    "ProgramPaused",
    "Resumption",
    "WaitingRun",
    "check_decisions",
    "paused_tail",
    "pending_calls",
    "require_answer",
    "waiting_text",
]

_MAX_NAMED: Final = 5


class ProgramPaused(CallInterrupted):
    """A program that a call runs has paused."""

    def __init__(self, paused: Paused) -> None:
        super().__init__()
        self.paused = paused


class ConversationCall(CallLife):
    """A single call of the model: it can wait for a decision that comes later.

    `resumption` has the decisions of a resumed conversation, `remembered` the tools whose further calls are approved.
    A call that waits when the conversation is resumed needs its own decision, whatever its tool's rule says by now.
    """

    __slots__ = ("_call", "_is_waiting", "_remembered", "_resumption", "pending")

    can_wait = True

    def __init__(self, call: ToolCall, resumption: Resumption, remembered: set[str]) -> None:
        super().__init__()
        self._call = call
        self._resumption = resumption
        self._is_waiting = call.id in resumption.waiting
        self._remembered = remembered
        self.pending: PendingCall | None = None

    @property
    def id(self) -> str:
        """The id of the call in the model's answer."""
        return self._call.id

    @property
    def verdict(self) -> bool | None:
        """Whether the call needs approval: one that waits does."""
        return self._is_waiting or None

    def recall(self, request: ApprovalRequest) -> Decision | None:
        """Return the decision with which the conversation is resumed, or None."""
        if not self._is_waiting:
            return Approve() if request.call.tool in self._remembered else None
        decision, pending = self._resumption.decisions.get(self._call.id, (None, None))
        if pending is None or pending.tool != request.call.tool:  # a saved conversation may have been changed
            return None
        if isinstance(decision, Approve) and decision.arguments is None:
            # What was shown is what runs.
            return Approve(pending.arguments, remember=decision.remember, by=decision.by)
        return decision

    def keep(self, request: ApprovalRequest, decision: Decision) -> Decision:
        """Remember a decision, or what waits for one."""
        if isinstance(decision, Pause):
            self.pending = PendingCall(self._call.id, request.call.tool, request.original, "")
        elif isinstance(decision, Approve) and decision.remember == "run":
            self._remembered.add(request.call.tool)
        return decision


def paused_tail(entries: Sequence[Entry]) -> int | None:
    """Return where the results of the last answer begin, if any of them waits for a decision, or None."""
    start = next((index for index in range(len(entries), 0, -1) if isinstance(entries[index - 1], Answer)), 0)
    tail = entries[start:]
    is_paused = any(not isinstance(entry, Answer) and entry.paused is not None for entry in tail)
    is_last = all(
        isinstance(entry, ToolResultMessage) or (isinstance(entry, TextMessage) and entry.paused is not None)
        for entry in tail
    )
    return start if is_paused and is_last else None


def pending_calls(entries: Sequence[Entry]) -> tuple[PendingCall, ...]:
    """Return the calls that a conversation waits for."""
    start = paused_tail(entries)
    if start is None:
        return ()
    paused = [entry.paused for entry in entries[start:] if not isinstance(entry, Answer) and entry.paused]
    return tuple(pending for item in paused for pending in item.pending)


def check_decisions(entries: Sequence[Entry], decisions: Mapping[str, object]) -> None:
    """Raise DecisionError if a conversation is not paused, or a decision is about none of its pending calls."""
    pending = {call.id: call for call in pending_calls(entries)}
    if not pending:
        message = "this conversation is not paused: no call waits for a decision; ask with converse()"
        raise DecisionError(message)
    numbers = Counter(call.id for call in pending_calls(entries))
    for key, decision in decisions.items():
        if numbers[key] > 1:
            message = (
                f"{numbers[key]} pending calls have the id {safe_repr(key)}: a decision cannot say which it is about"
            )
            raise DecisionError(message)
        if key not in pending:
            message = f"no pending call {safe_repr(key)}; pending: {', '.join(map(safe_line, pending))}"
            raise DecisionError(message)
        if not pending[key].path and isinstance(decision, Happened):
            message = f"{safe_repr(key)} waits for an approval: expected Approve(), Deny(reason) or Pause()"
            raise DecisionError(message)


def require_answer(entries: Sequence[Entry]) -> None:
    """Raise PausedError if a conversation waits for a decision."""
    pending = pending_calls(entries)
    if pending:
        message = (
            f"there is no answer yet: {waiting_text(pending)}; decide with error.continuation.resume({{...}}), or pass "
            f"an approver with .approve(...)"
        )
        raise PausedError(message)


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A program that waits, and what was decided about its calls."""

    run_id: str
    decisions: dict[str, object]


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a paused conversation goes on with.

    Attributes:
        results: The results of its last answer; some wait.
        waiting: The ids of the calls that wait.
        decisions: The decisions about single calls, by id, each with what was shown.
        runs: The programs that wait, by the id of the call that runs them.
    """

    results: tuple[ToolResultMessage | TextMessage, ...] = ()
    waiting: frozenset[str] = frozenset()
    decisions: Mapping[str, tuple[Decision, PendingCall]] = field(default_factory=dict[str, Any])
    runs: Mapping[str, WaitingRun] = field(default_factory=dict[str, WaitingRun])

    @classmethod
    def of(cls, results: Sequence[ToolResultMessage | TextMessage], answers: Mapping[str, object]) -> Resumption:
        """Return how a conversation goes on with people's answers, by the ids of calls."""
        waiting: set[str] = set()
        decisions: dict[str, tuple[Decision, PendingCall]] = {}
        runs: dict[str, WaitingRun] = {}
        for result in results:
            if result.paused is None:
                continue
            call_id = result.tool_call_id if isinstance(result, ToolResultMessage) else ""
            waiting.add(call_id)
            if result.paused.run_id is not None:
                ids = {pending.id for pending in result.paused.pending}
                run_answers = {key: answer for key, answer in answers.items() if key in ids}
                runs[call_id] = WaitingRun(result.paused.run_id, run_answers)
                continue
            for pending in result.paused.pending:
                decision = to_decision(answers.get(pending.id, Pause()))
                # What waits in one call's result says nothing about another call.
                if pending.id == call_id and not isinstance(decision, Pause):
                    decisions[call_id] = decision, pending
        return cls(tuple(results), frozenset(waiting), decisions, runs)


def waiting_text(pending: Sequence[PendingCall]) -> str:
    """Return the result that a model reads of calls that wait."""
    names = list(dict.fromkeys(call.tool for call in pending))
    listed = ", ".join(names[:_MAX_NAMED]) + (" and others" if len(names) > _MAX_NAMED else "")
    return f"not finished: {listed} waits for a person's decision"
