"""Calls and results in the shape of chat completions, which more than one provider speaks."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ez_ptc.formats.content import as_text, delivered, error_text, result_parts
from ez_ptc.formats.describable import Describable, is_strict
from ez_ptc.formats.json_reader import JsonObject, tool_call
from ez_ptc.formats.lowering.portable import portable
from ez_ptc.formats.lowering.strict import strict as strict_parameters
from ez_ptc.formats.media import content_of_result
from ez_ptc.formats.naming.names import Names, names_of
from ez_ptc.formats.naming.spelling import NameRules
from ez_ptc.formats.openai_shapes.media import chat_text, mistral_media, no_result_media
from ez_ptc.messages import ToolCall, ToolResult

__all__ = ["CHAT_NAMES", "chat_calls", "chat_tool", "tool_message"]

CHAT_NAMES: Final = NameRules(characters="A-Za-z0-9_-", first="A-Za-z0-9_-", longest=64)


def chat_tool(tool: Describable, *, strict: bool) -> dict[str, Any]:
    """Return a tool as an element of a request's `tools`."""
    strict = is_strict(tool, strict)
    make = strict_parameters if strict else portable
    function: dict[str, Any] = {
        "name": names_of([tool], CHAT_NAMES).to_provider(tool.name),
        "description": tool.description,
        "parameters": make(tool.name, tool.parameters),
    }
    return {"type": "function", "function": {**function, "strict": True} if strict else function}


def chat_calls(answer: Mapping[str, Any], names: Names | None, made_id: Callable[[int], str]) -> list[ToolCall]:
    """Return the calls in a message, or in a completion's first choice; `made_id` makes the ids that are missing."""
    top = JsonObject(answer, "answer")
    choices = top.objects("choices")
    message = top
    if "choices" in top.fields:
        message = choices[0].object("message") if choices else None
    parts = message.objects("tool_calls") if message is not None else []
    return [_call(part, made_id(at), names) for at, part in enumerate(parts)]


def tool_message(call: ToolCall, result: ToolResult, *, for_mistral: bool = False) -> dict[str, Any]:
    """Return the message that answers one call. OpenAI takes only text in it, Mistral what it takes anywhere."""
    result = delivered(call.name, result)
    content = _content(result.output, for_mistral=for_mistral) if result.success else error_text(result)
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def _content(output: object, *, for_mistral: bool) -> str | list[dict[str, Any]]:
    parts = result_parts(output)
    if parts is None:
        return as_text(output)
    if for_mistral:
        return content_of_result(parts, chat_text, mistral_media)
    return "\n".join(part["text"] for part in content_of_result(parts, chat_text, no_result_media))


def _call(part: JsonObject, made_id: str, names: Names | None) -> ToolCall:
    function = part.object("function") or JsonObject(None, f"{part.where}.function")
    return tool_call(function, part.identifier(made_id, "id"), "arguments", names)
