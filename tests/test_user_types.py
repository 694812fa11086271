"""A user's code passes strict type checks: `make lint` runs pyright and mypy on this file, and pytest runs it.

Each `assert_type` names the type that a user's editor shows.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict, assert_type

import pytest

from ez_ptc import (
    Answer,
    ApprovalNeeded,
    Approve,
    CallEnded,
    CallProgress,
    CallRecord,
    CallStarted,
    Context,
    Deny,
    ExecutionResult,
    History,
    HistoryRecord,
    Journal,
    Limits,
    LLMPromptBuilder,
    Message,
    OutputDelta,
    PendingCall,
    ProgramEnded,
    Prompt,
    ProviderError,
    Run,
    ScriptedProvider,
    Session,
    TextDelta,
    Tool,
    ToolCall,
    Toolkit,
    ToolParameter,
    ToolRegistry,
    ToolResult,
    Usage,
    ez_tool,
    function_to_tool,
    generate_tool_schema,
    llm,
    tool,
    tools_from,
    type_to_json_schema,
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


class Shop:
    """An object with a connection, whose methods are tools."""

    def __init__(self, stock: dict[str, int]) -> None:
        self._stock = stock

    def count(self, product: str) -> int:
        """Count a product."""
        return self._stock[product]


@ez_tool(thread="shop", timeout=5, read_only=True, idempotent=True, category="shop", strict=None)
def greet(name: str, user: Context[str]) -> str:
    """Greet someone, for the user."""
    return f"{user} greets {name}"


def correct(code: str, error: str, done: list[dict[str, Any]]) -> str | None:
    """Return a corrected program."""
    return None if done else code.replace("greet(1", "greet('Ada'") + f"  # {error[:5]}"


def log(call: dict[str, Any]) -> None:
    """Take note of a call."""
    assert call["name"]


def log_record(call: CallRecord) -> None:
    """Take note of a call, by the type of its record."""
    assert_type(call["name"], str)


def correct_by_records(code: str, error: str, done: list[CallRecord]) -> str | None:
    """Return a corrected program, or None if there were calls."""
    return None if done or not error else code


def test_results_and_records_of_a_program_are_typed(tmp_path: Path) -> None:
    limits = replace(Limits(calls=10), timeout=30.0)
    with Toolkit([greet, refund], limits=limits, journal=tmp_path / "runs.db", on_tool_call=log) as toolkit:
        result = assert_type(toolkit.execute("greet('Ada')", context="Bob"), ExecutionResult)
        (record,) = assert_type(result.tool_calls, list[CallRecord])
        assert (assert_type(record["name"], str), assert_type(record["error"], str | None)) == ("greet", None)
        assert record["args"] == ("Ada",)
        assert assert_type(result.status, Literal["done", "failed", "paused"]) == "done"
        assert toolkit.execute("greet(1)", context="Bob", repair=correct).return_value == "Bob greets Ada"
        again = toolkit.execute("greet(1)", context="Bob", on_tool_call=log_record, repair=correct_by_records)
        assert not again.success
        paused = toolkit.execute("refund('Ada', 501)", context="Bob")
        (pending,) = assert_type(paused.pending, tuple[PendingCall, ...])
        assert paused.run_id is not None
        resumed = assert_type(
            toolkit.resume(paused.run_id, {pending.id: Deny("too much")}, context="Bob"), ExecutionResult
        )
        assert resumed.is_denied
        assert_type([mistake.line for mistake in toolkit.check("greet(")], list[int])
        assert_type(toolkit.prompt(), str)
        assert_type(toolkit.extract_code("```python\n1\n```"), str | None)
        with assert_type(toolkit.session(), Session) as session:
            assert session.execute("x = 1\nx + 1").return_value == 2
    with Journal(tmp_path / "runs.db") as journal:
        assert {run.id for run in assert_type(journal.runs(), list[Run])} >= {paused.run_id}


def test_events_of_a_program_are_a_union_of_types() -> None:
    with Toolkit([greet], context="Bob") as toolkit:
        kinds: list[str] = []
        for event in toolkit.stream("print(greet('Ada'))"):
            assert_type(event, OutputDelta | CallStarted | CallProgress | CallEnded | ApprovalNeeded | ProgramEnded)
            written = assert_type(event.to_json(), dict[str, Any])
            kinds.append(json.loads(json.dumps(written))["type"])
            if isinstance(event, CallEnded):
                assert assert_type(event.error, str | None) is None
            elif isinstance(event, ProgramEnded):
                assert_type(event.result, ExecutionResult)
    assert kinds == ["CallStarted", "CallEnded", "OutputDelta", "ProgramEnded"]


async def _ask(execute_tools: Callable[[str], Awaitable[str]]) -> str:
    return await execute_tools("print(greet('Ada'))")


def test_functions_for_frameworks_are_typed() -> None:
    with Toolkit([greet], context="Bob") as toolkit:
        execute_tools = toolkit.as_tool()
        failed = assert_type(execute_tools("print(greet('Ada')[99])"), str)
        token = failed.rpartition('after="')[2].rstrip('".')
        assert assert_type(execute_tools(code="print(greet('Ada'))", after=token), str).strip() == "Bob greets Ada"
        assert execute_tools.__name__ == "execute_tools"
        assert asyncio.run(_ask(toolkit.as_async_tool())).strip() == "Bob greets Ada"


def test_continuation_of_an_error_is_a_conversation() -> None:
    with pytest.raises(ProviderError) as caught:
        llm().provider(ScriptedProvider()).prompt("Hello?")
    assert caught.value.continuation.provider(ScriptedProvider("Hi.")).prompt() == "Hi."


class EchoProvider:
    """A provider of one method."""

    async def prompt_with_tools(self, model: str, p: Prompt, tools: list[Any], **kwargs: Any) -> str:
        """Answer with the last entry."""
        return str(p.entries[-1])


def test_object_with_one_method_is_a_typed_provider() -> None:
    builder = assert_type(llm().provider(EchoProvider()).fallback(EchoProvider(), EchoProvider()), LLMPromptBuilder)
    assert assert_type(builder.prompt("Hello?"), str) == "Hello?"


def test_conversations_are_typed(tmp_path: Path) -> None:
    builder = assert_type(llm().tools(ToolRegistry([greet], context="Bob")), LLMPromptBuilder)
    model = ScriptedProvider(ToolCall("1", "greet", {"name": "Ada"}), "Done.")
    messages, continuation = builder.provider(model).converse("Greet Ada.")
    assert_type(messages, list[Message])
    assert_type(continuation.text, str)
    assert_type(continuation.usage, Usage)
    with History(tmp_path / "chats.db") as history:
        saved = assert_type(history.save(continuation), str)
        assert [record.id for record in assert_type(history.list(), tuple[HistoryRecord, ...])] == [saved]
        assert history.load(saved)
    stream = llm().provider(ScriptedProvider("Hello.")).stream("Hello?")
    with stream:
        texts = [event.text for event in stream if isinstance(event, TextDelta | Answer)]
    assert "Hello." in texts
    five = ScriptedProvider(ToolCall("", "give_answer", {"answer": 5}))
    assert assert_type(llm().provider(five).prompt_for_type(int, "How many?"), int) == 5
    assert_type(llm().provider(ScriptedProvider("Hi.")).prompt("Hi?"), str)


def test_tools_of_other_sources_are_typed() -> None:
    (count_tool,) = assert_type(tools_from(Shop({"lamp": 4})), list[Tool[..., Any]])
    assert assert_type(count_tool.execute(product="lamp"), ToolResult).output == 4
    assert assert_type(greet.thread, str | None) == "shop"
    assert assert_type(greet.parameter_list, list[ToolParameter])[0].name == "name"
    copied = replace(greet, thread=None)
    assert copied.thread is None
    assert_type(greet.to_format("openai"), dict[str, Any])
    assert_type(function_to_tool(Shop({}).count), dict[str, Any])
    assert_type(generate_tool_schema(Shop({}).count), dict[str, Any])
    assert_type(type_to_json_schema(list[int]), dict[str, Any])
