"""A person's yes, before a call has any effect."""

import pytest

from ez_ptc.errors import ArgumentsError, ToolError
from ez_ptc.messages import ToolCall
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.tool import Tool

paid: list[tuple[str, int]] = []


@ez_tool(requires_approval=True)
def pay(to: str, amount: int = 1, /, note: str = "") -> int:
    """Pay somebody."""
    paid.append((to, amount))
    return amount


@ez_tool(requires_approval=True, name="pay")
async def pay_later(to: str, amount: int = 1) -> int:
    """Pay somebody."""
    paid.append((to, amount))
    return amount


@pytest.fixture(autouse=True)
def nobody_is_paid() -> None:
    paid.clear()


@pytest.mark.parametrize("tool", [pay, pay_later])
def test_a_call_that_nobody_can_be_asked_about_does_not_run(tool: Tool) -> None:
    with pytest.raises(ToolError, match="pay needs a person's approval, and nobody can be asked"):
        tool.call({"to": "Ada"})
    assert not tool.execute(to="Ada").success
    assert paid == []


@pytest.mark.parametrize("tool", [pay, pay_later])
def test_a_yes_runs_the_call_as_it_is(tool: Tool) -> None:
    asked: list[ToolCall] = []

    def approve(call: ToolCall) -> bool:
        asked.append(call)
        return True

    assert tool.call({"to": "Ada", "amount": 5}, approve=approve) == 5
    assert asked == [ToolCall(id="", name="pay", arguments={"to": "Ada", "amount": 5})]
    assert paid == [("Ada", 5)]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (False, "pay was not approved"),
        ("too much", "pay was not approved: too much"),
        ("yes", "pay was not approved: yes"),
        (None, "pay was not approved"),
        (1, "pay was not approved"),
        ("", "pay was not approved"),
    ],
)
@pytest.mark.parametrize("tool", [pay, pay_later])
def test_anything_but_a_yes_is_a_no(tool: Tool, answer: object, complaint: str) -> None:
    with pytest.raises(ToolError, match=f"^{complaint}$"):
        tool.call({"to": "Ada"}, approve=lambda _: answer)
    assert paid == []


@pytest.mark.parametrize("tool", [pay, pay_later])
def test_other_arguments_run_the_call_with_those_and_are_checked_too(tool: Tool) -> None:
    assert tool.call({"to": "Ada", "amount": 500}, approve=lambda _: {"to": "Ada", "amount": 5}) == 5
    assert paid == [("Ada", 5)]
    with pytest.raises(ArgumentsError, match="'amount' wants int"):
        tool.call({"to": "Ada"}, approve=lambda _: {"to": "Ada", "amount": "much"})
    assert paid == [("Ada", 5)]


def test_nobody_is_asked_about_a_call_that_cannot_run() -> None:
    def approve(call: ToolCall) -> bool:
        raise AssertionError(call)

    with pytest.raises(ArgumentsError, match="missing argument 'to'"):
        pay.call({}, approve=approve)


def test_who_cannot_answer_refuses() -> None:
    def approve(call: ToolCall) -> bool:
        message = "the terminal is gone"
        raise StopIteration(message)

    for tool in (pay, pay_later):
        with pytest.raises(Exception, match="the terminal is gone"):
            tool.call({"to": "Ada"}, approve=approve)
    assert paid == []


def test_an_asynchronous_approval_needs_a_call_that_is_awaited() -> None:
    async def approve(call: ToolCall) -> bool:
        return True

    with pytest.raises(ToolError, match="the approval of pay is asynchronous"):
        pay.call({"to": "Ada"}, approve=approve)
    assert paid == []


@pytest.mark.parametrize("tool", [pay, pay_later])
async def test_an_asynchronous_approval_is_awaited(tool: Tool, anyio_backend: str) -> None:
    async def approve(call: ToolCall) -> dict[str, object]:
        return {"to": "Bob"}

    assert await tool.acall({"to": "Ada"}, approve=approve) == 1
    assert paid == [("Bob", 1)]
