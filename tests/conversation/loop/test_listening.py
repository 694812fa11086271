"""Who is told of calls as they end, and what is left of those that are cancelled."""

import gc
import os
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from ez_ptc import ScriptedProvider, ToolCall, Toolkit, ez_tool
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.ordering import check_order
from ez_ptc.messages import Answer, ToolCallMessage, ToolResultMessage
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.processes import all_gone, becomes, descendants, families

ADD = "print(add(1, b=2)); x = 'x'; add(x, 1)"


@ez_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def known(record: dict[str, Any]) -> tuple[Any, ...]:
    assert record["duration_ms"] >= 0
    return tuple(record[key] for key in ("name", "args", "kwargs", "result"))


def test_listener_gets_each_call_including_programs() -> None:
    told: list[dict[str, Any]] = []
    own: list[dict[str, Any]] = []
    calls = [ToolCall("", "add", '{"a": 1, "b": 2}'), ToolCall("", "add", "{"), ToolCall("", "ad", {"a": 1})]
    script = ScriptedProvider(calls, ToolCall("", "execute_tools", {"code": ADD}), "Done.")
    with Toolkit([add], on_tool_call=own.append) as toolkit:
        asked = llm().tool(add).toolkit(toolkit).on_tool_call(told.append).provider(script)
        asked.converse("Go.")
    singles = sorted(told[:3], key=lambda each: (each["name"], str(each["error"])))
    assert [known(each) for each in singles] == [
        ("ad", (), {"a": 1}, None),
        ("add", (), {"a": 1, "b": 2}, 3),
        ("add", (), {}, None),
    ]
    assert [bool(each["error"]) for each in singles] == [True, False, True]
    assert [known(each) for each in told[3:]] == [("add", (1,), {"b": 2}, 3), ("add", ("x", 1), {}, None)]
    assert told[3:] == own


def test_listener_gets_calls_of_written_programs() -> None:
    told: list[dict[str, Any]] = []
    script = ScriptedProvider(f"```python\n{ADD}\n```", "Done.")
    with Toolkit([add]) as toolkit:
        llm().toolkit(toolkit, mode="prompt").on_tool_call(told.append).provider(script).converse("Go.")
    assert [each["result"] for each in told] == [3, None]


@pytest.mark.parametrize("mode", ["single", "tool", "prompt"])
def test_listener_error_ends_conversation(mode: str) -> None:
    """It is the developer's own mistake, and nothing that a model could mend."""

    def listen(record: dict[str, Any]) -> None:
        raise LookupError(record["name"])

    program: dict[str, object] = {"code": ADD}
    scripts: dict[str, object] = {
        "single": [ToolCall("", "add", {"a": 1, "b": 2}), ToolCall("", "add", {"a": 3, "b": 4})],
        "tool": ToolCall("", "execute_tools", program),
        "prompt": f"```python\n{ADD}\n```",
    }
    provider = ScriptedProvider(scripts[mode], "Never said.")  # pyright: ignore[reportArgumentType] - each is a script
    with Toolkit([add]) as toolkit:
        asked = (
            llm().tool(add) if mode == "single" else llm().toolkit(toolkit, mode="tool" if mode == "tool" else "prompt")
        )
        with pytest.raises(LookupError, match="add"):
            asked.on_tool_call(listen).provider(provider).converse("Go.")
        assert len(provider.prompts) == 1
        assert toolkit.execute("add(1, 2)").return_value == 3


# Cancelling -----------------------------------------------------------------------------------------------------------


