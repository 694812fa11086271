"""Tools, calls and results, as Chat Completions has them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.openai_shapes.chat_tools import NAMES, describe, read_calls, result_message
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["KEYS", "NAMES", "calls", "describe", "results"]

KEYS: Final = None


def calls(answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
    """Return the tool calls in a completion."""
    return read_calls(answer, names, "call_{}".format)


def results(answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None) -> list[dict[str, Any]]:
    """Return one message for each result."""
    del names
    return [result_message(call, result) for call, result in answered]
