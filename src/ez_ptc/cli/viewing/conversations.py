"""What the pages of conversations have in them, read from a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ez_ptc.conversation.prices import total_cost, turn_usages
from ez_ptc.messages import Usage
from ez_ptc.view.conversation_page import (
    CONVERSATION_PREFIX,
    CONVERSATIONS_PATH,
    ConversationEntry,
    TurnView,
    conversation_body,
    conversations_body,
)

if TYPE_CHECKING:
    from decimal import Decimal

    from ez_ptc.conversation.saving.history import History

__all__ = ["is_conversation_page", "read_conversations"]

_MAX_LISTED: Final = 200


def is_conversation_page(page: str) -> bool:
    """Return whether a page is about conversations."""
    return page == CONVERSATIONS_PATH or page.startswith(CONVERSATION_PREFIX)


def read_conversations(history: History | None, page: str) -> str:
    """Return the contents of a page about conversations as HTML.

    Raises ValueError if no history is served, and HistoryError for an unknown conversation.
    """
    if history is None:
        message = "no conversations are served: add --history FILE to the command"
        raise ValueError(message)
    if not page.startswith(CONVERSATION_PREFIX):
        records = history.list(_MAX_LISTED)
        return conversations_body(
            [ConversationEntry(item.id, item.title, item.changed.timestamp(), item.messages) for item in records]
        )
    conversation_id = page.removeprefix(CONVERSATION_PREFIX)
    entries = history.load(conversation_id)
    turns = turn_usages(entries)
    usage = sum((turn.usage for turn in turns), Usage())
    return conversation_body(
        conversation_id,
        entries,
        [_view_turn(turn.model, turn.usage, turn.cost) for turn in turns],
        _view_turn("", usage, total_cost(entries)),
    )


def _view_turn(model: str, usage: Usage, cost: Decimal | None) -> TurnView:
    text = "unknown" if cost is None else f"${cost:,.4f}"
    return TurnView(model, usage.input_tokens, usage.cached_tokens, usage.output_tokens, text)
