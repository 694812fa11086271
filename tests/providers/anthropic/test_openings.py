"""Conversations in which the assistant speaks first, through Anthropic's SDK, against a server on loopback."""

from pathlib import Path

import pytest

from ez_ptc import History
from ez_ptc.conversation.builder import llm
from ez_ptc.errors import ProviderError
from ez_ptc.messages import MessageRole
from ez_ptc.providers.anthropic import AnthropicProvider
from tests.providers.anthropic.server import anthropic_server


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_a_conversation_may_begin_with_the_assistant(is_streamed: bool, tmp_path: Path) -> None:
    with anthropic_server("Two.", "Four.") as server:
        greeting = llm().agent("You add.").assistant("What shall I add?")
        asked = greeting.provider(AnthropicProvider(api_key="key", base_url=server.url))
        if is_streamed:
            stream = asked.stream("1 and 1")
            list(stream)
            continuation = stream.continuation
        else:
            _, continuation = asked.converse("1 and 1")
        with History(tmp_path / "history.sqlite") as history:
            loaded = history.load(history.save(continuation))
        asked.changed(entries=loaded).converse("And 2?")
    assert [message.role for message in continuation.messages[1:]] == [
        MessageRole.ASSISTANT,
        MessageRole.USER,
        MessageRole.ASSISTANT,
    ]
    roles = [[each["role"] for each in body["messages"]] for body in server.bodies]
    assert roles == [["assistant", "user"], ["assistant", "user", "assistant", "user"]]


def test_conversation_without_user_message_is_refused_before_sending() -> None:
    with anthropic_server("never") as server:
        asked = llm().assistant("What shall I add?").provider(AnthropicProvider(api_key="key", base_url=server.url))
        with pytest.raises(ProviderError, match="it has no user message"):
            asked.converse()
    assert server.requests == []
