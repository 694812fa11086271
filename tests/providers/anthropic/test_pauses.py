"""Answers that Anthropic's model paused in, with a call of Anthropic's own tool that has no result yet."""

from pathlib import Path
from typing import Any, cast

import pytest

from ez_ptc import History, TurnLimitError
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.messages import Entry
from ez_ptc.providers.anthropic import AnthropicProvider
from ez_ptc.providers.scripted import ScriptedProvider
from tests.providers.anthropic.server import anthropic_server, message
from tests.providers.loopback import LoopbackServer

_Json = dict[str, Any]

_SEARCH: _Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Ada"}}
_FOUND: _Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
_TEXT: _Json = {"type": "text", "text": "She wrote the first program."}
_PAUSED = message([_SEARCH], stop_reason="pause_turn")


def _asked(server: LoopbackServer) -> LLMPromptBuilder:
    return llm().provider(AnthropicProvider(api_key="key", base_url=server.url))


def _entries(error: TurnLimitError) -> tuple[Entry, ...]:
    return cast("tuple[Entry, ...]", error.entries)


def _ask(asked: LLMPromptBuilder, text: str, *, is_streamed: bool) -> LLMPromptBuilder:
    if not is_streamed:
        return asked.converse(text)[1]
    stream = asked.stream(text)
    list(stream)
    return stream.continuation


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_paused_model_gets_its_call_and_continues(is_streamed: bool) -> None:
    with anthropic_server(_PAUSED, [_FOUND, _TEXT], "You are welcome.") as server:
        continuation = _ask(_asked(server), "Who was Ada?", is_streamed=is_streamed)
        _ask(continuation, "Thanks.", is_streamed=is_streamed)
    _, second, third = [body["messages"] for body in server.bodies]
    assert second[1:] == [{"role": "assistant", "content": [_SEARCH]}]
    assert third[1]["content"] == [_SEARCH, _FOUND, _TEXT]


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_conversation_that_ended_paused_continues_without_call(is_streamed: bool, tmp_path: Path) -> None:
    with anthropic_server(_PAUSED, "I did not find out.") as server:
        with pytest.raises(TurnLimitError) as limit:
            _ask(_asked(server).limits(turns=1), "Who was Ada?", is_streamed=is_streamed)
        with History(tmp_path / "history.sqlite") as history:
            loaded = history.load(history.save(_entries(limit.value)))
        continuation = _ask(_asked(server).continued(*loaded), "Never mind.", is_streamed=is_streamed)
    assert continuation.text == "I did not find out."
    said = [block["text"] for block in server.bodies[1]["messages"][0]["content"]]
    assert (said, len(server.bodies[1]["messages"])) == (["Who was Ada?", "Never mind."], 1)


def test_another_provider_goes_on_without_the_call() -> None:
    model = ScriptedProvider("A mathematician.")
    with anthropic_server(_PAUSED) as server, pytest.raises(TurnLimitError) as limit:
        _asked(server).limits(turns=1).converse("Who was Ada?")
    assert llm().continued(*_entries(limit.value)).provider(model).prompt("And now?") == "A mathematician."
