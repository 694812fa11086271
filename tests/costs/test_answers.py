"""Answers of providers, whole and streamed, cost time and memory linear in their size, in every protocol."""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest

from ez_ptc import EzPtcError, ProviderError, llm
from ez_ptc.formats.wire import parse_body
from ez_ptc.providers._events import EventDecoder
from tests.costs.growth import check_growth
from tests.formats.all_formats.provider_bodies import FORMATS, PROMPT
from tests.providers.loopback import LoopbackServer, Reply
from tests.providers.test_borders import PROVIDERS

pytestmark = pytest.mark.security

Json = dict[str, Any]
Shape = Callable[[int], Iterable[Any]]
ARGUMENTS = '{"to": "Ada", "amount": 5}'


def _deep(size: int) -> str:
    return '{"a":' * size + "1" + "}" * size


def _chat(**delta: object) -> Json:
    return {"choices": [{"index": 0, "delta": delta}]}


def _chat_call(arguments: str, **more: object) -> Json:
    return _chat(tool_calls=[{**more, "type": "function", "function": {"name": "send_money", "arguments": arguments}}])


def _chat_piece(arguments: str) -> Json:
    return _chat(tool_calls=[{"index": 0, "function": {"arguments": arguments}}])


CHAT: dict[str, Shape] = {
    "texts": lambda size: [_chat(content="a ")] * size,
    "a text": lambda size: [_chat(content="\x1b\ud800"[0] * size)],
    "thoughts": lambda size: [_chat(reasoning="a")] * size,
    "tags of thoughts": lambda size: [_chat(content="<think>")] * size,
    "open thoughts": lambda size: [_chat(content="<think"), *[_chat(content=" ")] * size],
    "calls": lambda size: [_chat_call(ARGUMENTS, index=n, id=f"c{n}") for n in range(size)],
    "calls without index": lambda size: [_chat_call(ARGUMENTS, id=f"c{n}") for n in range(size)],
    "calls without ids": lambda size: [_chat_call(ARGUMENTS) for _ in range(size)],
    "calls of one index": lambda size: [_chat_call(ARGUMENTS, index=0, id=f"c{n}") for n in range(size)],
    "calls of one id": lambda size: [_chat_call(ARGUMENTS, index=n, id="c") for n in range(size)],
    "pieces of arguments": lambda size: [_chat_call('{"to": "', index=0, id="c"), *[_chat_piece("a")] * size],
    "pieces without index": lambda size: [
        _chat_call('{"to": "', id="c"),
        *[_chat(tool_calls=[{"function": {"arguments": "a"}}])] * size,
    ],
    "empty pieces": lambda size: [_chat_call('{"to": "', index=0, id="c"), *[_chat_piece("")] * size],
    "closing pieces": lambda size: [_chat_call("{", index=0, id="c"), *[_chat_piece("}")] * size],
    "deep arguments": lambda size: [_chat_call(_deep(size), index=0, id="c")],
    "escaped arguments": lambda size: [_chat_call('{"to": "' + r"\\\"" * size + '"}', index=0, id="c")],
    "unclosed arguments": lambda size: [_chat_call('{"to": "' + "\n" * size, index=0, id="c")],
    "arguments in quotes": lambda size: [_chat_call("{'to': '" + r"\'" * size + "'}", index=0, id="c")],
    "arguments with commas": lambda size: [_chat_call('{"to": [' + "1,," * size + "]}", index=0, id="c")],
    "a long name": lambda size: [_chat(tool_calls=[{"index": 0, "function": {"name": "x." * size}}])],
    "choices": lambda size: [{"choices": [{"index": n, "delta": {"content": "a"}} for n in range(size)]}],
    "events of choices": lambda size: [{"choices": [{"index": n, "delta": {"content": "a"}}]} for n in range(size)],
    "usages": lambda size: [{"choices": [], "usage": {"prompt_tokens": n}} for n in range(size)],
}


