"""The JSON of Mistral's chat, which has the shape of OpenAI's Chat Completions.

What Mistral takes as a tool's name it does not say; it is held to what OpenAI takes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ez_ptc.formats.describable import Describable
from ez_ptc.formats.naming.names import Names
from ez_ptc.formats.openai_shapes.calls import CHAT_NAMES, chat_calls, chat_tool, tool_message
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["KEYS", "NAMES", "calls", "describe", "results"]

NAMES: Final = CHAT_NAMES
KEYS: Final = None


def describe(tool: Describable, *, strict: bool = False) -> dict[str, Any]:
    """Return a tool as an element of a request's `tools`.

    `strict` binds the model to the schema; what it cannot say raises `SchemaError` that names the parameter. What was
    optional is null where the model leaves it out.
    """
    return chat_tool(tool, strict=strict)


def calls(answer: Mapping[str, Any], names: Names | None = None) -> list[ToolCall]:
    """Return the calls that a model asks for, in a completion or in its message; arguments stay as they came.

    Raises `ProviderError` that says what is wrong where.
    """
    return chat_calls(answer, names, "call{:05d}".format)  # nine letters and digits, which is what Mistral takes back


def results(answered: Sequence[tuple[ToolCall, ToolResult]], names: Names | None = None) -> list[dict[str, Any]]:
    """Return one message for each call."""
    known = Names() if names is None else names
    return [
        {**tool_message(call, result, for_mistral=True), "name": known.to_provider(call.name)}
        for call, result in answered
    ]
