"""LlamaIndex's real agent loop over its own mock model, in both directions."""

from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockFunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import FunctionTool
from llama_index.core.tools.calling import acall_tool, call_tool

from ez_ptc import Toolkit
from ez_ptc.integrations.llama_index import CallProgressed, export_tools
from tests.integrations.frameworks.shop import Effects, shop

pytestmark = pytest.mark.anyio


class Scripted(MockFunctionCallingLLM):
    """Makes these calls, one a turn, and then says "done"."""

    turns: list[Any] = []  # noqa: RUF012 - a field

    def get_tool_calls_from_response(self, response: Any, error_on_no_tool_call: bool = True, **options: Any) -> Any:
        if not self.turns:
            return []
        name, arguments = self.turns.pop(0)
        return [ToolSelection(tool_id="call", tool_name=name, tool_kwargs=arguments)]

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **options: Any
    ) -> Any:
        return {"messages": [*(chat_history or []), ChatMessage("done")]}


async def run(tools: list[Any], *turns: Any) -> list[Any]:
    """Return what the calls of a run gave."""
    handler = FunctionAgent(tools=tools, llm=Scripted(turns=list(turns)), streaming=False).run("go")
    results = [event.tool_output async for event in handler.stream_events() if isinstance(event, ToolCallResult)]
    await handler
    return results


async def test_toolkit_runs_programs_in_their_agent() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        [result] = await run(export_tools(toolkit), ("execute_tools", {"code": "print(price('tea') + price('milk'))"}))
    assert (result.content, result.is_error) == ("7.0\n", False)


async def test_progress_is_an_event_of_the_agents_stream() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        tools = [*export_tools(toolkit), *export_tools(shop([])[0])]
        turns = [("execute_tools", {"code": "price('tea')"}), ("price", {"item": "milk"})]
        handler = FunctionAgent(tools=tools, llm=Scripted(turns=turns), streaming=False).run("go")
        events = [event async for event in handler.stream_events() if isinstance(event, CallProgressed)]
        await handler
    first, second = events
    assert (first.tool, first.done, first.total, first.message) == ("price", 1, None, "tea")
    assert (second.tool, second.message, second.id) == ("price", "milk", "")
    assert first.id


async def test_failures_are_marked() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        tools = [*export_tools(toolkit), *export_tools(shop([])[0])]
        first, second = await run(tools, ("execute_tools", {"code": "price('tea') / 0"}), ("price", {"itme": "tea"}))
    assert (first.is_error, second.is_error) == (True, True)
    assert "ZeroDivisionError" in first.content
    assert "itme" in second.content


async def test_single_tools_keep_approval_and_context() -> None:
    effects: Effects = []
    with pytest.raises(ValueError, match="LlamaIndex has no approval of its own"):
        export_tools(shop(effects))
    tools = export_tools(shop(effects), context="eve", approve=lambda call: call.arguments["amount"] < 10)
    calls = [("refund", {"customer": "Ada", "amount": amount}) for amount in (5, 500)]
    first, second = await run(tools, *calls)
    assert (first.content, second.is_error, effects) == ("refunded 5.0", True, [("Ada", 5.0, "eve")])


async def test_async_tool_called_blocking_gives_its_result() -> None:
    tools = export_tools(shop([])[1], context="eve", approve=lambda _: True)
    assert tools[0].call(customer="Ada", amount=5).raw_output == "refunded 5.0"


async def test_tool_without_an_agent_needs_no_context() -> None:
    [price] = export_tools(shop([])[0])
    for output in (call_tool(price, {"item": "tea"}), await acall_tool(price, {"item": "tea"})):
        assert (output.raw_output, output.is_error) == (3.0, False)
    assert "ez_ptc_context" in price.call(item="tea", ez_ptc_context="a model's").content


def test_their_tools_run_in_a_program() -> None:
    async def greet(name: str, times: int = 1) -> str:
        """Greet somebody."""
        return f"{'hello ' * times}{name}"

    def divide(one: int, other: int) -> float:
        """Divide."""
        return one / other

    tools = [FunctionTool.from_defaults(async_fn=greet), FunctionTool.from_defaults(divide)]
    with Toolkit(tools) as toolkit:
        assert toolkit.execute("print(greet('Ada', times=2), divide(3, 2))").output == "hello hello Ada 1.5\n"
        assert "division by zero" in str(toolkit.execute("divide(1, 0)").error)


def test_toolkit_passed_as_a_tool_says_what_to_pass() -> None:
    with Toolkit([len]) as toolkit, pytest.raises(TypeError, match=r"export_tools\(toolkit\)"):
        FunctionTool.from_defaults(toolkit)
