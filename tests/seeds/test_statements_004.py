"""The design of conversations, statement by statement. Each test quotes what it runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional, cast

import pytest

from ez_ptc import (
    ConversationState,
    LLMPromptBuilder,
    LLMProvider,
    MessageList,
    MessageRole,
    Prompt,
    ProviderError,
    ScriptedProvider,
    Tool,
    ToolCall,
    ToolCallMessage,
    ToolResultMessage,
    generate_tool_schema,
    llm,
)
from tests.seeds.documents import misquoted


class Anyone:
    """A provider with the two methods that are printed."""

    def supports_tools(self) -> bool:
        return True

    async def prompt_with_tools(self, model: str, p: Prompt, tools: list[Tool[..., Any]], **kwargs: Any) -> object:
        last = p.entries[-1]
        if isinstance(last, ToolResultMessage):
            return f"It is {last.result}."
        return [ToolCall("", tool.name, {"location": "Paris"}) for tool in tools] or f"{model}{kwargs}"


def get_weather(location: str) -> str:
    """Get current weather for a location."""
    return f"sunny in {location}"


def asking(provider: object) -> LLMPromptBuilder:
    return llm().tools([get_weather]).provider(cast("Any", provider))


def test_a_provider_is_a_class_of_two_methods() -> None:
    """
    def supports_tools(self) -> bool:
    async def prompt_with_tools(
    with a clear extension path for other providers.
    """
    assert asking(Anyone()).prompt("And in Paris?") == "It is sunny in Paris."
    assert hasattr(LLMProvider, "supports_tools")


def test_a_tool_is_made_of_a_function() -> None:
    """Create Tool from function, deriving metadata automatically."""
    tool = Tool.from_function(get_weather)
    assert (tool.name, tool.description) == ("get_weather", get_weather.__doc__)
    assert tool.function is get_weather
    assert tool.schema == generate_tool_schema(get_weather)


def test_functions_are_given_by_the_names_printed() -> None:
    """
    def tool(self, tool_function: Callable[..., Any]) -> LLMPromptBuilder:
    def tools(self, tool_functions: List[Callable[..., Any]]) -> LLMPromptBuilder:
    """
    functions: list[Callable[..., Any]] = [get_weather]
    assert [tool.name for tool in llm().tool(tool_function=get_weather).settings.tools] == ["get_weather"]
    assert [tool.name for tool in llm().tools(tool_functions=functions).settings.tools] == ["get_weather"]
    assert [tool.name for tool in llm().tools(functions).settings.tools] == ["get_weather"]


async def test_a_conversation_returns_messages_and_what_goes_on(anyio_backend: str) -> None:
    """
    Tuple of (message_list, continuation_builder) where message_list
    contains all messages including tool calls and responses.
    """
    provider = ScriptedProvider(ToolCall("call_1", "get_weather", {"location": "Paris"}), "Sunny.", "There too.")
    messages, continuation = await asking(provider).prompt_conversation("In Paris?")
    kinds = [type(message).__name__ for message in messages]
    assert kinds == ["TextMessage", "ToolCallMessage", "ToolResultMessage", "TextMessage"]
    final, _ = await continuation.prompt_conversation("What about London?")
    assert any("London" in str(message) for message in final)


def test_messages_of_calls_have_their_fields() -> None:
    """
    tool_name: str
    tool_call_id: str
    role: MessageRole = MessageRole.ASSISTANT
    role: MessageRole = MessageRole.USER
    """
    call, result = ToolCallMessage("find", "call_1", {"a": 1}), ToolResultMessage("call_1", 5)
    assert (call.tool_name, call.tool_call_id, call.role) == ("find", "call_1", MessageRole.ASSISTANT)
    assert (result.tool_call_id, result.result, result.role) == ("call_1", 5, MessageRole.USER)


def test_the_state_has_its_fields() -> None:
    """
    api_messages: List[dict]  # Anthropic API format messages (includes user messages)
    tools: List[Tool]
    message_history: MessageList  # Our abstract message format
    """
    state: ConversationState = asking(ScriptedProvider("x")).request("Hello").state
    history: MessageList = state.message_history
    assert state.api_messages == [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    assert ([tool.name for tool in state.tools], [str(each) for each in history]) == (["get_weather"], ["Hello"])


def test_a_schema_is_generated_as_printed() -> None:
    """
    Generate JSON schema from function signature.
    if not is_optional and not has_default:
    """

    def find(what: str, limit: int = 5, place: Optional[str] = None, *, near: Optional[str]) -> None:  # noqa: UP045 - as printed
        """Find it."""

    schema = generate_tool_schema(find)
    assert list(schema) == ["type", "properties", "required"]
    assert (list(schema["properties"]), schema["required"]) == (["what", "limit", "place", "near"], ["what"])


def test_what_is_no_tool_is_found_by_the_builder() -> None:
    """
    Builder validates and stores tools
    Unsupported parameter types
    """

    class Unknown:
        pass

    def take(thing: Unknown) -> None:
        """Take it."""

    with pytest.raises(TypeError, match="parameter 'thing'"):
        llm().tools([take])
    with pytest.raises(ValueError, match="two tools are called"):
        llm().tools([get_weather]).tool(Tool.from_function(get_weather))


def test_a_failing_tool_is_a_result_that_the_model_reads() -> None:
    """Tool execution failures"""

    def fail() -> None:
        """Fail."""
        message = "the disk is full"
        raise OSError(message)

    provider = ScriptedProvider(ToolCall("", "fail", {}), "Too bad.")
    messages, _ = llm().tools([fail]).provider(provider).converse("?")
    (result,) = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert (result.success, result.result) == (False, "the disk is full")


def test_a_provider_without_tools_is_an_error_that_says_so_where_that_is_wanted() -> None:
    """Clear error messages when tools are used with unsupported providers"""
    with pytest.raises(ProviderError, match="cannot call tools: choose another"):
        asking(ScriptedProvider("x", tools=False)).converse("?", native_only=True)


def test_a_provider_without_tools_gets_programs() -> None:
    """Graceful degradation when tool calling is not available"""
    program = "`" * 3 + "python\nprint(get_weather('Paris'))\n" + "`" * 3
    messages, continuation = asking(ScriptedProvider(program, "Sunny.", tools=False)).converse("In Paris?")
    assert (str(messages[-2]), continuation.text) == ("sunny in Paris\n", "Sunny.")


def test_one_answer_may_have_several_calls() -> None:
    """Multiple tool calls can occur in single response"""
    calls = [ToolCall("", "get_weather", {"location": place}) for place in ("Paris", "London")]
    messages, _ = asking(ScriptedProvider(calls, "Both sunny.")).converse("?")
    results = [each.result for each in messages if isinstance(each, ToolResultMessage)]
    assert results == ["sunny in Paris", "sunny in London"]


def test_the_quotes_are_the_documents(shared_folder: Path) -> None:
    assert misquoted(shared_folder, "004", globals()) == []
