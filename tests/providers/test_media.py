"""Images and other media in conversations, through the official SDKs, against servers on loopback."""

from pathlib import Path
from typing import Any

import pytest

from ez_ptc import History
from ez_ptc.conversation.builder import llm
from ez_ptc.errors import ProviderError
from ez_ptc.messages import ImageMessage, MediaMessage, TextMessage, ToolResultMessage
from ez_ptc.providers.anthropic import AnthropicProvider
from ez_ptc.providers.gemini import GeminiProvider
from ez_ptc.providers.openai_chat import OpenAIChatProvider
from ez_ptc.providers.openai_responses import OpenAIProvider
from tests.providers.anthropic.server import anthropic_server
from tests.providers.loopback import LoopbackServer, Reply, sse
from tests.providers.openai.replies import completion, response

_Json = dict[str, Any]

_DRAWING = ImageMessage(b"\x89PNG")
_DATA = "iVBORw=="
_USED = {"type": "tool_use", "id": "toolu_1", "name": "draw", "input": {"what": "a cat"}}
_ARGUMENTS = '{"what": "a cat"}'


def draw(what: str) -> list[str | MediaMessage]:
    """Draw a picture."""
    return [f"This is {what}:", _DRAWING]


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_tool_picture_reaches_the_model_and_is_saved(is_streamed: bool, tmp_path: Path) -> None:
    with anthropic_server([_USED], "A cat.", "Still a cat.") as server:
        asked = llm().tool(draw).provider(AnthropicProvider(api_key="key", base_url=server.url))
        if is_streamed:
            stream = asked.stream("Draw a cat.")
            list(stream)
            continuation = stream.continuation
        else:
            _, continuation = asked.converse("Draw a cat.")
        with History(tmp_path / "history.sqlite") as history:
            loaded = history.load(history.save(continuation))
            assert [record.messages for record in history.search("This is a cat")] == [4]
        asked.continued(*loaded).converse("And now?")
    results = [each for each in continuation.messages if isinstance(each, ToolResultMessage)]
    assert [each.result for each in results] == [(TextMessage("This is a cat:"), _DRAWING)]
    assert loaded == continuation.entries
    sent = [body["messages"][2]["content"][0]["content"] for body in server.bodies[1:]]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _DATA}}
    assert sent == [[{"type": "text", "text": "This is a cat:"}, image]] * 2


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_unsupported_media_is_never_sent_but_fallback_may(is_streamed: bool) -> None:
    said = {"candidates": [{"content": {"parts": [{"text": "A song."}]}, "finishReason": "STOP"}]}
    answer = Reply(body=sse(said)) if is_streamed else Reply(body=said)
    with anthropic_server("never") as deaf, LoopbackServer(answer) as hearing:
        asked = llm().audio(b"RIFF\0\0\0\0WAVE").provider(AnthropicProvider(api_key="key", base_url=deaf.url))
        with pytest.raises(ProviderError, match="Anthropic does not take audio"):
            list(asked.stream("What is it?")) if is_streamed else asked.prompt("What is it?")
        both = asked.fallback(GeminiProvider(api_key="k", base_url=hearing.url))
        if is_streamed:
            list(stream := both.stream("What is it?"))
            assert stream.continuation.text == "A song."
        else:
            assert both.prompt("What is it?") == "A song."
    assert deaf.requests == []
    assert hearing.bodies[0]["contents"][0]["parts"][0]["inlineData"]["mimeType"] == "audio/wav"


def test_it_reaches_a_model_of_responses() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "draw", "arguments": _ARGUMENTS}
    with LoopbackServer(Reply(body=response(call)), Reply(body=response("A cat."))) as server:
        llm().tool(draw).provider(OpenAIProvider("m", base_url=server.url)).converse("Draw a cat.")
    assert server.bodies[1]["input"][-1]["output"] == [
        {"type": "input_text", "text": "This is a cat:"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{_DATA}", "detail": "auto"},
    ]


def test_it_reaches_gemini() -> None:
    called = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "draw", "args": {"what": "a cat"}}}]}}]}
    said = {"candidates": [{"content": {"parts": [{"text": "A cat."}]}, "finishReason": "STOP"}]}
    with LoopbackServer(Reply(body=called), Reply(body=said)) as server:
        llm().tool(draw).provider(GeminiProvider(api_key="k", base_url=server.url)).converse("Draw a cat.")
    assert server.bodies[1]["contents"][-1]["parts"][0]["functionResponse"] == {
        "name": "draw",
        "response": {"output": "This is a cat:"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": _DATA}}],
    }


def test_chat_completions_model_is_told_of_omitted_picture() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "draw", "arguments": _ARGUMENTS}}
    with LoopbackServer(Reply(body=completion(tool_calls=[call])), Reply(body=completion("A cat."))) as server:
        llm().tool(draw).provider(OpenAIChatProvider("m", base_url=server.url)).converse("Draw a cat.")
    content = server.bodies[1]["messages"][-1]["content"]
    assert content.startswith("This is a cat:\n[Left out here: OpenAI's Chat Completions API does not take an image")
