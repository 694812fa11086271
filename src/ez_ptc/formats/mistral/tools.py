"""Tools, calls and results in Mistral's chat API, which has the format of Chat Completions.

Mistral does not document which tool names it accepts; OpenAI's rules apply.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.mistral.dialect import media_part
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.openai_shapes.chat_tools import NAMES, describe, read_calls, result_message
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["KEYS", "NAMES", "calls", "describe", "results"]

KEYS: Final = None


def calls(answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
    """Return the tool calls in a completion or in its message, with their arguments as received.

    Raises `ProviderError` naming the invalid field.
    """
    return read_calls(answer, names, "call{:05d}".format)  # nine letters and digits: Mistral rejects any other id


def results(answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None) -> list[dict[str, Any]]:
    """Return one message for each result."""
    names = names or Names()
    return [
        {**result_message(call, result, media_part), "name": names.to_provider(call.name)} for call, result in answered
    ]
