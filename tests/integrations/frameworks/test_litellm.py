"""LiteLLM's completions, whose model is its own mock: it calls a tool in its first turn, and then answers."""

import copy
from typing import Any

import litellm
import pytest

from ez_ptc import Toolkit
from ez_ptc.integrations.litellm import OfferedTools, export_tools
from tests.integrations.frameworks.shop import Effects, shop

pytestmark = pytest.mark.anyio


def call(name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": arguments}}


def run(tools: OfferedTools, *calls: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a loop as people write it, and return the messages of the tools."""
    messages: list[Any] = [{"role": "user", "content": "go"}]
    mocks: list[dict[str, Any]] = [{"mock_tool_calls": list(calls)}, {"mock_response": "done"}]
    while True:
        response: Any = litellm.completion("openai/gpt-4o", messages, tools=tools, **mocks.pop(0))
        messages.append(response.choices[0].message)
        if not (answers := tools.answer(response)):
            break
        messages += answers
    assert response.choices[0].message.content == "done"
    return [message for message in messages if isinstance(message, dict) and message["role"] == "tool"]


def test_toolkit_runs_programs_in_a_loop() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        [result] = run(export_tools(toolkit), call("execute_tools", '{"code": "print(price(\'tea\'))"}'))
        [failed] = run(export_tools(toolkit), call("execute_tools", '{"code": "1 / 0"}'))
    assert result == {"role": "tool", "tool_call_id": "call_execute_tools", "name": "execute_tools", "content": "3.0\n"}
    assert "ZeroDivisionError" in failed["content"]


def test_single_tools_keep_approval_and_context() -> None:
    effects: Effects = []
    with pytest.raises(ValueError, match="LiteLLM has no approval of its own"):
        export_tools(shop(effects))
    tools = export_tools(shop(effects), context="eve", approve=lambda call: call.arguments["amount"] < 10)
    calls = [call("refund", f'{{"customer": "Ada", "amount": {amount}}}') for amount in (5, 500)]
    first, second = run(tools, *calls)
    assert (first["content"], effects) == ("refunded 5.0", [("Ada", 5.0, "eve")])
    assert "refund was not approved" in second["content"]


def test_calls_that_cannot_run_are_explained() -> None:
    tools = export_tools(shop([])[0])
    first, second, third = run(tools, call("prise", "{}"), call("price", "{"), call("price", '{"itme": "tea"}'))
    assert "price" in first["content"]
    assert "JSON" in second["content"]
    assert "itme" in third["content"]


async def test_awaited_answers_are_the_same() -> None:
    tools = export_tools(shop([])[0])
    calls = [call("price", '{"item": "tea"}')] * 2
    response = await litellm.acompletion(
        "openai/gpt-4o", [{"role": "user", "content": "go"}], tools=tools, mock_tool_calls=calls
    )
    assert [message["content"] for message in await tools.aanswer(response)] == ["3.0", "3.0"]


def test_offered_tools_are_copied_as_plain_data() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        tools = export_tools(toolkit)
        assert type(copy.deepcopy(tools)) is list
        assert copy.deepcopy({"tools": tools}) == {"tools": [*tools]}


def test_misspelled_name_is_understood_if_it_is_unique() -> None:
    tools = export_tools(shop([])[0])
    results = run(tools, call("functions.price", '{"item": "tea"}'), call("Price", '{"item": "tea"}'))
    assert [result["content"] for result in results] == ["3.0", "3.0"]
