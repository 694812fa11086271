"""The tools that a conversation offers: each name once, whoever answers."""

import logging
from typing import Any, cast

import pytest

from ez_ptc import (
    DuplicateToolError,
    PendingCall,
    ProviderError,
    ScriptedProvider,
    TextMessage,
    Tool,
    ToolCall,
    Toolkit,
    ToolRegistry,
    ez_tool,
    llm,
)

FENCE = "`" * 3
ANY = cast("Any", llm())


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


class Kitchen:
    def brew(self) -> str:
        """Brew tea."""
        return "tea"


def program(code: str) -> str:
    return f"{FENCE}python\n{code}\n{FENCE}"


def test_same_function_twice_is_one_tool() -> None:
    kitchen = Kitchen()
    builder = llm().tools(double, [double, kitchen.brew]).tool(double).tool(kitchen.brew)
    assert [tool.name for tool in builder.settings.tools] == ["double", "brew"]


def test_same_tool_twice_is_one_tool() -> None:
    tool = ez_tool(double)
    assert len(llm().tools(tool, ToolRegistry([tool]), double).settings.tools) == 1


def test_duplicate_tool_names_are_refused_at_once(caplog: pytest.LogCaptureFixture) -> None:
    other = Tool.from_function(Kitchen().brew, name="double")
    with pytest.raises(DuplicateToolError, match="two tools are called 'double'"):
        llm().tools(double, other)
    assert "two tools are called 'double'" in caplog.text


def test_tool_with_approval_is_never_dropped() -> None:
    guarded = ez_tool(double, requires_approval=True)
    assert llm().tools(guarded, double).settings.tools == (guarded,)
    with pytest.raises(DuplicateToolError):
        llm().tools(double, guarded)


def test_tool_named_execute_tools_is_refused() -> None:
    mine = Tool.from_function(double, name="execute_tools")
    with Toolkit([ez_tool(double)]) as toolkit:
        for clash in (lambda: llm().tool(mine).toolkit(toolkit), lambda: llm().toolkit(toolkit).tool(mine)):
            with pytest.raises(DuplicateToolError, match="execute_tools"):
                clash()
        assert llm().toolkit(toolkit, mode="prompt").tool(mine).settings.tools == (mine,)


def test_keyword_names_of_functions_work() -> None:
    one, several = llm().tool(tool_function=double), llm().tools(tool_functions=[double])
    assert [tool.name for tool in one.settings.tools] == [tool.name for tool in several.settings.tools] == ["double"]


def test_model_without_tool_calls_writes_programs(caplog: pytest.LogCaptureFixture) -> None:
    provider = ScriptedProvider(program("print(double(21))"), "It is 42.", tools=False)
    records: list[dict[str, Any]] = []
    builder = llm().tools(double).provider(provider).options(tool_choice="required").on_tool_call(records.append)
    with caplog.at_level(logging.WARNING, logger="ez_ptc.conversation"):
        messages, continuation = builder.converse("Twice 21?")
    assert continuation.text == "It is 42."
    assert messages[-2] == TextMessage("42\n")
    assert (provider.prompts[0].tools, provider.prompts[0].tool_choice) == ((), "auto")
    assert "def double(number: int) -> int:" in str(provider.prompts[0].entries[0])
    assert [record["name"] for record in records] == ["double"]
    assert "cannot call tools" in caplog.text
    assert "native_only=True" in caplog.text


def test_programs_have_single_tools_of_conversation() -> None:
    tool = ez_tool(double)
    provider = ScriptedProvider(program("print(double(1), brew())"), "Done.", tools=False)
    with Toolkit([tool], preamble="Mine:") as toolkit:
        messages, _ = llm().toolkit(toolkit).tools(double, Kitchen().brew).provider(provider).converse("?")
        assert len(toolkit) == 1
    assert messages[-2] == TextMessage("2 tea\n")
    assert str(provider.prompts[0].entries[0]).startswith("Mine:")


def test_toolkit_tool_never_replaces_guarded_tool() -> None:
    guarded = ez_tool(double, requires_approval=True)
    provider = ScriptedProvider("x", tools=False)
    with Toolkit([ez_tool(double)]) as toolkit, pytest.raises(DuplicateToolError, match="double"):
        llm().toolkit(toolkit).tools(guarded).provider(provider).converse("?")
    with Toolkit([guarded]) as toolkit:
        assert llm().toolkit(toolkit).tools(double).provider(provider).converse("?")[0]


def test_approval_applies_to_substituted_programs() -> None:
    asked: list[PendingCall] = []

    def refuse(call: PendingCall) -> str:
        asked.append(call)
        return "not today"

    provider = ScriptedProvider(program("print(double(1))"), "No.", tools=False)
    guarded = ez_tool(double, requires_approval=True)
    messages, _ = llm().tools(guarded).approve(refuse).provider(provider).converse("?")
    assert [call.name for call in asked] == ["double"]
    assert "not today" in str(messages[-2])


def test_native_only_raises_without_tool_calls() -> None:
    builder = llm().tools(double).provider(ScriptedProvider("x", tools=False))
    with pytest.raises(ProviderError, match=r"scripted's model scripted cannot call tools: choose another"):
        builder.converse("x", native_only=True)
    assert builder.settings.tools


def test_fallback_without_tool_calls_is_refused() -> None:
    builder = llm().tools(double).provider(ScriptedProvider("x")).fallback(ScriptedProvider("y", tools=False))
    with pytest.raises(ProviderError, match="cannot call tools"):
        builder.converse("x")


def test_native_only_is_not_sent() -> None:
    provider = ScriptedProvider("x")
    llm().provider(provider).converse("x", native_only=True)
    assert provider.prompts[0].options == {}
    with pytest.raises(TypeError, match="did you mean 'native_only'"):
        ANY.options(nativ_only=True)


def test_state_has_messages_and_tools() -> None:
    provider = ScriptedProvider(ToolCall("call_1", "double", {"number": 2}), "Four.")
    _, continuation = llm().agent("You help.").tools(double).provider(provider).converse("Twice two?")
    state = continuation.state
    assert state.message_history == continuation.messages
    assert [tool.name for tool in state.tools] == ["double"]
    assert [message["role"] for message in state.api_messages] == ["user", "assistant", "user", "assistant"]
    assert state.api_messages[1]["content"][0]["type"] == "tool_use"
    assert state.api_messages[2]["content"][0]["type"] == "tool_result"
