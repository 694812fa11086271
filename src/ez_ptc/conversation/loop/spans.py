"""Spans and metrics of requests to models, after its semantic conventions for generative AI."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.conversation.prices import cost
from ez_ptc.formats.content import as_json
from ez_ptc.formats.ordering import is_system_text
from ez_ptc.formats.provider_table import PROVIDERS
from ez_ptc.messages import Answer, MediaMessage, Message, TextMessage, ToolCallMessage, ToolResultMessage
from ez_ptc.telemetry.metrics import current_metrics
from ez_ptc.tools.call_spans import span_text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from ez_ptc.conversation.fallback import FailoverConnection
    from ez_ptc.formats.prompt import Prompt
    from ez_ptc.messages import Entry
    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.telemetry.settings import Attributes

__all__ = [
    "Measurement",
    "answer_attributes",
    "answer_content",
    "conversation_attributes",
    "measured",
    "provider_attributes",
    "request_content",
]

_Json = dict[str, Any]

# The names in the conventions, if they differ from ours.
_PROVIDERS: Final[Mapping[str, str]] = {entry.name: entry.telemetry for entry in PROVIDERS if entry.telemetry}
_REASONS: Final[Mapping[str, str]] = {
    "end": "stop",
    "empty": "stop",
    "tool_calls": "tool_call",
    "refusal": "content_filter",
}


def conversation_attributes(provider: LLMProvider) -> Attributes:
    """Return the attributes of a conversation: its provider and model, of which a fallback may answer."""
    return {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": _PROVIDERS.get(provider.name, provider.name),
        "gen_ai.request.model": provider.model,
    }


def provider_attributes(provider: LLMProvider, prompt: Prompt) -> Attributes:
    """Return the attributes of a request: its provider, model and options."""
    limits: _Json = {"max_tokens": prompt.max_tokens, "temperature": prompt.temperature}
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider.name, provider.name),
        "gen_ai.request.model": provider.model,
        **{f"gen_ai.request.{name}": value for name, value in limits.items() if value is not None},
    }


def answer_attributes(answer: Answer) -> Attributes:
    """Return the attributes of an answer, without its content."""
    return {
        "gen_ai.response.id": span_text(answer.id),
        "gen_ai.response.model": span_text(answer.model),
        "gen_ai.response.finish_reasons": [span_text(_REASONS.get(answer.stop_reason, answer.stop_reason))],
        "gen_ai.usage.input_tokens": answer.usage.input_tokens,
        "gen_ai.usage.output_tokens": answer.usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": answer.usage.cached_tokens,
        "gen_ai.usage.reasoning.output_tokens": answer.usage.reasoning_tokens,
    }


@dataclass(slots=True)
class Measurement:
    """What metrics say of a request: its answer, if there was one."""

    answer: Answer | None = None


@contextmanager
def measured(connection: FailoverConnection, prompt: Prompt) -> Generator[Measurement]:
    """Measure a request, its tokens and its cost."""
    metrics = current_metrics()
    measurement, started, error_type = Measurement(), perf_counter(), None
    try:
        yield measurement
    except GeneratorExit:  # its consumer has left, perhaps after the last event
        raise
    except BaseException as error:  # cancellation included
        error_type = type(error).__name__
        raise
    finally:
        if metrics is not None:
            attributes = provider_attributes(connection.provider, prompt)
            metrics.record_answer(attributes, perf_counter() - started, error_type)
            if measurement.answer is not None:
                usage, model = measurement.answer.usage, measurement.answer.model or connection.provider.model
                price = cost(usage, model)
                dollars = None if price is None else float(price)
                metrics.record_usage(attributes, usage.input_tokens, usage.output_tokens, dollars)


# Content, which is recorded only on request -------------------------------------------------------------------------


def request_content(prompt: Prompt) -> Attributes:
    """Return the whole conversation so far; of an image, its media type and size."""
    instructions = [entry for entry in prompt.entries if is_system_text(entry)]
    messages = [_message(entry) for entry in prompt.entries if not is_system_text(entry)]
    attributes: Attributes = {"gen_ai.input.messages": span_text(messages)}
    if instructions:
        attributes["gen_ai.system_instructions"] = span_text(_parts(instructions))
    return attributes


def answer_content(answer: Answer) -> Attributes:
    """Return the content of an answer."""
    reason = _REASONS.get(answer.stop_reason, answer.stop_reason)
    return {"gen_ai.output.messages": span_text([{**_message(answer), "finish_reason": reason}])}


def _message(entry: Entry) -> _Json:
    if isinstance(entry, Answer):
        return {"role": "assistant", "parts": _parts(entry.messages)}
    role = "tool" if isinstance(entry, ToolResultMessage) else entry.role.value
    return {"role": role, "parts": _parts([entry])}


def _parts(entries: Iterable[Entry]) -> list[_Json]:
    return [_part(entry) for entry in entries if isinstance(entry, Message)]


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
