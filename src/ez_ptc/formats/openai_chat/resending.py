"""A received message as servers accept it back."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ez_ptc.formats.openai_chat.media import text_part
from ez_ptc.formats.openai_shapes.requests import arguments_text

__all__ = ["function_call_of", "sendable_message"]

_Json = dict[str, Any]

# What a message may have instead of content.
_INSTEAD_OF_CONTENT: Final = frozenset({"function_call", "refusal", "tool_calls"})


def sendable_message(original: Mapping[str, Any], names: Sequence[str]) -> _Json:
    """Return a received message with the provider's names in its calls, and without what servers refuse.

    Servers refuse nulls, empty lists, calls whose arguments are no text, and a message without content or calls.
    """
    message = {key: value for key, value in original.items() if value is not None and value != []}
    calls, content = message.pop("tool_calls", None), _sendable_content(message.pop("content", None))
    function = function_call_of(original)
    message.pop("function_call", None)
    if calls:
        message["tool_calls"] = [*map(_sendable_call, calls, names)]
    elif function and names:
        message["function_call"] = _sendable_function(function, names[0])
    if content:
        message["content"] = content
    elif not message.keys() & _INSTEAD_OF_CONTENT:
        message["content"] = ""
    elif "content" in original:
        message["content"] = None
    return {**message, "role": "assistant"}


def function_call_of(content: Mapping[str, Any]) -> object:
    """Return a message's `function_call`, or None for an empty one, which some servers always send."""
    function: object = content.get("function_call")
    if not isinstance(function, Mapping):
        return function or None
    fields = cast("Mapping[str, object]", function)
    if any(fields.values()):
        return fields
    return None


def _sendable_content(content: object) -> object:
    """Return an answer's content as servers accept it back: a text, or parts that have one; None for anything else."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    parts: list[object] = []
    for item in cast("list[object]", content):
        if isinstance(item, dict):
            fields = cast("_Json", item)
            if fields.get("text" if fields.get("type") == "text" else "type"):
                parts.append(fields)
        elif isinstance(item, str) and item:
            parts.append(text_part(item))
    return parts or None


def _sendable_call(call: object, name: str) -> object:
    if not isinstance(call, dict) or "function" not in call:
        return cast("object", call)
    fields = cast("_Json", call)
    call_type = fields.get("type") or "function"  # which some servers leave out, and demand
    return {**fields, "type": call_type, "function": _sendable_function(fields["function"], name)}


def _sendable_function(function: object, name: str) -> object:
    """Return a call's function with the tool's name at the provider, and with arguments that are JSON text."""
    if not isinstance(function, dict):
        return function
    fields = cast("_Json", function)
    return {**fields, "name": name, "arguments": arguments_text(fields.get("arguments") or "")}
