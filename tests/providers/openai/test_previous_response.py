"""Conversations that go on from an answer that OpenAI has stored, through its SDK, against a server on loopback."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import History
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.conversation.saving.serialization import from_json, to_json
from ez_ptc.errors import HistoryError, ProviderError
from ez_ptc.formats.openai_chat.messages import request as chat_request
from ez_ptc.formats.openai_responses.messages import request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, TextMessage, ToolResultMessage
from ez_ptc.providers.anthropic import AnthropicProvider
from ez_ptc.providers.gemini import GeminiProvider
from ez_ptc.providers.openai_chat import OpenAIChatProvider
from ez_ptc.providers.openai_responses import OpenAIProvider
from tests.formats.openai_types import check_responses
from tests.providers.loopback import LoopbackServer, Reply, sse
from tests.providers.openai.replies import response, response_events

_Json = dict[str, Any]

_CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": '{"city": "Oslo"}',
    "status": "completed",
}
_OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "Oslo: sunny"}


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny"


def _replies(*items: _Json | str, is_streamed: bool = False, stored: bool = True) -> list[Reply]:
    """Return one reply for each item; their ids are resp_1, resp_2, …"""
    wholes = [{"id": f"resp_{number}", "store": stored} for number in range(1, len(items) + 1)]
    pairs = zip(items, wholes, strict=True)
    if is_streamed:
        return [Reply(body=sse(*response_events(item, **fields))) for item, fields in pairs]
    return [Reply(body=response(item, **fields)) for item, fields in pairs]


def _asked(server: LoopbackServer, previous: object = True) -> LLMPromptBuilder:
    asked = llm().agent("Be brief.").provider(OpenAIProvider("gpt-5.5", base_url=server.url)).tools(get_weather)
    return asked.options(previous_response_id=previous)


def _ask(asked: LLMPromptBuilder, text: str, *, is_streamed: bool) -> LLMPromptBuilder:
    if not is_streamed:
        return asked.converse(text)[1]
    stream = asked.stream(text)
    list(stream)
    return stream.continuation


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_stored_answer_is_not_sent_again(is_streamed: bool, tmp_path: Path) -> None:
    with LoopbackServer(*_replies(_CALL, "Sunny.", "Rainy.", is_streamed=is_streamed)) as server:
        asked = _asked(server)
        continuation = _ask(asked, "Oslo?", is_streamed=is_streamed)
        with History(tmp_path / "history.sqlite") as history:
            loaded = history.load(history.save(continuation))
        assert _ask(asked.changed(entries=loaded), "Rome?", is_streamed=is_streamed).text == "Rainy."
    for body in server.bodies:
        check_responses({name: value for name, value in body.items() if name != "stream"})
        assert (body["store"], body["instructions"], "include" in body) == (True, "Be brief.", False)
    assert [(body.get("previous_response_id"), body["input"]) for body in server.bodies] == [
        (None, [{"role": "user", "content": "Oslo?"}]),
        ("resp_1", [_OUTPUT]),
        ("resp_2", [{"role": "user", "content": "Rome?"}]),
    ]


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_results_of_a_stored_answer_have_the_ids_of_the_server(is_streamed: bool) -> None:
    """A call with the id of an earlier one gets another, which the server does not know."""
    with LoopbackServer(*_replies(_CALL, _CALL, "Sunny.", is_streamed=is_streamed)) as server:
        said = _ask(_asked(server), "Oslo?", is_streamed=is_streamed)
    first, second = [call.id for entry in said.entries if isinstance(entry, Answer) for call in entry.calls]
    assert first == "call_1" != second
    last = server.bodies[-1]
    called, output = {**_CALL, "call_id": second}, {**_OUTPUT, "call_id": second}
    assert (last["previous_response_id"], last["input"]) == ("resp_1", [_OUTPUT, called, output])


def test_a_conversation_goes_on_from_an_id() -> None:
    with LoopbackServer(*_replies(_CALL, "Sunny.")) as server:
        _asked(server, "resp_0").converse("And Oslo?")
    assert [(body["previous_response_id"], body["input"]) for body in server.bodies] == [
        ("resp_0", [{"role": "user", "content": "And Oslo?"}]),
        ("resp_1", [_OUTPUT]),
    ]


@pytest.mark.parametrize("previous", [True, "resp_0"])
def test_unstored_answer_is_sent_again(previous: object) -> None:
    with LoopbackServer(*_replies(_CALL, "Sunny.", stored=False)) as server:
        _asked(server, previous).options(store=False).converse("And Oslo?")
    first, second = server.bodies
    assert second["input"] == [{"role": "user", "content": "And Oslo?"}, _CALL, _OUTPUT]
    for body in (first, second):
        assert body.get("previous_response_id") == (None if previous is True else "resp_0")
        assert body["store"] is False
        assert "include" in body


def _stored(*items: _Json, **changes: Any) -> Answer:
    made = Answer(
        messages=(TextMessage("Hi."),),
        provider="openai",
        id="resp_1",
        content=list(items),
        details={"server": "api.openai.com", "stored": True},
    )
    return replace(made, **changes)


@pytest.mark.parametrize(
    ("said", "is_known"),
    [
        (_stored(), True),
        (_stored(id=""), False),
        (_stored(details={"server": "localhost", "stored": True}), False),
        (_stored(details={"stored": "yes"}), False),
        (_stored(provider="anthropic"), False),
        (_stored({"type": "custom_tool_call", "call_id": "c", "name": "n", "input": ""}), False),
    ],
)
def test_answer_the_server_cannot_continue_is_sent_again(said: Answer, is_known: bool) -> None:
    entries = (TextMessage("Hello"), said, TextMessage("And?"))
    body = request(Prompt(model="gpt-5.5", entries=entries, options={"previous_response_id": True}))

    assert (body.get("previous_response_id") == "resp_1") is is_known
    assert ({"role": "user", "content": "Hello"} in body["input"]) is not is_known


def test_result_for_provider_program_goes_to_it() -> None:
    caller = {"type": "program", "caller_id": "prog"}
    program = {"type": "program", "id": "p", "call_id": "prog", "code": "1"}
    called = response(program, {**_CALL, "caller": caller}, id="resp_1", store=True)
    with LoopbackServer(Reply(body=called), Reply(body=response("Sunny."))) as server:
        _asked(server).converse("Oslo?")
    assert server.bodies[1]["input"] == [{**_OUTPUT, "caller": caller}]


def test_saved_conversation_with_changed_id_is_sendable() -> None:
    entries = (TextMessage("Hello"), _stored(), TextMessage("And?"))
    text = to_json(entries)
    for value in (5, None, ["resp_1"]):
        with pytest.raises(HistoryError, match=r"id to be text, got "):
            from_json(text.replace('"id":"resp_1"', f'"id":{json.dumps(value)}'))
    changed = from_json(text.replace('"stored":true', '"stored":{"a":1}'))
    body = request(Prompt(model="gpt-5.5", entries=changed, options={"previous_response_id": True}))
    assert "previous_response_id" not in body


def test_invalid_id_is_refused_before_sending() -> None:
    with (
        LoopbackServer() as server,
        pytest.raises(ProviderError, match=r"to be the id of a response, or True .*, got 5"),
    ):
        _asked(server, 5).converse("Hello")
    assert server.requests == []


def test_a_provider_that_stores_nothing_is_named() -> None:
    with LoopbackServer() as server:
        for provider, name in (
            (AnthropicProvider(api_key="k", base_url=server.url), "Anthropic"),
            (GeminiProvider(api_key="k", base_url=server.url), "Gemini"),
            (OpenAIChatProvider("m", base_url=server.url), "OpenAI's Chat Completions API"),
        ):
            with pytest.raises(
                ProviderError, match=f"^{name} does not take previous_response_id, for it stores no answers"
            ):
                llm().provider(provider).prompt("Hello", previous_response_id="resp_1")
    assert server.requests == []
    prompt = Prompt(model="m", entries=(TextMessage("Hello"),), options={"previous_response_id": True})
    with pytest.raises(ProviderError, match=r"^Mistral does not take previous_response_id"):
        chat_request(prompt, server="api.mistral.ai")


def test_only_results_follow_a_stored_turn() -> None:
    with LoopbackServer(*_replies(_CALL, "Sunny.")) as server:
        _, continuation = _asked(server).converse("Oslo?")
    assert [each.result for each in continuation.messages if isinstance(each, ToolResultMessage)] == ["Oslo: sunny"]
    assert continuation.settings.options == {"previous_response_id": True}
