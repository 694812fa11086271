"""The state of a conversation: its messages, in Anthropic's form and in ours, and its tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.formats.anthropic.messages import request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, MessageList

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.messages import Entry
    from ez_ptc.tools.tool import Tool

__all__ = ["ConversationState", "messages_of"]


@explain_calls(checks="tools")
@dataclass(frozen=True, slots=True)
class ConversationState:
    """The messages of a conversation so far, and its tools.

    Attributes:
        api_messages: All messages but the instructions, in the form of Anthropic's Messages API.
        tools: The tools.
        message_history: All messages, in our own form.
    """

    api_messages: list[dict[str, Any]]
    tools: list[Tool[..., Any]]
    message_history: MessageList

    @classmethod
    def of(cls, entries: tuple[Entry, ...], tools: tuple[Tool[..., Any], ...]) -> ConversationState:
        """Return the state of a conversation. Raises ProviderError if Anthropic's API has no form for an entry."""
        body = request(Prompt(model="", entries=entries, tools=tools))
        return cls(body["messages"], list(tools), messages_of(entries))


def messages_of(entries: Iterable[Entry]) -> MessageList:
    """Return all messages of some entries, those of answers included."""
    messages: MessageList = []
    for entry in entries:
        if isinstance(entry, Answer):
            messages += entry.messages
        else:
            messages.append(entry)
    return messages
