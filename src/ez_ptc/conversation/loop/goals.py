"""The goal of a question: what ends the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.messages import Answer, Entry, TextMessage, ToolResultMessage
    from ez_ptc.tools.tool import Tool

__all__ = ["Goal"]


class Goal:
    """The default goal: any answer that asks for nothing further.

    Subclasses add to the request: `instructions` after the entries so far, a `tool` for giving the answer (its calls
    count against no limit), an `output_schema` of the answer's text. None of these stays in the conversation.
    """

    instructions: tuple[TextMessage, ...] = ()
    tool: Tool[..., Any] | None = None
    output_schema: dict[str, Any] | None = None

    @property
    def tool_name(self) -> str | None:
        """The name of the tool for giving the answer."""
        if self.tool is None:
            return None
        return self.tool.name

    def is_reached(self, answer: Answer, results: Sequence[ToolResultMessage]) -> bool:
        """Return whether an answer, with the results of its calls, ends the conversation."""
        del answer, results
        return False

    def reply(self, answer: Answer) -> str | None:
        """Return the reply to an answer that asks for nothing further, or None if the conversation is over."""
        del answer
        return None

    def entries_to_keep(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return the entries that stay in the conversation, given all new ones."""
        return entries
