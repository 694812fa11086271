"""What each provider answers, whole and in pieces; and every way in which one thing in it may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Protocol, cast

from ez_ptc import ez_tool
from ez_ptc.formats.anthropic import messages as anthropic_turns
from ez_ptc.formats.anthropic import stream as anthropic_stream
from ez_ptc.formats.gemini import messages as gemini_turns
from ez_ptc.formats.gemini import stream as gemini_stream
from ez_ptc.formats.openai_chat import messages as openai_turns
from ez_ptc.formats.openai_chat import stream as openai_stream
from ez_ptc.formats.openai_responses import messages as responses_turns
from ez_ptc.formats.openai_responses import stream as responses_stream
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.messages import Answer, TextMessage

__all__ = ["FORMATS", "JUNK", "NOT_JSON", "PROMPT", "Form", "mutations", "send_money"]

Json = dict[str, Any]


@ez_tool
def send_money(to: str, amount: int = 1) -> str:
    """Send money."""
    return f"{amount} to {to}"


PROMPT: Final = Prompt(model="m", entries=(TextMessage("Pay Ada."),), tools=(send_money,))


class Stream(Protocol):
    """Puts an answer together."""

    def feed(self, event: Mapping[str, Any]) -> list[TextDelta]:
        """Take an event."""
        ...

    def answer(self) -> Answer:
        """Return the whole."""
        ...


@dataclass(frozen=True)
class Form:
    """One provider's format: its functions, an answer, and the events that the same answer comes in."""

    answer: Callable[[Any, Prompt], Answer]
    request: Callable[[Prompt], Json]
    stream: Callable[[Prompt], Stream]
    body: Json
    events: Sequence[Json]

    def streamed(self, events: Sequence[Any]) -> tuple[Answer, str]:
        """Return the answer that events make, and the text that was told meanwhile."""
        stream = self.stream(PROMPT)
        told = [delta.text for event in events for delta in stream.feed(event)]
        return stream.answer(), "".join(told)


_ARGUMENTS: Final = '{"to": "Ada", "amount": 5}'

_CHAT_CALL: Final = {"id": "a", "type": "function", "function": {"name": "send_money", "arguments": _ARGUMENTS}}
_CHAT: Final[Json] = {
    "id": "x",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {"role": "assistant", "content": "I pay.", "reasoning": "Hm.", "tool_calls": [_CHAT_CALL]},
        }
    ],
    "usage": {
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 1},
    },
}
_CHAT_EVENTS: Final[list[Json]] = [
    {"id": "x", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "I "}}]},
    {"choices": [{"index": 0, "delta": {"content": "pay.", "reasoning": "Hm."}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **_CHAT_CALL}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": _CHAT["usage"]},
]

_MISTRAL: Final[Json] = {
    **_CHAT,
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                    {"type": "text", "text": "I pay."},
                ],
                "tool_calls": [_CHAT_CALL],
            },
        }
    ],
}
_MISTRAL_EVENTS: Final[list[Json]] = [
    {
        "choices": [
            {"index": 0, "delta": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "H"}]}]}}
        ]
    },
    {
        "choices": [
            {"index": 0, "delta": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]}}
        ]
    },
    {"choices": [{"index": 0, "delta": {"content": "I pay."}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **_CHAT_CALL}]}, "finish_reason": "tool_calls"}]},
]

_ANTHROPIC_USAGE: Final = {
    "input_tokens": 1,
    "output_tokens": 2,
    "cache_read_input_tokens": 3,
    "output_tokens_details": {"thinking_tokens": 1},
}
_ANTHROPIC: Final[Json] = {
    "id": "x",
    "model": "m",
    "type": "message",
    "role": "assistant",
    "stop_reason": "tool_use",
    "container": {"id": "c"},
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Ada"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "I pay.", "citations": [{"type": "char_location", "file_id": None}]},
        {
            "type": "tool_use",
            "id": "a",
            "name": "send_money",
            "input": {"to": "Ada", "amount": 5},
            "caller": {"type": "direct"},
        },
    ],
    "usage": _ANTHROPIC_USAGE,
}
_ANTHROPIC_EVENTS: Final[list[Json]] = [
    {
        "type": "message_start",
        "message": {"id": "x", "model": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 1}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "", "citations": []}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I pay."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {"file_id": None}}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "a", "name": "send_money", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": _ARGUMENTS}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]