def _block(index: int, **block: object) -> Json:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, **delta: object) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _anthropic(*events: Json) -> list[Json]:
    return [*FORMATS["anthropic"].events[:1], *events, *FORMATS["anthropic"].events[-2:]]


def _use(index: int) -> list[Json]:
    start = _block(index, type="tool_use", id=f"c{index}", name="send_money", input={})
    return [start, _delta(index, type="input_json_delta", partial_json=ARGUMENTS)]


ANTHROPIC: dict[str, Shape] = {
    "texts": lambda size: _anthropic(_block(0, type="text", text=""), *[_delta(0, type="text_delta", text="a")] * size),
    "thoughts": lambda size: _anthropic(
        _block(0, type="thinking", thinking=""), *[_delta(0, type="thinking_delta", thinking="a")] * size
    ),
    "signatures": lambda size: _anthropic(
        _block(0, type="thinking", thinking=""), *[_delta(0, type="signature_delta", signature="a")] * size
    ),
    "citations": lambda size: _anthropic(
        _block(0, type="text", text=""), *[_delta(0, type="citations_delta", citation={"a": 1})] * size
    ),
    "blocks": lambda size: _anthropic(*[_block(n, type="text", text="a") for n in range(size)]),
    "calls": lambda size: _anthropic(*[event for n in range(size) for event in _use(n)]),
    "calls of one index": lambda size: _anthropic(*[event for _ in range(size) for event in _use(0)]),
    "pieces of arguments": lambda size: _anthropic(
        *_use(0)[:1], *[_delta(0, type="input_json_delta", partial_json="a")] * size
    ),
    "deep arguments": lambda size: _anthropic(
        *_use(0)[:1], _delta(0, type="input_json_delta", partial_json=_deep(size))
    ),
    "pings": lambda size: _anthropic(*[{"type": "ping"}] * size),
    "unknown events": lambda size: _anthropic(*[{"type": f"x{n}"} for n in range(size)]),
}


def _item(index: int, **item: object) -> Json:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def _function(index: int, arguments: str = ARGUMENTS) -> Json:
    return _item(
        index, type="function_call", id=f"f{index}", call_id=f"c{index}", name="send_money", arguments=arguments
    )


def _responses(*events: Json) -> list[Json]:
    return [*FORMATS["openai-responses"].events[:1], *events, *FORMATS["openai-responses"].events[-1:]]


RESPONSES: dict[str, Shape] = {
    "texts": lambda size: _responses(
        *[{"type": "response.output_text.delta", "delta": "a", "output_index": 0, "content_index": 0}] * size
    ),
    "texts of many contents": lambda size: _responses(
        *[
            {"type": "response.output_text.delta", "delta": "a", "output_index": n, "content_index": n}
            for n in range(size)
        ]
    ),
    "thoughts": lambda size: _responses(
        *[{"type": "response.reasoning_summary_text.delta", "delta": "a", "output_index": 0, "summary_index": 0}] * size
    ),
    "calls": lambda size: _responses(*[_function(n) for n in range(size)]),
    "calls of one index": lambda size: _responses(*[_function(0)] * size),
    "pieces of arguments": lambda size: _responses(
        *[{"type": "response.function_call_arguments.delta", "delta": "a", "output_index": 0}] * size
    ),
    "deep arguments": lambda size: _responses(_function(0, _deep(size))),
    "summaries": lambda size: _responses(
        _item(0, type="reasoning", id="r", summary=[{"type": "summary_text", "text": "a"}] * size)
    ),
    "contents": lambda size: _responses(
        _item(0, type="message", id="m", role="assistant", content=[{"type": "output_text", "text": "a"}] * size)
    ),
}


def _gemini(*parts: Json) -> Json:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}}]}


