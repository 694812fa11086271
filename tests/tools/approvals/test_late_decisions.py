"""A decision that was made earlier counts, however late it is found."""

import threading
from typing import Any

import pytest

from ez_ptc import Approve, Deny, Tool, ez_tool
from ez_ptc.tools.approval_requests import ApprovalRequest
from ez_ptc.tools.call_lifetime import CallLife
from ez_ptc.tools.calls import arun_call, run_call
from ez_ptc.tools.decisions import Decision

paid: list[int] = []


@ez_tool(requires_approval=True)
def pay(amount: int) -> None:
    """Pay."""
    paid.append(amount)


@ez_tool(name="pay", requires_approval=True)
async def pay_later(amount: int) -> None:
    """Pay."""
    paid.append(amount)


class _DecidedCall(CallLife):
    """A call with an earlier decision, found only after the time for an answer, as on a busy machine."""

    can_wait = True

    def __init__(self, decision: Decision) -> None:
        super().__init__()
        self._decision = decision
        self._is_late = False
        self.over = threading.Event()

    @property
    def approval_seconds(self) -> float:
        return 0.05

    def recall(self, request: ApprovalRequest) -> Decision:
        del request
        if not self._is_late:
            self._is_late = True
            self.over.wait(30)
        return self._decision


@pytest.mark.parametrize("decision", [Deny("no"), Approve()], ids=["denied", "approved"])
@pytest.mark.parametrize("tool", [pay, pay_later], ids=["blocking", "awaiting"])
async def test_decided_call_waits_for_no_answer(tool: Tool[..., Any], decision: Decision, anyio_backend: str) -> None:
    del anyio_backend
    paid.clear()
    life = _DecidedCall(decision)
    try:
        if tool.is_async:
            result = await arun_call(tool.definition, (1,), {}, life=life)
        else:
            result = run_call(tool.definition, (1,), {}, life=life)
    finally:
        life.over.set()
    is_approved = isinstance(decision, Approve)
    assert (result.success, paid) == (is_approved, [1] * is_approved)
    assert result.error == (None if is_approved else "pay was not approved: no")
