"""The design of conversations, statement by statement. Each test quotes what it runs."""

import inspect
from dataclasses import fields
from typing import Any, cast

import pytest

from ez_ptc import (
    AnthropicProvider,
    ConversationState,
    GeminiProvider,
    LLMPromptBuilder,
    LLMProvider,
    MessageList,
    MessageRole,
    MistralProvider,
    OpenAIChatProvider,
    OpenAIProvider,
    Prompt,
    ProviderError,
    ScriptedProvider,
    TextMessage,
    Tool,
    ToolCall,
    ToolCallMessage,
    ToolResultMessage,
    llm,
)
from ez_ptc.providers.lookup import KEYS, choose
from tests.providers.anthropic.server import message
from tests.providers.loopback import LoopbackServer, Reply


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


CALL = ToolCall("call_1", "get_weather", {"location": "Paris"})


# --- conversations ----------------------------------------------------------------------------------------------------


async def test_conversation_returns_messages_and_continuation(anyio_backend: str) -> None:
    """
    This feature adds conversation support and tool calling capabilities to the fluent LLM library.
    New `prompt_conversation()` method that returns responses and continuation builder
    Execute conversation with tool calling support.
    but supports tool calling and returns conversation state.
    Returns:
    Tuple of (message_list, continuation_builder) where message_list
    contains all messages including tool calls and responses.
    """
    messages, continuation = await asking(ScriptedProvider(CALL, "Sunny.")).prompt_conversation("In Paris?")
    kinds = [type(message).__name__ for message in messages]
    assert kinds == ["TextMessage", "ToolCallMessage", "ToolResultMessage", "TextMessage"]
    assert isinstance(continuation, LLMPromptBuilder)


def test_a_conversation_is_kept_over_its_turns() -> None:
    """
    **Conversation Management**
    and conversation management,
    Conversation state preservation across multiple turns
    """
    provider = ScriptedProvider(CALL, "Sunny.", "There too.")
    messages, continuation = asking(provider).converse("In Paris?")
    final, _ = continuation.converse("What about London?")
    assert final[: len(messages)] == messages
    assert [str(each) for each in final[len(messages) :]] == ["What about London?", "There too."]
    assert [tool.name for tool in provider.prompts[-1].tools] == ["get_weather"]


def test_calls_are_found_and_run() -> None:
    """Tool call detection and execution flow"""
    messages, _ = asking(ScriptedProvider(CALL, "Sunny.")).converse("In Paris?")
    assert [each.result for each in messages if isinstance(each, ToolResultMessage)] == ["sunny in Paris"]


def test_a_message_is_optional() -> None:
    """message: Optional text message to add to conversation"""
    said, _ = llm().request("Hello").provider(ScriptedProvider("Hi.")).converse()
    added, _ = llm().request("Hello").provider(ScriptedProvider("Hi.")).converse(message="Well?")
    assert [str(each) for each in said] == ["Hello", "Hi."]
    assert [str(each) for each in added] == ["Hello", "Well?", "Hi."]


def test_other_arguments_go_to_the_provider() -> None:
    """
    Args:
    **kwargs: Additional arguments passed to the provider API
    """
    provider = ScriptedProvider("Hi.")
    llm().provider(provider).converse("Hello", temperature=0.5, top_k=3)
    assert (provider.prompts[0].temperature, provider.prompts[0].options) == (0.5, {"top_k": 3})


def test_one_answer_may_have_several_calls() -> None:
    """Multiple tool calls can occur in single response"""
    calls = [ToolCall("", "get_weather", {"location": place}) for place in ("Paris", "London")]
    messages, _ = asking(ScriptedProvider(calls, "Both sunny.")).converse("?")
    results = [each.result for each in messages if isinstance(each, ToolResultMessage)]
    assert results == ["sunny in Paris", "sunny in London"]


# --- providers --------------------------------------------------------------------------------------------------------


def test_a_provider_is_a_class_of_two_methods() -> None:
    """
    class LLMProvider:
    def supports_tools(self) -> bool:
    Check if provider supports tool calling.
    async def prompt_with_tools(
    Execute prompt with tool calling support.
    with a clear extension path for other providers.
    """
    assert asking(Anyone()).prompt("And in Paris?") == "It is sunny in Paris."
    assert hasattr(LLMProvider, "supports_tools")


@pytest.mark.anyio
async def test_builtin_providers_prompt_with_tools(anyio_backend: str) -> None:
    """
    async def prompt_with_tools(
    Execute prompt with tool calling support.
    """
    provider = ScriptedProvider(CALL, "Sunny.")
    prompt = Prompt(model="", entries=(TextMessage("In Paris?"),), options={"top_p": 1})
    made = Tool.from_function(get_weather)
    answer = await provider.prompt_with_tools("m", prompt, [made], max_tokens=5, top_k=3)
    assert (answer.calls, answer.model) == ((CALL,), "m")
    asked = provider.prompts[0]
    assert (asked.model, asked.tools, asked.max_tokens, asked.options) == ("m", (made,), 5, {"top_p": 1, "top_k": 3})
    assert (await provider.prompt_with_tools(model="m", p=prompt, tools=[])).text == "Sunny."
    assert asking(ScriptedProvider(CALL, "Sunny.")).prompt("?") == "Sunny."
    for kind in (AnthropicProvider, GeminiProvider, MistralProvider, OpenAIProvider, OpenAIChatProvider):
        assert [*inspect.signature(kind.prompt_with_tools).parameters] == ["self", "model", "p", "tools", "kwargs"]