GEMINI: dict[str, Shape] = {
    "texts": lambda size: [_gemini({"text": "a"})] * size,
    "thoughts": lambda size: [_gemini({"text": "a", "thought": True})] * size,
    "parts": lambda size: [_gemini(*[{"text": "a"}] * size)],
    "turns of parts": lambda size: [_gemini({"text": "a"}, {"text": "b", "thought": True})] * size,
    "calls": lambda size: [_gemini({"functionCall": {"name": "send_money", "args": {"to": "Ada"}}})] * size,
    "a call's arguments": lambda size: [
        _gemini({"functionCall": {"name": "send_money", "args": {f"a{n}": n for n in range(size)}}})
    ],
    "signatures": lambda size: [_gemini({"text": "", "thoughtSignature": "a" * 9})] * size,
    "candidates": lambda size: [{"candidates": [{"index": n, "content": {"parts": []}} for n in range(size)]}],
    "ratings": lambda size: [{"candidates": [{"safetyRatings": [{"category": "c"}] * size}]}],
}
STREAMS = {
    f"{protocol}: {name}": (protocol, shape)
    for protocol, shapes in {
        "openai-chat": CHAT,
        "mistral": CHAT,
        "anthropic": ANTHROPIC,
        "openai-responses": RESPONSES,
        "gemini": GEMINI,
    }.items()
    for name, shape in shapes.items()
}


def _read_stream(protocol: str, chunks: list[bytes]) -> None:
    decoder, pieces = EventDecoder(), FORMATS[protocol].stream(PROMPT)
    with suppress(EzPtcError, ValueError):
        for chunk in chunks:
            for event in decoder.feed(chunk):
                pieces.feed(event.read())  # pyright: ignore[reportArgumentType] - whatever a server sends
        pieces.answer()


@pytest.mark.parametrize(("protocol", "shape"), STREAMS.values(), ids=STREAMS)
def test_reading_stream_takes_linear_time(protocol: str, shape: Shape) -> None:
    check_growth(
        lambda size: [f"data: {json.dumps(event)}\n\n".encode() for event in shape(size)],
        lambda chunks: _read_stream(protocol, chunks),
        start=500,
        most=64_000,
        bytes_each=6_000,
    )


def _chat_body(**message: object) -> Json:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}]}


def _chat_calls(size: int, arguments: str = ARGUMENTS) -> list[Json]:
    return [{"id": f"c{n}", "function": {"name": "send_money", "arguments": arguments}} for n in range(size)]


BODIES: dict[str, tuple[str, Callable[[int], Json]]] = {
    "chat: a text": ("openai-chat", lambda size: _chat_body(content="a\x1b" * size)),
    "chat: thoughts": ("openai-chat", lambda size: _chat_body(content="<think>" * size)),
    "chat: ends of thoughts": ("openai-chat", lambda size: _chat_body(content="</think>" * size)),
    "chat: a thought": ("openai-chat", lambda size: _chat_body(content="a", reasoning="\n" * size)),
    "chat: parts": ("openai-chat", lambda size: _chat_body(content=[{"type": "text", "text": "a"}] * size)),
    "chat: calls": ("openai-chat", lambda size: _chat_body(tool_calls=_chat_calls(size))),
    "chat: arguments": ("openai-chat", lambda size: _chat_body(tool_calls=_chat_calls(1, _deep(size)))),
    "chat: choices": ("openai-chat", lambda size: {"choices": _chat_body(content="a")["choices"] * size}),
    "mistral: thoughts": (
        "mistral",
        lambda size: _chat_body(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}] * size),
    ),
    "anthropic: blocks": (
        "anthropic",
        lambda size: FORMATS["anthropic"].body | {"content": [{"type": "text", "text": "a"}] * size},
    ),
    "anthropic: calls": (
        "anthropic",
        lambda size: FORMATS["anthropic"].body | {"content": [FORMATS["anthropic"].body["content"][-1]] * size},
    ),
    "anthropic: unknown fields": (
        "anthropic",
        lambda size: FORMATS["anthropic"].body | {f"x{n}": n for n in range(size)},
    ),
    "responses: items": (
        "openai-responses",
        lambda size: FORMATS["openai-responses"].body | {"output": FORMATS["openai-responses"].body["output"] * size},
    ),
    "gemini: parts": ("gemini", lambda size: _gemini(*[{"text": "a"}] * size)),
    "gemini: calls": (
        "gemini",
        lambda size: _gemini(*[{"functionCall": {"name": "send_money", "args": {"to": "Ada"}}}] * size),
    ),
    "gemini: candidates": ("gemini", lambda size: {"candidates": _gemini({"text": "a"})["candidates"] * size}),
}


