"""A conversation so far, in a provider's own messages and in ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ez_ptc.formats.anthropic.messages import request
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, MessageList

if TYPE_CHECKING:
    from ez_ptc.messages import Entry
    from ez_ptc.tools.tool import Tool

__all__ = ["ConversationState"]


@dataclass(frozen=True, slots=True)
class ConversationState:
    """What was said in a conversation, and the tools that its model has.

    Attributes:
        api_messages: All of it but the instructions, as Anthropic's Messages API takes it.
        tools: The tools.
        message_history: All messages, in our own form.
    """

    api_messages: list[dict[str, Any]]
    tools: list[Tool[..., Any]]
    message_history: MessageList

    @classmethod
    def of(cls, entries: tuple[Entry, ...], tools: tuple[Tool[..., Any], ...]) -> ConversationState:
        """Return the state of a conversation. Raises ProviderError for what Anthropic's messages cannot say."""
        sent = request(Prompt(model="", entries=entries, tools=tools))
        history = [
            message for entry in entries for message in (entry.messages if isinstance(entry, Answer) else (entry,))
        ]
        return cls(sent["messages"], list(tools), history)
