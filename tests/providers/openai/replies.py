"""What the two APIs of OpenAI answer, made for tests; and both of them side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ez_ptc.providers.openai_chat import OpenAIChatProvider
from ez_ptc.providers.openai_responses import OpenAIProvider

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CHAT", "RESPONSES", "Api", "completion", "completion_chunks", "response", "response_events"]

Events = list["Mapping[str, Any] | str"]


@dataclass(frozen=True, slots=True)
class Api:
    """One of the two, as a test sees it: `whole` is an answer in one piece, `events` are the same in pieces."""

    name: str
    provider: Callable[..., OpenAIChatProvider | OpenAIProvider]
    path: str
    whole: Callable[[str], dict[str, Any]]
    events: Callable[[str], Events]

    def __str__(self) -> str:
        return self.name


def completion(text: str | None = None, /, **message: Any) -> dict[str, Any]:
    """Return a chat completion that says a text, or has another message; `finish_reason` is why it ended."""
    reason = message.pop("finish_reason", "tool_calls" if message.get("tool_calls") else "stop")
    said = {"role": "assistant", "content": text, **message}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "model-1",
        "choices": [{"index": 0, "message": said, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 3,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 1},
        },
    }


def completion_chunks(*deltas: dict[str, Any] | str, finish_reason: str = "stop") -> Events:
    """Return the chunks of a completion, with its usage at the end, as `[DONE]` is."""
    given = [{"content": each} if isinstance(each, str) else each for each in deltas]
    bodies = [*given, {}]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "model-1"}
    chunks: Events = [
        {
            **head,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason if at == len(given) else None}],
        }
        for at, delta in enumerate(bodies)
    ]
    return [*chunks, {**head, "choices": [], "usage": completion()["usage"]}, "[DONE]"]


def response(*items: dict[str, Any] | str, **fields: Any) -> dict[str, Any]:
    """Return a response of items; text is a message that says it."""
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "model-1",
        "output": [_message(each) if isinstance(each, str) else each for each in items],
        "store": False,
        "usage": {
            "input_tokens": 12,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 1},
            "total_tokens": 15,
        },
        **fields,
    }


def response_events(*items: dict[str, Any] | str, **fields: Any) -> Events:
    """Return the events of a response, with the text of its messages in words."""
    whole = response(*items, **fields)
    events: Events = [{"type": "response.created", "response": {**whole, "output": [], "status": "in_progress"}}]
    for at, item in enumerate(whole["output"]):
        events.append({"type": "response.output_item.added", "output_index": at, "item": {"type": item["type"]}})
        events += [_delta(at, word) for part in item.get("content", []) for word in _words(part.get("text", ""))]
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    kind = "response.incomplete" if whole["status"] == "incomplete" else "response.completed"
    return [*events, {"type": kind, "response": whole}]


def _delta(at: int, word: str) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "output_index": at, "content_index": 0, "delta": word}


def _words(text: str) -> list[str]:
    return [word if at == 0 else f" {word}" for at, word in enumerate(text.split(" "))]


def _message(text: str) -> dict[str, Any]:
    content: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [content]}


CHAT = Api("chat", OpenAIChatProvider, "/chat/completions", completion, lambda text: completion_chunks(*_words(text)))
RESPONSES = Api("responses", OpenAIProvider, "/responses", response, response_events)