@pytest.mark.parametrize(("protocol", "shape"), BODIES.values(), ids=BODIES)
def test_reading_answer_takes_linear_time(protocol: str, shape: Callable[[int], Json]) -> None:
    def read(body: bytes) -> None:
        with suppress(EzPtcError, ValueError):
            FORMATS[protocol].answer(parse_body(body), PROMPT)

    check_growth(lambda size: json.dumps(shape(size)).encode(), read, start=500, most=64_000, bytes_each=12_000)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[", id="lists"),
        pytest.param(b'{"a":', id="objects"),
        pytest.param(b"9", id="digits"),
        pytest.param(rb'"\ud800",', id="half surrogates"),
        pytest.param(b'"\xff', id="no characters"),
        pytest.param(b" ", id="blanks"),
    ],
)
def test_refusing_body_takes_linear_time(content: bytes) -> None:
    def read(body: bytes) -> None:
        with suppress(ValueError, RecursionError):
            parse_body(body)

    check_growth(lambda size: content * size, read, start=4_000, most=1_000_000, bytes_each=40)


LINES = {
    "comments": b": keep alive\n",
    "empty lines": b"\n",
    "carriage returns": b"\r",
    "both": b"\r\n",
    "data": b"data: a\n",
    "names": b"event: a\n",
    "unknown fields": b"id: 1\n",
    "an endless line": b"x",
    "events": b"data: {}\n\n",
    "no characters": b"data: \xff\n",
}


@pytest.mark.parametrize("chunk_bytes", [1, 1_000, 1_000_000])
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_decoding_events_takes_linear_time(line: bytes, chunk_bytes: int) -> None:
    def read(chunks: list[bytes]) -> None:
        decoder = EventDecoder()
        for chunk in chunks:
            decoder.feed(chunk)
        decoder.end()

    def cut(size: int) -> list[bytes]:
        data = line * (size // len(line))
        return [data[start : start + chunk_bytes] for start in range(0, len(data), chunk_bytes)]

    check_growth(cut, read, start=4_000, most=2_000_000, bytes_each=150)


ERRORS: dict[str, Callable[[int], bytes]] = {
    "a message": lambda size: json.dumps({"error": {"message": "\x1b" * size}}).encode(),
    "entities": lambda size: json.dumps({"error": {"message": "&#37;25&amp;" * size}}).encode(),
    "fields": lambda size: json.dumps({"error": {f"m{n}": n for n in range(size)}}).encode(),
    "details": lambda size: json.dumps({"error": {"details": [{"retryDelay": "9s"}] * size}}).encode(),
    "a page": lambda size: b"<p>" * size,
    "lists": lambda size: b"[" * size,
    "digits": lambda size: b"9" * size,
}


@pytest.mark.parametrize("shape", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("name", PROVIDERS)
def test_reading_error_takes_linear_time(name: str, shape: Callable[[int], bytes]) -> None:
    def ask(body: bytes) -> None:
        server.replies = [lambda request: Reply(status=400, body=body)]
        with suppress(ProviderError):
            conversation.converse("Hello")

    with LoopbackServer() as server:
        provider = PROVIDERS[name]("m", api_key="s3cr3t-k3y", base_url=server.url, timeout=60)
        conversation = llm().provider(provider)
        check_growth(shape, ask, start=4_000, most=500_000, bytes_each=200)
