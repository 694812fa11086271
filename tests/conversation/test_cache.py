"""Marks for a provider's cache, as a builder sets them."""

from pathlib import Path

import pytest

from ez_ptc import History
from ez_ptc.conversation.builder import LLMPromptBuilder, llm
from ez_ptc.messages import MessageRole, TextMessage
from ez_ptc.providers.anthropic import AnthropicProvider
from ez_ptc.providers.scripted import ScriptedProvider
from tests.providers.anthropic.server import anthropic_server


def look() -> str:
    """Look at the sky."""
    return "sunny"


def test_cache_marks_last_message() -> None:
    asked = llm().agent("Be brief.").context("A long text.").cache("1h").request("What is it about?")
    assert [message.cache for message in asked.messages] == [False, "1h", False]
    assert asked.messages[1] == TextMessage("A long text.", cache="1h")
    assert asked.cache().messages[-1].cache is True


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_marks_are_sent_and_kept(is_streamed: bool, tmp_path: Path) -> None:
    with anthropic_server("About rain.", "Yes.") as server:
        provider = AnthropicProvider(api_key="key", base_url=server.url)
        asked = llm().agent("Be brief.").cache("1h").tools(look).cache("1h", tools=True).context("A text.").cache()
        asked = asked.provider(provider)
        if is_streamed:
            stream = asked.stream("What is it about?")
            list(stream)
            continuation = stream.continuation
        else:
            _, continuation = asked.converse("What is it about?")
        with History(tmp_path / "history.sqlite") as history:
            loaded = history.load(history.save(continuation))
        continuation.changed(entries=loaded).converse("Sure?")
    assert loaded == continuation.entries
    control = {"type": "ephemeral"}
    for body in server.bodies:
        assert body["tools"][-1]["cache_control"] == {**control, "ttl": "1h"}
        assert body["system"][0]["cache_control"] == {**control, "ttl": "1h"}
        assert body["messages"][0]["content"][0]["cache_control"] == control


def _answered() -> LLMPromptBuilder:
    return llm().provider(ScriptedProvider("Hello")).converse("Hi")[1]


def test_cache_needs_a_message() -> None:
    with pytest.raises(ValueError, match="expected a message of yours to mark, got nothing"):
        llm().cache()
    with pytest.raises(ValueError, match="expected a message of yours to mark, got an answer"):
        _answered().cache()
    with pytest.raises(ValueError, match="expected a lifetime of 5m, 30m, 1h, 12h, got '2h'"):
        llm().request("Hi").cache("2h")


def test_cache_mark_is_not_printed() -> None:
    assert repr(TextMessage("Hi", cache=True)) == repr(TextMessage("Hi", role=MessageRole.USER))
