"""What a conversation is to end with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.messages import Answer, Entry, TextMessage, ToolResultMessage
    from ez_ptc.tools.tool import Tool

__all__ = ["Goal"]


class Goal:
    """Any answer that asks for nothing further.

    Others add to the request: `instructions` that follow what was said, a `tool` that takes the answer and whose calls
    count against no limit, an `output_schema` of the answer's text. None of these stays in the conversation.
    """

    instructions: tuple[TextMessage, ...] = ()
    tool: Tool[..., Any] | None = None
    output_schema: dict[str, Any] | None = None

    @property
    def tool_name(self) -> str | None:
        """The name of the tool that takes the answer."""
        return None if self.tool is None else self.tool.name

    def is_reached(self, answer: Answer, results: Sequence[ToolResultMessage]) -> bool:
        """Whether the results of an answer's calls end the conversation."""
        del answer, results
        return False

    def reply(self, answer: Answer) -> str | None:
        """Return what to tell a model that asks for nothing further, or None where the conversation is over."""
        del answer
        return None

    def kept(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return what a conversation grows by, given all that was said in it."""
        return entries
