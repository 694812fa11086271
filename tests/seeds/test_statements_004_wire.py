"""The design of conversations on what goes to providers, statement by statement. Each test quotes what it runs."""

from typing import Any

import pytest

from ez_ptc import AnthropicProvider, LLMPromptBuilder, OpenAIChatProvider, OpenAIProvider, ProviderError, Tool, llm
from tests.providers.anthropic.server import anthropic_server
from tests.providers.loopback import LoopbackServer, Reply
from tests.providers.openai.replies import completion, response

Json = dict[str, Any]

CALL: Json = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"location": "Paris"}}
AGAIN: Json = {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"location": "London"}}


def get_weather(location: str) -> str:
    """Get current weather for a location."""
    return f"sunny in {location}"


def asking(server: LoopbackServer) -> LLMPromptBuilder:
    return llm().tools([get_weather]).provider(AnthropicProvider("claude", api_key="key", base_url=server.url))


def test_conversation_follows_the_documented_flow() -> None:
    """
    A[User defines tools with .tools()] --> B[Builder validates and stores tools]
    B --> C[User calls prompt_conversation()]
    C --> D[Provider formats tools for API]
    D --> E[API call with tool definitions]
    E --> F[Response contains tool calls?]
    F -->|Yes| G[Execute tool functions]
    F -->|No| H[Return text response]
    G --> I[Format tool results]
    I --> J[Continue conversation with results]
    J --> E
    H --> K[Return responses and continuation builder]
    K --> L[User can continue conversation]
    **Provider Extensions**
    Enhanced Anthropic provider with tool calling support
    """
    with anthropic_server([CALL], "Sunny.", [AGAIN], "There too.") as server:
        messages, continuation = asking(server).converse("In Paris?")
        assert [type(each).__name__ for each in messages[1:]] == ["ToolCallMessage", "ToolResultMessage", "TextMessage"]
        _, continuation = continuation.converse("And in London?")
    assert continuation.text == "There too."
    assert [len(body["messages"]) for body in server.bodies] == [1, 3, 5, 7]
    schema = {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}
    for body in server.bodies:
        ((name, described),) = [(each["name"], each["input_schema"]) for each in body["tools"]]
        assert (name, described) == ("get_weather", schema)


def test_results_return_in_the_requested_form() -> None:
    """
    Tool results must be sent back in specific format
    Tool call parsing and response formatting
    """
    with anthropic_server([CALL, AGAIN], "Both sunny.") as server:
        asking(server).converse("In Paris and London?")
    asked, told = server.bodies[1]["messages"][-2:]
    assert asked == {"role": "assistant", "content": [CALL, AGAIN]}
    assert told["role"] == "user"
    assert [(each["type"], each["tool_use_id"], each["content"]) for each in told["content"]] == [
        ("tool_result", "toolu_1", "sunny in Paris"),
        ("tool_result", "toolu_2", "sunny in London"),
    ]


def test_provider_error_is_raised_with_its_text() -> None:
    """Provider API errors"""
    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": "That is too much."}}
    with anthropic_server(Reply(status=400, body=refusal)) as server, pytest.raises(ProviderError, match="too much"):
        asking(server).converse("In Paris?")


@pytest.mark.parametrize("sent", ["not an object", None])
def test_non_object_arguments_do_not_end_conversation(sent: object) -> None:
    """Tool call parsing errors"""
    with anthropic_server([{**CALL, "input": sent}], "Sorry.") as server:
        _, continuation = asking(server).converse("In Paris?")
    assert continuation.text == "Sorry."
    assert server.bodies[1]["messages"][-1]["content"][0]["is_error"] is True


def test_openai_has_another_form_of_a_tool() -> None:
    """OpenAI uses different tool calling format"""
    tool = Tool.from_function(get_weather)
    openai, anthropic = tool.to_openai_format(), tool.to_anthropic_format()
    assert openai["function"]["parameters"] == anthropic["input_schema"]
    assert (openai["type"], anthropic["name"]) == ("function", "get_weather")


def test_call_has_another_name_in_each_openai_api() -> None:
    """Function calling vs tool calling terminology"""
    written = '{"location": "Paris"}'
    chat_call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": written}}
    item = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": written}
    with LoopbackServer(Reply(body=completion(tool_calls=[chat_call])), Reply(body=completion("Sunny."))) as server:
        provider = OpenAIChatProvider("m", base_url=server.url, api_key="key")
        assert llm().tools([get_weather]).provider(provider).prompt("In Paris?") == "Sunny."
    with LoopbackServer(Reply(body=response(item)), Reply(body=response("Sunny."))) as other:
        provider = OpenAIProvider("m", base_url=other.url, api_key="key")
        assert llm().tools([get_weather]).provider(provider).prompt("In Paris?") == "Sunny."
    assert server.bodies[1]["messages"][1]["tool_calls"] == [chat_call]
    assert [each["type"] for each in other.bodies[1]["input"][1:]] == ["function_call", "function_call_output"]


def test_openai_goes_on_in_another_form() -> None:
    """Different response structure and continuation patterns"""
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"location": "Paris"}'},
    }
    with LoopbackServer(Reply(body=completion(tool_calls=[call])), Reply(body=completion("Sunny."))) as server:
        provider = OpenAIChatProvider("m", base_url=server.url, api_key="key")
        llm().tools([get_weather]).provider(provider).converse("In Paris?")
    result = {"role": "tool", "tool_call_id": "call_1", "content": "sunny in Paris"}
    assert server.bodies[1]["messages"][-1] == result
