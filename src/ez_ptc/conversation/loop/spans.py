"""What OpenTelemetry is told of a conversation, in the words of its semantic conventions for generative AI."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.formats.content import as_json, error_text
from ez_ptc.formats.lowering.sentences import without_surrogates
from ez_ptc.messages import Answer, MediaMessage, Message, MessageRole, TextMessage, ToolCallMessage, ToolResultMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ez_ptc.formats.prompt import Prompt
    from ez_ptc.messages import Entry, ToolCall, ToolResult
    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.tracing import Attributes

__all__ = [
    "name_of",
    "of_answer",
    "of_call",
    "of_provider",
    "what_came_of",
    "what_was_answered",
    "what_was_asked",
    "what_was_called",
]

_Json = dict[str, Any]

# How the conventions call those that we call otherwise.
_PROVIDERS: Final[Mapping[str, str]] = {"gemini": "gcp.gemini", "mistral": "mistral_ai", "openai-chat": "openai"}
_REASONS: Final[Mapping[str, str]] = {"end": "stop", "tool_calls": "tool_call", "refusal": "content_filter"}


def of_provider(provider: LLMProvider, prompt: Prompt) -> Attributes:
    """Return whom a request is for, and how it is to be answered."""
    limits: _Json = {"max_tokens": prompt.max_tokens, "temperature": prompt.temperature}
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider.name, provider.name),
        "gen_ai.request.model": provider.model,
        **{f"gen_ai.request.{name}": value for name, value in limits.items() if value is not None},
    }


def of_answer(answer: Answer) -> Attributes:
    """Return what is known of an answer, but for its content."""
    return {
        "gen_ai.response.id": _text(answer.id),
        "gen_ai.response.model": _text(answer.model),
        "gen_ai.response.finish_reasons": [_text(_REASONS.get(answer.stop_reason, answer.stop_reason))],
        "gen_ai.usage.input_tokens": answer.usage.input_tokens,
        "gen_ai.usage.output_tokens": answer.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": answer.usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": answer.usage.reasoning_tokens,
    }


def name_of(call: ToolCall) -> str:
    """Return the name of a call's span."""
    return f"execute_tool {_text(call.name)}"


def of_call(call: ToolCall) -> Attributes:
    """Return which tool is called."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": _text(call.name),
        "gen_ai.tool.type": "function",
        **({"gen_ai.tool.call.id": _text(call.id)} if call.id else {}),
    }


# Content, which is recorded only where somebody asks for it -----------------------------------------------------------


def what_was_asked(prompt: Prompt) -> Attributes:
    """Return the whole conversation so far; an image is its kind and size."""
    system = [each for each in prompt.entries if _is_system(each)]
    said = [_message(each) for each in prompt.entries if not _is_system(each)]
    instructions = {"gen_ai.system_instructions": _text(_parts(system))} if system else {}
    return {**instructions, "gen_ai.input.messages": _text(said)}


def what_was_answered(answer: Answer) -> Attributes:
    """Return what a model said."""
    reason = _REASONS.get(answer.stop_reason, answer.stop_reason)
    return {"gen_ai.output.messages": _text([{**_message(answer), "finish_reason": reason}])}


def what_was_called(call: ToolCall) -> Attributes:
    """Return the arguments of a call as the model sent them."""
    return {"gen_ai.tool.call.arguments": _text(as_json(call.arguments))}


def what_came_of(result: ToolResult) -> Attributes:
    """Return what a call returned, or the text that the model reads of its failure."""
    return {"gen_ai.tool.call.result": _text(as_json(result.output) if result.success else error_text(result))}


def _is_system(entry: Entry) -> bool:
    return isinstance(entry, TextMessage) and entry.role is MessageRole.SYSTEM


def _message(entry: Entry) -> _Json:
    if isinstance(entry, Answer):
        return {"role": "assistant", "parts": _parts(entry.messages)}
    role = "tool" if isinstance(entry, ToolResultMessage) else entry.role.value
    return {"role": role, "parts": _parts([entry])}


def _parts(entries: Iterable[Entry]) -> list[_Json]:
    return [_part(each) for each in entries if isinstance(each, Message)]


def _part(message: Message) -> _Json:
    if isinstance(message, TextMessage):
        return {"type": "text", "content": message.text}
    if isinstance(message, ToolCallMessage):
        arguments = as_json(message.arguments)
        return {"type": "tool_call", "id": message.tool_call_id, "name": message.tool_name, "arguments": arguments}
    if isinstance(message, ToolResultMessage):
        return {"type": "tool_call_response", "id": message.tool_call_id, "response": as_json(message.result)}
    if not isinstance(message, MediaMessage):
        return {"type": type(message).__name__}
    if message.data is None:
        return {"type": "uri", "modality": message.KIND, "uri": message.url or ""}
    return {"type": message.KIND, "mime_type": message.media_type, "size": len(message.data)}


def _text(value: object) -> str:
    # Halves of characters, which models do write, are nothing that can be exported.
    return without_surrogates(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
