"""Decisions about calls, as values and in their short forms."""

from decimal import Decimal
from typing import Any, cast

import pytest

from ez_ptc.errors import ArgumentsError, DecisionError, SchemaError, ToolError
from ez_ptc.messages import PendingCall, ToolCall
from ez_ptc.schema.annotations.context import Context
from ez_ptc.tools.decisions import (
    Approve,
    Decision,
    Deny,
    DidNotHappen,
    Happened,
    Pause,
    Settlement,
    to_decision,
    to_settlement,
)
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.tool import Tool

paid: list[Decimal] = []
asked: list[ToolCall] = []


@pytest.fixture(autouse=True)
def nothing_is_paid() -> None:
    paid.clear()
    asked.clear()


def is_large(call: PendingCall) -> bool:
    assert isinstance(call.arguments, dict)
    amount: Any = call.arguments["amount"]
    return amount > 100


@ez_tool(requires_approval=is_large)
def pay(amount: Decimal, note: str = "") -> str:
    """Pay."""
    paid.append(amount)
    return "paid"


@ez_tool(requires_approval=is_large, name="pay")
async def apay(amount: Decimal, note: str = "") -> str:
    """Pay."""
    paid.append(amount)
    return "paid"


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (True, Approve()),
        ({"a": 1}, Approve({"a": 1})),
        ("too much", Deny("too much")),
        (False, Deny()),
        (None, Deny("its approver returned None; True approves a call")),
        (1, Deny("int 1 is not an approval; True approves a call")),
        ("Yes.", Deny("'Yes.' is text, which refuses a call; True approves it")),
        (Pause(), Pause()),
        (Happened(), Deny("Happened is not an approval; True approves a call")),
        (Approve(remember="run"), Approve(remember="run")),
    ],
)
def test_short_answers_are_decisions(answer: object, decision: Decision) -> None:
    assert to_decision(answer) == decision


@pytest.mark.parametrize(
    ("answer", "settlement"), [(Happened(3), Happened(3)), (DidNotHappen(), DidNotHappen()), ("no", Deny("no"))]
)
def test_settlement_may_be_a_reason(answer: object, settlement: Settlement) -> None:
    assert to_settlement(answer) == settlement


@pytest.mark.parametrize("answer", [True, {}, Approve(), Pause(), None])
def test_approval_settles_no_unknown_outcome(answer: object) -> None:
    with pytest.raises(DecisionError, match=r"expected Happened\(result\), DidNotHappen\(\) or Deny\(reason\)"):
        to_settlement(answer)


def test_wrong_options_of_an_approval_are_refused() -> None:
    wrong: Any = [1]
    with pytest.raises(DecisionError, match="expected the arguments as a dict, got list of 1"):
        Approve(wrong)
    always: Any = "always"
    with pytest.raises(DecisionError, match="expected remember to be 'run' or None, got str 'always'"):
        Approve(remember=always)


@pytest.mark.parametrize("tool", [pay, apay])
def test_predicate_decides_which_calls_need_approval(tool: Tool) -> None:
    assert tool.call({"amount": "100"}) == "paid"
    with pytest.raises(ToolError, match="pay requires approval"):
        tool.call({"amount": "100.01"})
    assert paid == [Decimal(100)]
    assert tool.requires_approval


@pytest.mark.parametrize("tool", [pay, apay])
def test_decision_values_decide_a_call(tool: Tool) -> None:
    assert tool.call({"amount": 200}, approve=lambda _: Approve()) == "paid"
    assert tool.call({"amount": 300}, approve=lambda _: Approve({"amount": 7})) == "paid"
    with pytest.raises(ArgumentsError, match="'amount' must be"):
        tool.call({"amount": 300}, approve=lambda _: Approve({"amount": "much"}))
    with pytest.raises(ToolError, match=r"pay was not approved: too much$"):
        tool.call({"amount": 400}, approve=lambda _: Deny("too much", by="Ann"))
    with pytest.raises(ToolError, match="its approver left the decision for later"):
        tool.call({"amount": 500}, approve=lambda _: Pause())
    assert paid == [200, 7]


@pytest.mark.parametrize("value", ["x" * (17 << 20), [0] * 600_000], ids=["long", "many"])
@pytest.mark.sampled(every=2)
def test_call_too_large_to_be_shown_is_denied(value: object) -> None:
    ran: list[object] = []

    @ez_tool(requires_approval=True)
    def keep(data: object, note: str = "") -> None:
        """Keep."""
        ran.append((data, note))

    def approve(call: PendingCall) -> bool:
        ran.append(call)
        return True

    with pytest.raises(ToolError, match="data is too large to be shown to a person"):
        keep.call({"data": value}, approve=approve)
    assert ran == []


def test_approval_takes_changes_made_in_place() -> None:
    def approve(call: PendingCall) -> Approve:
        assert isinstance(call.arguments, dict)
        call.arguments["amount"] = 1
        return Approve(by="Ann")

    assert pay.call({"amount": 200}, approve=approve) == "paid"
    assert paid == [1]


def test_predicate_that_fails_requires_approval_and_warns(caplog: pytest.LogCaptureFixture) -> None:
    def fail(call: PendingCall) -> bool:
        raise KeyError(call.name)

    @ez_tool(requires_approval=fail)
    def send() -> None:
        """Send."""

    warning = "send requires approval: its requires_approval raised KeyError"
    with pytest.raises(ToolError, match="send requires approval, but"), pytest.warns(UserWarning, match=warning):
        send.call({})
    assert "deciding whether send requires approval failed" in caplog.text


def test_predicate_cannot_change_the_call() -> None:
    def change(call: PendingCall) -> bool:
        assert isinstance(call.arguments, dict)
        rows: Any = call.arguments["rows"]
        rows.append(1)
        return False

    @ez_tool(requires_approval=change)
    def send(rows: list[int]) -> int:
        """Send."""
        return len(rows)

    assert send.call({"rows": []}) == 0


@pytest.mark.parametrize("option", [1, "yes", None])
def test_requires_approval_is_a_bool_or_a_function(option: Any) -> None:  # noqa: ANN401 - whatever is passed
    with pytest.raises(SchemaError, match="expected requires_approval to be True, False or a plain function"):
        ez_tool(name="send", description="Send.", requires_approval=option)(lambda: None)


def test_predicate_may_not_be_asynchronous() -> None:
    async def decide(call: PendingCall) -> bool:
        return bool(call)

    with pytest.raises(SchemaError, match="a plain function of the call"):
        ez_tool(name="send", description="Send.", requires_approval=cast("Any", decide))(lambda: None)


def test_each_call_has_its_own_idempotency_key() -> None:
    @ez_tool
    def key(context: Context) -> tuple[str | None, str | None]:
        """Return the key."""
        return context.idempotency_key, getattr(Context, "idempotency_key", None)

    first, second = key.call({}), key.call({})
    assert isinstance(first, tuple)
    assert first[0] == first[1]
    assert first[0]
    assert first != second
    assert getattr(Context, "idempotency_key", "") is None
