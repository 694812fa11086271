"""`OpenAIProvider`, through the official SDK, against a server on loopback."""

import sys
from typing import Any

import pytest

from ez_ptc.conversation.builder import llm
from ez_ptc.errors import AuthenticationError, MissingExtraError, ProviderError, RateLimitError
from ez_ptc.messages import TextMessage, ToolCallMessage, ToolResultMessage
from ez_ptc.providers.openai_chat import OpenAIChatProvider
from ez_ptc.providers.openai_responses import OpenAIProvider
from tests.providers.loopback import LoopbackServer, Reply, sse
from tests.providers.openai.replies import completion, response, response_events

REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": '{"city": "Oslo"}',
    "status": "completed",
}


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny"


def reply(*items: dict[str, Any] | str, is_streamed: bool) -> Reply:
    return Reply(body=sse(*response_events(*items)) if is_streamed else response(*items))


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_turn_returns_with_its_reasoning_and_results(is_streamed: bool) -> None:
    replies = [reply(REASONING, CALL, is_streamed=is_streamed), reply("It is sunny.", is_streamed=is_streamed)]
    with LoopbackServer(*replies) as server:
        asked = llm().provider(OpenAIProvider("gpt-5.5", base_url=server.url)).agent("Be brief.").tools(get_weather)
        if is_streamed:
            stream = asked.stream("Oslo?")
            told = list(stream)
            continuation = stream.continuation
        else:
            told, continuation = asked.converse("Oslo?")
    assert [each.tool_name for each in told if isinstance(each, ToolCallMessage)] == ["get_weather"]
    assert [each.result for each in told if isinstance(each, ToolResultMessage)] == ["Oslo: sunny"]
    assert continuation.text == "It is sunny."
    output = {"type": "function_call_output", "call_id": "call_1", "output": "Oslo: sunny"}
    assert server.bodies[1]["input"] == [{"role": "user", "content": "Oslo?"}, REASONING, CALL, output]
    for body in server.bodies:
        assert body["instructions"] == "Be brief."
        assert body["store"] is False
        assert body["include"] == ["reasoning.encrypted_content"]


def test_a_failed_response_is_an_error_with_its_words() -> None:
    error = {"code": "server_error", "message": "the model broke down"}
    failed = {"type": "response.failed", "response": response(status="failed", error=error)}
    event = {"type": "error", "code": "rate_limit_exceeded", "message": "the model broke down", "param": None}
    for body, kind in ((sse(failed), ProviderError), (sse(event), RateLimitError)):
        with LoopbackServer(Reply(body=body)) as server, pytest.raises(kind, match="the model broke down"):
            list(llm().provider(OpenAIProvider("m", base_url=server.url)).stream("Hello"))


def test_a_conversation_goes_over_to_the_other_api() -> None:
    with LoopbackServer(Reply(body=response(REASONING, CALL)), Reply(body=response("Sunny."))) as server:
        _, asked = llm().provider(OpenAIProvider("gpt-5.5", base_url=server.url)).tools(get_weather).converse("Oslo?")
    with LoopbackServer(Reply(body=completion("As I said."))) as server:
        asked.provider(OpenAIChatProvider("m", base_url=server.url)).converse("Sure?")
    [body] = server.bodies
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert body["messages"][1]["tool_calls"][0]["id"] == body["messages"][2]["tool_call_id"]


def test_another_provider_takes_over_where_this_one_fails() -> None:
    broken = Reply(status=400, body={"error": {"message": "no"}})
    with LoopbackServer(broken) as server, LoopbackServer(Reply(body=completion("Here."))) as other:
        asked = llm().provider(OpenAIProvider("m", base_url=server.url))
        messages, _ = asked.fallback(OpenAIChatProvider("n", base_url=other.url)).converse("Hello")
    assert [each.text for each in messages if isinstance(each, TextMessage)] == ["Hello", "Here."]


def test_openai_itself_wants_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(AuthenticationError, match="set OPENAI_API_KEY"):
        OpenAIProvider()
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert OpenAIProvider().model


def test_missing_sdk_error_gives_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r'pip install "openai>=3"'):
        OpenAIProvider("m", base_url="http://127.0.0.1:1/v1")