class Hang:
    """Tools that never end, and say when they began."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.let_go = threading.Event()
        self.cancelled = threading.Event()

    def sync(self) -> None:
        """Never end."""
        self.began.set()
        self.let_go.wait(60)

    async def awaited(self) -> None:
        """Never end."""
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()


async def until(event: threading.Event) -> None:
    with anyio.fail_after(60):
        while not event.is_set():  # noqa: ASYNC110 - it is set by other threads too
            await anyio.sleep(0.01)


def asking(mode: str, tool: Callable[..., object], toolkit: Toolkit) -> tuple[LLMPromptBuilder, ScriptedProvider]:
    name = tool.__name__
    call = ToolCall("c", name, {}) if mode == "single" else ToolCall("c", "execute_tools", {"code": f"{name}()"})
    script = f"```python\n{name}()\n```" if mode == "prompt" else call
    provider = ScriptedProvider(script, "Here again.", "Once more.")
    asked = llm().provider(provider)
    if mode == "single":
        return asked.tool(tool), provider
    return asked.toolkit(toolkit, mode="tool" if mode == "tool" else "prompt"), provider


@pytest.mark.parametrize("name", ["sync", "awaited"])
@pytest.mark.parametrize("mode", ["single", "tool", "prompt"])
@pytest.mark.sampled(every=7)
async def test_cancelled_conversation_leaves_nothing_behind(mode: str, name: str, anyio_backend: str) -> None:
    hang = Hang()
    tool = ez_tool(getattr(hang, name))
    before = descendants(os.getpid())
    sandbox = ProcessSandbox(ready=1)
    toolkit = Toolkit([tool], sandbox=sandbox)
    try:
        await toolkit.aexecute("1")
        idle = families(os.getpid(), without=before)
        asked, _ = asking(mode, tool, toolkit)
        entries = asked.entries
        stream = asked.astream("Go.")

        async def read() -> None:
            async for _ in stream:
                pass

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await until(hang.began)
            group.cancel_scope.cancel()
        assert hang.cancelled.is_set() == (name == "awaited")
        assert asked.entries == entries
        assert (await toolkit.aexecute("1 + 1", 20)).return_value == 2
        # What ran the program is gone; what is ready for the next ones is as much as before, and one for who waited.
        most = len(idle) + 3

        def is_as_before() -> bool:
            return len(families(os.getpid(), without=before)) <= most

        assert await anyio.to_thread.run_sync(lambda: becomes(is_as_before, True, within=30))
        # Asked again, the conversation goes on as if nothing had been asked.
        with anyio.fail_after(60):
            assert await asked.aprompt("Are you there?") == "Here again."
    finally:
        hang.let_go.set()
        started = families(os.getpid(), without=before)
        sandbox.close()
        gc.collect()
    assert all_gone(started, within=30)


async def test_cancelled_conversation_can_be_continued(anyio_backend: str) -> None:
    hang = Hang()
    done = threading.Event()

    def listen(record: dict[str, Any]) -> None:
        done.set()

    calls = [ToolCall("a", "awaited", {}), ToolCall("b", "add", {"a": 1, "b": 2}), ToolCall("c", "sync", {})]
    provider = ScriptedProvider(ToolCall("0", "add", {"a": 0, "b": 0}), calls, "Here again.")
    tools = [add, ez_tool(hang.awaited), ez_tool(hang.sync)]
    stream = llm().tools(tools).on_tool_call(listen).provider(provider).astream("Go.")

    async def read() -> None:
        async for told in stream:
            if isinstance(told, ToolResultMessage):
                done.clear()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await until(hang.began)
        await until(done)
        group.cancel_scope.cancel()
    hang.let_go.set()
    continuation = stream.continuation
    check_order(continuation.entries)
    first, lost, kept, left = [each for each in continuation.messages if isinstance(each, ToolResultMessage)]
    assert (first.result, kept.result, kept.success) == (0, 3, True)
    assert (lost.success, left.success) == (False, False)
    assert "outcome unknown" in lost.result
    assert await continuation.aprompt("Are you there?") == "Here again."


async def test_reused_id_gets_no_earlier_result(anyio_backend: str) -> None:
    calls = [ToolCall("call_0", "add", {"a": number, "b": 1}) for number in (1, 2)]
    stream = llm().provider(ScriptedProvider(*calls, "Done.")).tool(add).astream("Add.")
    async with stream:
        answers = 0
        async for told in stream:
            answers += isinstance(told, Answer)
            if answers == 2:
                break
    results = [each for each in stream.continuation.messages if isinstance(each, ToolResultMessage)]
    assert [each.success for each in results] == [True, False]
    assert results[1].result == "not run: the conversation was stopped before this call started"


def test_provider_failure_keeps_earlier_effects() -> None:
    ran: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return "paid"

    provider = ScriptedProvider(ToolCall("", "pay", {"amount": 5}), ConnectionFailedError("the line is dead"), "Paid.")
    with pytest.raises(ProviderError) as caught:
        llm().tool(pay).provider(provider).prompt("Pay 5.")
    continuation = caught.value.continuation
    assert isinstance(continuation, LLMPromptBuilder)
    assert continuation.prompt() == "Paid."
    assert ran == [5]


# Records stay true ----------------------------------------------------------------------------------------------------


async def test_cancelled_call_has_unknown_outcome(anyio_backend: str) -> None:
    hang = Hang()
    told: list[dict[str, Any]] = []
    calls = [ToolCall("a", "awaited", {}), ToolCall("b", "sync", {}), ToolCall("c", "add", {"a": 1, "b": 2})]
    stream = llm().tools(add, ez_tool(hang.awaited), ez_tool(hang.sync)).on_tool_call(told.append)
    stream = stream.provider(ScriptedProvider(calls)).astream("Go.")

    async def read() -> None:
        async for _ in stream:
            pass

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await until(hang.began)
        while not told:  # noqa: ASYNC110 - a listener is no task
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    hang.let_go.set()
    assert (told[0]["name"], told[0]["result"]) == ("add", 3)
    lost = "outcome unknown: the conversation was stopped before this call returned"
    assert sorted((record["name"], record["result"], record["error"]) for record in told[1:]) == [
        ("awaited", None, lost),
        ("sync", None, lost),
    ]
    assert all(record["duration_ms"] >= 0 for record in told)


def test_listener_error_for_cancelled_call_is_ignored() -> None:
    async def hang() -> None:
        """Never end."""
        await anyio.sleep_forever()

    def listen(record: dict[str, Any]) -> None:
        raise LookupError(record["name"])

    calls = [ToolCall("", "hang", {}), ToolCall("", "add", {"a": 1, "b": 2})]
    with pytest.raises(LookupError, match="add"):
        llm().tools(hang, add).on_tool_call(listen).provider(ScriptedProvider(calls)).converse("Go.")


def test_records_share_no_mutable_state() -> None:
    def listen(record: dict[str, Any]) -> None:
        record["kwargs"]["items"].append("more")
        record["kwargs"]["new"] = 1

    def count(items: list[str]) -> int:
        """Count items."""
        return len(items)

    script = ScriptedProvider(ToolCall("", "count", {"items": ["tea"]}), "One.")
    _, continuation = llm().tool(count).on_tool_call(listen).provider(script).converse("How many?")
    (called,) = [each for each in continuation.messages if isinstance(each, ToolCallMessage)]
    assert called.arguments == {"items": ["tea"]}


def test_events_have_calls_before_results() -> None:
    order: list[object] = []

    @ez_tool(requires_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    cut_off = Answer(messages=(ToolCallMessage("pay", "d", {"amount": 3}),), stop_reason="length")
    calls = [ToolCall("a", "pay", {"amount": 1}), ToolCall("b", "pay", {"amount": 2}), ToolCall("c", "pay", "{")]
    builder = llm().tool(pay).approve(lambda call: call.arguments != {"amount": 2} or "too much")
    builder = builder.on_tool_call(lambda record: order.append((record["kwargs"], record["result"], record["error"])))
    stream = builder.provider(ScriptedProvider(calls, cut_off, "Done.")).stream("Go.")
    order.extend(told.tool_call_id for told in stream if isinstance(told, ToolResultMessage))
    records = sorted(order[:3], key=str)
    assert order[3:] == ["a", "b", "c", "d"]
    assert records[0] == ({"amount": 1}, "paid", None)
    assert records[1] == ({"amount": 2}, None, "pay was not approved: too much")
    assert str(records[2]).startswith("({}, None, 'pay: the arguments are not usable JSON")


@pytest.mark.parametrize("begun", [False, True])
async def test_stopped_program_leaves_unknown_outcome(begun: bool, anyio_backend: str) -> None:
    hang = Hang()
    provider = ScriptedProvider("```python\nawaited()\n```", "Here again.", tools=False)
    with Toolkit([ez_tool(hang.awaited)]) as toolkit:
        stream = llm().toolkit(toolkit, mode="prompt").provider(provider).astream("Go.")

        async def read() -> None:
            async for told in stream:
                if isinstance(told, Answer) and not begun:
                    break

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            if begun:
                await until(hang.began)
                group.cancel_scope.cancel()
        await stream.aclose()
        said = str(stream.continuation.messages[-1])
        assert said == (
            "Outcome unknown: the conversation was stopped before the program ended."
            if begun
            else "The program was not run: the conversation was stopped before it started."
        )
        assert await stream.continuation.aprompt() == "Here again."
