"""A server on loopback that speaks Anthropic's Messages, and refuses what the real one refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.providers.anthropic.refusals import problems
from tests.providers.loopback import LoopbackServer, Reply, Request, sse

__all__ = ["anthropic_server", "events_of", "message"]

_Json = dict[str, Any]


def anthropic_server(*answers: str | list[_Json] | _Json | Reply) -> LoopbackServer:
    """Return a server that gives these answers one after the other: a text, blocks, a whole message, or a reply.

    A request that the real one would refuse is answered with 400, as there.
    """
    said = iter([message(each) if isinstance(each, str | list) else each for each in answers])

    def reply(request: Request) -> Reply:
        if request.path.partition("?")[0] != "/v1/messages":
            return _error(404, "not_found_error", f"no such path: {request.path}")
        if "authorization" not in request.headers and "x-api-key" not in request.headers:
            return _error(401, "authentication_error", "x-api-key header is required")
        body: _Json = {key: value for key, value in request.body.items() if key != "stream"}
        if found := problems(body, version=request.headers["anthropic-version"]):
            return _error(400, "invalid_request_error", "; ".join(found))
        answer = next(said, None)
        if answer is None:
            return _error(404, "not_found_error", "the test has no further answer")
        if isinstance(answer, Reply):
            return answer
        return Reply(body=sse(*events_of(answer)) if request.body.get("stream") else answer)

    return LoopbackServer(reply)


def message(content: str | list[_Json], **others: Any) -> _Json:
    """Return a whole message, as the API gives it."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    is_calling = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5-20260801",
        "content": blocks,
        "stop_reason": "tool_use" if is_calling else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "cache_read_input_tokens": 4, "output_tokens": 5},
        **others,
    }


def events_of(whole: Mapping[str, Any]) -> list[_Json]:
    """Return the events that a message is streamed in."""
    later = ("container", "context_management", "stop_details")
    start: _Json = {key: value for key, value in whole.items() if key not in later}
    start |= {"content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    said = {key: whole[key] for key in ("stop_reason", "stop_sequence", "container", "stop_details") if key in whole}
    told = {key: whole[key] for key in ("context_management",) if key in whole}
    ends = [
        {"type": "message_delta", "delta": said, "usage": {"output_tokens": whole["usage"]["output_tokens"]}, **told},
        {"type": "message_stop"},
    ]
    blocks = [event for index, block in enumerate(whole["content"]) for event in _block_events(index, block)]
    return [{"type": "message_start", "message": start}, {"type": "ping"}, *blocks, *ends]


def _block_events(index: int, block: Mapping[str, Any]) -> Iterator[_Json]:
    empty, deltas = _taken_apart(block)
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _taken_apart(block: Mapping[str, Any]) -> tuple[_Json, list[_Json]]:
    kind = block["type"]
    if kind == "text":
        cited = [{"type": "citations_delta", "citation": each} for each in block.get("citations") or ()]
        pieces = [{"type": "text_delta", "text": each} for each in _pieces(block["text"])]
        return {**block, "text": "", **({"citations": []} if "citations" in block else {})}, [*cited, *pieces]
    if kind == "thinking":
        pieces = [{"type": "thinking_delta", "thinking": each} for each in _pieces(block["thinking"])]
        return {**block, "thinking": "", "signature": ""}, [
            *pieces,
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    if "input" in block:
        written = json.dumps(block["input"]) if block["input"] else ""
        pieces = [{"type": "input_json_delta", "partial_json": each} for each in ["", *_pieces(written)]]
        return {**block, "input": {}}, pieces
    if kind == "compaction":
        return {**block, "content": None}, [{"type": "compaction_delta", "content": block["content"]}]
    return {**block}, []


def _pieces(text: str) -> list[str]:
    return [text[at : at + 5] for at in range(0, len(text), 5)]


def _error(status: int, kind: str, said: str) -> Reply:
    return Reply(status=status, body={"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"})