_RESPONSE: Final[Json] = {
    "id": "x",
    "model": "m",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"},
        {"type": "program", "id": "p", "call_id": "prog", "code": "1"},
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "I pay.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "f",
            "call_id": "a",
            "name": "send_money",
            "arguments": _ARGUMENTS,
            "caller": {"type": "program", "caller_id": "prog"},
        },
    ],
    "usage": {
        "input_tokens": 1,
        "output_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}
_RESPONSE_EVENTS: Final[list[Json]] = [
    {"type": "response.created", "response": {"id": "x", "model": "m", "status": "in_progress", "output": []}},
    {"type": "response.output_text.delta", "delta": "I pay.", "output_index": 0, "content_index": 0},
    {"type": "response.output_item.done", "output_index": 0, "item": _RESPONSE["output"][2]},
    {"type": "response.output_item.done", "output_index": 1, "item": _RESPONSE["output"][3]},
    {"type": "response.completed", "response": {**_RESPONSE, "output": []}},
]

_GEMINI: Final[Json] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"text": "I pay."},
                    {
                        "functionCall": {"id": "a", "name": "send_money", "args": {"to": "Ada", "amount": 5}},
                        "thoughtSignature": "s",
                    },
                ],
            },
            "finishReason": "STOP",
            "safetyRatings": [{"category": "c"}],
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 1,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 1,
        "cachedContentTokenCount": 1,
    },
    "modelVersion": "m",
    "responseId": "r",
}
_GEMINI_EVENTS: Final[list[Json]] = [
    {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "I "}]}}],
        "modelVersion": "m",
    },
    {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "pay."}]}}], "responseId": "r"},
    {
        "candidates": [
            {
                "content": {"parts": [{"functionCall": {"name": "send_money", "args": {"to": "Ada", "amount": 5}}}]},
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": _GEMINI["usageMetadata"],
    },
]

_LOCAL: Final = "localhost"
FORMATS: Final[Mapping[str, Form]] = {
    "anthropic": Form(
        anthropic_turns.answer, anthropic_turns.request, anthropic_stream.AnswerStream, _ANTHROPIC, _ANTHROPIC_EVENTS
    ),
    "openai-chat": Form(openai_turns.answer, openai_turns.request, openai_stream.AnswerStream, _CHAT, _CHAT_EVENTS),
    "mistral": Form(
        partial(openai_turns.answer, server=_LOCAL),
        partial(openai_turns.request, server=_LOCAL),
        partial(openai_stream.AnswerStream, server=_LOCAL),
        _MISTRAL,
        _MISTRAL_EVENTS,
    ),
    "openai-responses": Form(
        responses_turns.answer, responses_turns.request, responses_stream.AnswerStream, _RESPONSE, _RESPONSE_EVENTS
    ),
    "gemini": Form(gemini_turns.answer, gemini_turns.request, gemini_stream.AnswerStream, _GEMINI, _GEMINI_EVENTS),
}


def _nested(levels: int, *, is_list: bool) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value] if is_list else {"a": value}
    return value


_HUGE: Final = int("9" * 4000) ** 2

_EMPTY: Final = cast("tuple[object, ...]", ("", [], {}, [None], [[]], [{}], {"type": []}, {"": None}))
_NUMBERS: Final[tuple[object, ...]] = (True, 0, -1, 1.5, 10**30, _HUGE, -_HUGE, float("nan"), float("inf"))
_TEXTS: Final[tuple[object, ...]] = ("x", "a\nb\x1b[2J", "\ud800", "\udc00x", "x" * 10_000)
_VALUES: Final[tuple[object, ...]] = (["a"], {"a": 1}, {"\ud800": "\udfff"}, {"type": {"a": 1}, "id": ["a"]})
_DEEP: Final = tuple(_nested(levels, is_list=is_list) for levels in (60, 300, 50_000) for is_list in (True, False))
JUNK: Final[tuple[object, ...]] = (None, *_EMPTY, *_NUMBERS, *_TEXTS, *_VALUES, *_DEEP)
"""What may stand where something else is expected, and is JSON or nearly so."""

NOT_JSON: Final[tuple[object, ...]] = (object(), b"x", {1: 2}, datetime(2026, 1, 2, tzinfo=UTC), {"a": {1, 2}})


def mutations(value: object, junk: Sequence[object] = (*JUNK, *NOT_JSON)) -> Iterator[Any]:
    """Give a value with one thing in it replaced by junk, left out, or there twice; each once."""
    yield from junk
    if isinstance(value, dict):
        fields = cast("Json", value)
        for key, each in fields.items():
            yield {other: one for other, one in fields.items() if other != key}
            yield from ({**fields, key: other} for other in mutations(each, junk))
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        for at, each in enumerate(items):
            yield [*items[:at], *items[at + 1 :]]
            yield [*items[: at + 1], *items[at:]]
            yield from ([*items[:at], other, *items[at + 1 :]] for other in mutations(each, junk))