@pytest.mark.anyio
async def test_builtin_provider_sends_the_tools(anyio_backend: str) -> None:
    """Execute prompt with tool calling support."""
    with LoopbackServer(Reply(body=message("Hi."))) as server:
        provider = AnthropicProvider("m", api_key="k", base_url=server.url)
        prompt = Prompt(model="", entries=(TextMessage("In Paris?"),))
        answer = await provider.prompt_with_tools("other", prompt, [Tool.from_function(get_weather)])
    assert answer.text == "Hi."
    (request,) = server.requests
    assert (request.body["model"], request.body["tools"][0]["name"]) == ("other", "get_weather")


@pytest.mark.anyio
async def test_prompt_for_text_is_awaited(anyio_backend: str) -> None:
    """
    Similar to prompt_for_text but supports tool calling and returns conversation state.
    Simple message passing interface similar to prompt_for_text
    """
    assert await asking(ScriptedProvider(CALL, "Sunny.")).prompt_for_text("In Paris?") == "Sunny."
    assert inspect.iscoroutinefunction(LLMPromptBuilder.prompt_for_text)


def test_provider_gets_the_printed_request() -> None:
    """
    self,
    model: str,
    p: Prompt,
    tools: List[Tool],
    **kwargs
    ) -> Any:
    """
    got: dict[str, Any] = {}

    class Listening:
        def supports_tools(self) -> bool:
            return True

        async def prompt_with_tools(self, model: str, p: Prompt, tools: list[Tool[..., Any]], **kwargs: Any) -> object:
            got.update(model=model, p=p, tools=tools, **kwargs)
            return "Hi."

    assert asking(Listening()).model("m").prompt("Hello", top_k=3) == "Hi."
    assert (got["model"], type(got["p"]), [tool.name for tool in got["tools"]]) == ("m", Prompt, ["get_weather"])
    assert got["top_k"] == 3


def test_with_every_key_anthropic_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Default model selection strategy must prefer Anthropic when tools are present
    The implementation focuses on Anthropic's tool calling format initially,
    """
    for variable in (each for several in KEYS.values() for each in several):
        monkeypatch.setenv(variable, "a key")
    assert choose(None, None).name == "anthropic"


def test_provider_without_tools_raises_if_native_only() -> None:
    """Clear error messages when tools are used with unsupported providers"""
    with pytest.raises(ProviderError, match="cannot call tools: choose another"):
        asking(ScriptedProvider("x", tools=False)).converse("?", native_only=True)


def test_a_provider_without_tools_gets_programs() -> None:
    """Graceful degradation when tool calling is not available"""
    program = "`" * 3 + "python\nprint(get_weather('Paris'))\n" + "`" * 3
    messages, continuation = asking(ScriptedProvider(program, "Sunny.", tools=False)).converse("In Paris?")
    assert (str(messages[-2]), continuation.text) == ("sunny in Paris\n", "Sunny.")


# --- messages and state -----------------------------------------------------------------------------------------------


def test_messages_of_calls_have_their_fields() -> None:
    """
    Message representing a tool call made by the AI.
    tool_name: str
    tool_call_id: str
    arguments: dict
    role: MessageRole = MessageRole.ASSISTANT
    Message representing the result of a tool call.
    result: Any
    role: MessageRole = MessageRole.USER
    """
    call, result = ToolCallMessage("find", "call_1", {"a": 1}), ToolResultMessage("call_1", 5)
    assert ToolCallMessage("find", "call_1", {"a": 1}, MessageRole.USER).role is MessageRole.USER
    assert ToolResultMessage("call_1", 5, MessageRole.ASSISTANT).role is MessageRole.ASSISTANT
    assert TextMessage("Hello", MessageRole.SYSTEM) == TextMessage("Hello", role=MessageRole.SYSTEM)
    for kind in (ToolCallMessage, ToolResultMessage, TextMessage):
        assert [field.name for field in fields(kind) if not field.kw_only][-1] == "role"
    assert (call.tool_name, call.tool_call_id, call.role) == ("find", "call_1", MessageRole.ASSISTANT)
    assert call.arguments == {"a": 1}
    assert (result.tool_call_id, result.result, result.role) == ("call_1", 5, MessageRole.USER)


def test_the_state_has_its_fields() -> None:
    """
    The builder maintains internal conversation state with Anthropic API-level messages:
    class ConversationState:
    api_messages: List[dict]  # Anthropic API format messages (includes user messages)
    tools: List[Tool]
    message_history: MessageList  # Our abstract message format
    """
    state: ConversationState = asking(ScriptedProvider("x")).request("Hello").state
    history: MessageList = state.message_history
    assert state.api_messages == [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    assert ([tool.name for tool in state.tools], [str(each) for each in history]) == (["get_weather"], ["Hello"])


# --- errors -----------------------------------------------------------------------------------------------------------


def test_failing_tool_becomes_result_for_model() -> None:
    """
    Error handling for tool execution failures
    Tool execution failures
    """

    def fail() -> None:
        """Fail."""
        message = "the disk is full"
        raise OSError(message)

    provider = ScriptedProvider(ToolCall("", "fail", {}), "Too bad.")
    messages, _ = llm().tools([fail]).provider(provider).converse("?")
    (result,) = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert (result.success, result.result) == (False, "the disk is full")


def test_non_json_call_becomes_result_for_model() -> None:
    """Tool call parsing errors"""
    messages, continuation = asking(ScriptedProvider(ToolCall("", "get_weather", '{"location": '), "Sorry.")).converse(
        "?"
    )
    (result,) = [each for each in messages if isinstance(each, ToolResultMessage)]
    assert (result.success, continuation.text) == (False, "Sorry.")
    assert "not usable JSON" in str(result.result)
