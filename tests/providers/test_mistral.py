"""`MistralProvider`, through the SDK of OpenAI, against a server on loopback; its requests by Mistral's own types."""

import re
from itertools import pairwise
from typing import Any

import pytest

from ez_ptc import ez_tool
from ez_ptc.conversation.builder import llm
from ez_ptc.errors import AuthenticationError
from ez_ptc.formats.openai_chat.messages import request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolCall, ToolCallMessage, ToolResultMessage
from ez_ptc.providers.mistral import MistralProvider
from tests.providers.loopback import LoopbackServer, Reply, sse
from tests.providers.openai.replies import completion, completion_chunks

MISTRAL = "api.mistral.ai"
CALL = {"id": "D681PevKs", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing about Mistral or OpenAI in the environment."""
    for name in ("MISTRAL_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny"


def check(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a request's messages, which Mistral's own types take and its order allows."""
    from mistralai.client.models import ChatCompletionRequest

    assert body.keys() <= ChatCompletionRequest.model_fields.keys()
    ChatCompletionRequest.model_validate(body)
    messages: list[dict[str, Any]] = body["messages"]
    roles = [each["role"] for each in messages]
    assert ("tool", "user") not in pairwise(roles)
    ids = [each["tool_call_id"] for each in messages if each["role"] == "tool"]
    assert ids == [call["id"] for each in messages for call in each.get("tool_calls", [])]
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", each) for each in ids)
    return messages


def test_a_conversation_goes_on_after_calls() -> None:
    with LoopbackServer(Reply(body=completion(tool_calls=[CALL])), Reply(body=completion("Sunny."))) as server:
        asked = llm().tool(get_weather).provider(MistralProvider("m", base_url=server.url, api_key="secret"))
        messages, _ = asked.converse("Oslo?", max_tokens=50)
    assert str(messages[-1]) == "Sunny."
    assert [each.headers["authorization"] for each in server.requests] == ["Bearer secret"] * 2
    *_, called, result = check(server.bodies[1])
    assert (called["tool_calls"], result["content"]) == ([CALL], "Oslo: sunny")
    assert server.bodies[0]["max_tokens"] == 50


def test_stream_omits_options_mistral_refuses() -> None:
    with LoopbackServer(Reply(body=sse(*completion_chunks("Sun", "ny.")))) as server:
        with llm().provider(MistralProvider("m", base_url=server.url)).stream("Oslo?") as stream:
            list(stream)
        assert stream.continuation.text == "Sunny."
    (body,) = server.bodies
    assert body.pop("stream") is True
    check(body)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tool_choice": "required"},
        {"tool_choice": "get_weather"},
        {"strict": True, "temperature": 0, "max_tokens": 5},
        {"output_schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
    ],
)
def test_foreign_messages_are_sent_in_mistral_terms(changes: dict[str, Any]) -> None:
    calls = (
        ToolCallMessage("get_weather", "toolu_" + "x" * 40, {"city": "Oslo"}),
        ToolCallMessage("get_weather", "a", "{"),
    )
    entries = (
        TextMessage("Be brief.", role=MessageRole.SYSTEM),
        TextMessage("Hello"),
        Answer(messages=calls, provider="anthropic"),
        *(ToolResultMessage(each.tool_call_id, "sunny", tool_name="get_weather") for each in calls),
        TextMessage("And now?"),
    )
    prompt = Prompt(model="m", entries=entries, tools=(ez_tool(get_weather),), **changes)
    messages = check(request(prompt, server=MISTRAL))
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]


def test_it_wants_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuthenticationError, match="set MISTRAL_API_KEY"):
        MistralProvider()
    monkeypatch.setenv("MISTRAL_API_KEY", "secret")
    assert (MistralProvider().name, MistralProvider("m").model) == ("mistral", "m")
    refusal = pytest.raises(AuthenticationError, match="Unauthorized; is MISTRAL_API_KEY right")
    with LoopbackServer(Reply(body={"detail": "Unauthorized"}, status=401)) as server, refusal:
        llm().provider(MistralProvider(base_url=server.url)).prompt("Hi")
    # The key is Mistral's, and goes to no other server.
    assert server.requests[0].headers["authorization"] == "Bearer none"


def test_calls_without_ids_get_some_that_mistral_takes() -> None:
    bare = {"type": "function", "function": CALL["function"]}
    with LoopbackServer(Reply(body=completion(tool_calls=[bare, bare])), Reply(body=completion("Sunny."))) as server:
        asked = llm().tool(get_weather).provider(MistralProvider("m", base_url=server.url))
        messages, _ = asked.converse("Oslo?")
    check(server.bodies[1])
    assert len({each.tool_call_id for each in messages if isinstance(each, ToolResultMessage)}) == 2
    assert ToolCall("c00001x00", "get_weather", {}).id in str(server.bodies[1])
