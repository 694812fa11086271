"""A user's code passes strict type checks: `make lint` runs pyright and mypy on this file, and pytest runs it.

Each `assert_type` names the type that a user's editor shows.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, TypedDict, assert_type

import pytest

from ez_ptc import (
    Approve,
    Deny,
    PendingCall,
    ScriptedProvider,
    Tool,
    ToolCall,
    Toolkit,
    ToolRegistry,
    ez_tool,
    llm,
    tool,
)


class Receipt(TypedDict):
    """What a refund returns."""

    customer: str
    amount: float


def is_large(call: PendingCall) -> bool:
    """Return whether a refund is one that a person approves."""
    return call.arguments["amount"] > 100 and call.tool == call.name


@ez_tool(requires_approval=lambda call: call.arguments["amount"] > 100)
def refund(customer: str, amount: float) -> Receipt:
    """Refund a customer."""
    return {"customer": customer, "amount": amount}


@tool("give_back", "Refund a customer.", requires_approval=is_large)
def give_back(customer: str, amount: float) -> Receipt:
    return {"customer": customer, "amount": amount}


@ez_tool
async def later(number: int) -> int:
    """Return a number."""
    return number


@ez_tool
def count(number: int) -> Iterator[int]:
    """Count."""
    yield from range(number)


@ez_tool
async def acount(number: int) -> AsyncIterator[int]:
    """Count."""
    for index in range(number):
        yield index


@ez_tool
def anything(number: int) -> Any:  # noqa: ANN401 - the tool under test
    """Return anything."""
    return number


def approve(call: PendingCall) -> Approve | Deny:
    """Approve refunds of up to 500."""
    if call.arguments["amount"] <= 500:
        return Approve()
    return Deny(f"{call.tool} of {call.arguments['amount']} is too much")


async def aapprove(call: PendingCall) -> bool:
    """Approve what is small, asynchronously."""
    return not is_large(call)


def change(call: PendingCall) -> bool:
    """Halve the amount, in place."""
    call.arguments["amount"] /= 2
    return True


def test_result_of_call_has_the_functions_type() -> None:
    receipt = refund.call({"customer": "Ada", "amount": 5})
    assert_type(receipt, Receipt)
    assert receipt["amount"] == 5
    assert assert_type(give_back.call('{"customer": "Ada", "amount": 5}'), Receipt) == receipt
    assert assert_type(refund("Ada", 5), Receipt) == receipt
    assert assert_type(later.call({"number": 3}), int) == 3
    assert list(count.call({"number": 2})) == [0, 1]
    assert assert_type(acount.call({"number": 2}), list[int]) == [0, 1]
    assert assert_type(anything.call({"number": 3}), Any) == 3


@pytest.mark.anyio
async def test_awaited_call_has_the_functions_type(anyio_backend: str) -> None:
    receipt = await refund.acall(
        {"customer": "Ada", "amount": 200}, approve=lambda call: call.arguments["amount"] < 500
    )
    assert_type(receipt, Receipt)
    assert receipt["amount"] == 200
    assert assert_type(await later.acall({"number": 3}), int) == 3
    assert assert_type(await acount.acall({"number": 2}), list[int]) == [0, 1]


def test_tool_of_unknown_types_returns_an_object() -> None:
    made: Tool = Tool.from_function(len, name="length", description="Count.")
    assert_type(made.call({"obj": "abc"}), object)


def test_approvers_with_annotations_are_accepted() -> None:
    with Toolkit([refund], approve=approve) as toolkit:
        result = toolkit.execute("refund('Ada', 501)")
        assert result.error == "ToolError: refund was not approved: refund of 501.0 is too much"
        result = toolkit.execute("refund('Ada', 200)", approve=change)
        assert result.return_value == {"customer": "Ada", "amount": 100.0}
    assert ToolRegistry([refund], approve=aapprove)["refund"].name == "refund"


def test_pending_call_of_a_conversation_is_typed() -> None:
    model = ScriptedProvider(ToolCall("c", "refund", {"customer": "Ada", "amount": 200}), "Done.")
    _, continuation = llm().tools(refund).provider(model).converse("Refund Ada.")

    (pending,) = continuation.pending
    assert_type(pending, PendingCall)
    assert pending.arguments["amount"] + 1 == 201
