"""What `print` shows of messages, calls and results."""

from __future__ import annotations

from typing import cast

from ez_ptc.messages import Answer, MediaMessage, TextMessage, ToolCall, ToolCallMessage, ToolResult, ToolResultMessage
from ez_ptc.results.bounds import MAX_TEXT, fit_text
from ez_ptc.results.robust_repr import robust_repr
from ez_ptc.schema.arguments.json_text import arguments_or_text
from ez_ptc.view.markup import visible_text

__all__ = ["printed_text"]


def printed_text(value: object) -> str:
    """Return a text for people, of at most 30,000 characters; of a class without one, the `repr`."""
    if isinstance(value, ToolCallMessage):
        value = value.call
    if isinstance(value, ToolCall):
        text = _call_text(value)
    elif isinstance(value, ToolResultMessage):
        verb = "returned" if value.success else "failed"
        text = f"{value.tool_name or 'tool'} {verb}: {_value_text(value.result)}"
    elif isinstance(value, ToolResult):
        text = _value_text(value.output) if value.success else value.error_text or "failed"
    elif isinstance(value, MediaMessage):
        text = f"[{value.KIND}: {value.url or f'{value.media_type}, {len(value.data or bytes()):,} bytes'}]"
    elif isinstance(value, Answer):
        text = "\n".join(map(str, value.messages))
    else:
        text = repr(value)
    return fit_text(visible_text(text), MAX_TEXT)


def _call_text(call: ToolCall) -> str:
    arguments: object = arguments_or_text(call.arguments)
    if isinstance(arguments, dict):
        pairs = cast("dict[object, object]", arguments).items()
        arguments = ", ".join(f"{name}={robust_repr(argument)}" for name, argument in pairs)
    return f"{call.name}({arguments})"


def _value_text(value: object) -> str:
    if isinstance(value, str):
        return value
    items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()
    if any(isinstance(item, TextMessage | MediaMessage) for item in items):
        return "\n".join(map(str, items))
    return robust_repr(cast("object", value))
