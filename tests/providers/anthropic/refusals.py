"""What Anthropic's Messages refuse in a request, as its answers with status 400 say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

__all__ = ["problems", "stray"]

_Json = dict[str, Any]
_Path = tuple[str | int, ...]
_Turn = tuple[str, list[_Json]]

# The version of the API that the SDK speaks takes them no more; the one before does.
_SAMPLING: Final = frozenset({"temperature", "top_k", "top_p"})
_LAST_TO_SAMPLE: Final = "2023-06-01"
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_KEYS: Final = {"tool_use": "id", "tool_result": "tool_use_id"}


def problems(body: Mapping[str, Any], *, version: str = "") -> list[str]:
    """Return what the real API would refuse in a request's body: its fields, its order, its names.

    `version` is that of the API, as the header has it.
    """
    if version == _LAST_TO_SAMPLE:
        body = {key: value for key, value in body.items() if key not in _SAMPLING}
    missing = [f"{key}: Field required" for key in ("model", "messages", "max_tokens") if key not in body]
    if missing or not body["messages"]:
        return missing or ["messages: at least one message is required"]
    if found := stray(body):
        return found
    turns = _turns(body["messages"])
    return [*_order(turns), *_unanswered(turns), *_ids_of(turns), *_texts(body), *_tools(body), *_marks(body, turns)]


def stray(body: Mapping[str, Any]) -> list[str]:
    """Return the fields of a request that the SDK's own types do not have, or do not have like that."""
    from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming as BetaParams
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Params

    return min((_stray(dict(body), each) for each in (Params, BetaParams)), key=len)


def _stray(body: _Json, kind: object) -> list[str]:
    try:
        checked = _exhausted(_adapter(kind).validate_python(body))
    except ValidationError as error:
        return [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
    return [f"{'.'.join(map(str, path))}: Extra inputs are not permitted" for path in _lost(body, checked, ())]


@cache
def _adapter(kind: object) -> TypeAdapter[Any]:
    return TypeAdapter(cast("Any", kind))


def _exhausted(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _exhausted(each) for key, each in cast("Mapping[str, object]", value).items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_exhausted(each) for each in cast("Iterable[object]", value)]
    return value


def _lost(sent: object, taken: object, path: _Path) -> Iterator[_Path]:
    """Give the places of what was sent and has not been taken."""
    if isinstance(sent, dict) and isinstance(taken, dict):
        known = cast("_Json", taken)
        for key, value in cast("_Json", sent).items():
            yield from _lost(value, known[key], (*path, key)) if key in known else [(*path, key)]
    elif isinstance(sent, Sequence) and isinstance(taken, Sequence) and not isinstance(sent, str):
        for at, (value, got) in enumerate(zip(cast("list[Any]", sent), cast("list[Any]", taken), strict=True)):
            yield from _lost(value, got, (*path, at))


def _blocks(content: str | list[_Json]) -> list[_Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else [*content]


def _turns(messages: Sequence[_Json]) -> list[_Turn]:
    """Return the messages with those of one side in a row put together, as the API does."""
    turns: list[_Turn] = []
    for each in messages:
        if turns and turns[-1][0] == each["role"]:
            turns[-1][1].extend(_blocks(each["content"]))
        else:
            turns.append((each["role"], _blocks(each["content"])))
    return turns


def _ids(turn: _Turn, kind: str) -> list[str]:
    return [block[_KEYS[kind]] for block in turn[1] if block["type"] == kind]


def _order(turns: Sequence[_Turn]) -> Iterator[str]:
    nothing: _Turn = ("", [])
    for at, (before, turn) in enumerate(pairwise([nothing, *turns, nothing])):
        asked, given = _ids(before, "tool_use"), _ids(turn, "tool_result")
        if missing := [each for each in asked if each not in given]:
            yield f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {missing}"
        if unknown := [each for each in given if each not in asked]:
            yield f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {unknown}"
        if any(block["type"] != "tool_result" for block in turn[1][: len(given)]):
            yield f"messages.{at}: text comes before `tool_result` blocks"
        if turn[0] == "system" and (before[0] != "user" or (at + 1 < len(turns) and turns[at + 1][0] != "assistant")):
            yield f"messages.{at}: role 'system' must follow a 'user' message and precede an 'assistant' message"
        if turn[0] == "assistant" and turn[1] and turn[1][-1]["type"] in {"thinking", "redacted_thinking"}:
            yield f"messages.{at}: The final block in an assistant message cannot be `thinking`."
        is_last = at + 1 == len(turns) and bool(turn[1])
        if is_last and turn[0] == "assistant" and str(turn[1][-1].get("text", "")).endswith((" ", "\n", "\t")):
            yield "messages: final assistant content cannot end with trailing whitespace"


def _unanswered(turns: Sequence[_Turn]) -> Iterator[str]:
    """Give the calls of Anthropic's own tools that have no result when a person speaks."""
    waiting: list[str] = []
    for at, (role, blocks) in enumerate(turns):
        kinds = [block["type"] for block in blocks]
        if role == "user" and any(kind != "tool_result" for kind in kinds):
            yield from (f"messages.{at}: `server_tool_use` without its result: {each}" for each in waiting)
        if role == "assistant":
            waiting += [block["id"] for block in blocks if block["type"] in {"server_tool_use", "mcp_tool_use"}]
            answered = [block["tool_use_id"] for block in blocks if block["type"].endswith("_tool_result")]
            waiting = [each for each in waiting if each not in answered]


def _ids_of(turns: Sequence[_Turn]) -> Iterator[str]:
    ids = [each for turn in turns for each in _ids(turn, "tool_use")]
    yield from (f"`tool_use` ids must be unique: {each}" for each in {*ids} if ids.count(each) > 1)
    yield from (f"tool_use.id: {each!r} should match pattern" for each in ids if not _ID.fullmatch(each))


def _texts(body: Mapping[str, Any]) -> Iterator[str]:
    said = [("system", body.get("system", "."))]
    said += [(f"messages.{at}", each["content"]) for at, each in enumerate(body["messages"])]
    for where, content in said:
        if not content:
            yield f"{where}: content must not be empty"
        if any(block["type"] == "text" and not block["text"].strip() for block in _blocks(content)):
            yield f"{where}: text content blocks must be non-empty"


def _tools(body: Mapping[str, Any]) -> Iterator[str]:
    tools: list[_Json] = body.get("tools", [])
    names = [tool["name"] for tool in tools if "name" in tool]
    yield from (f"tools: name {each!r} should match pattern" for each in names if not _NAME.fullmatch(each))
    if len({*names}) < len(names):
        yield "tools: Tool names must be unique."
    choice: _Json = body.get("tool_choice", {})
    if choice and not tools:
        yield "tool_choice: may only be specified while providing tools"
    if choice.get("type") == "tool" and choice["name"] not in names:
        yield f"tool_choice: Tool {choice['name']!r} not found in provided tools"


def _marks(body: Mapping[str, Any], turns: Sequence[_Turn]) -> Iterator[str]:
    said = [block for _, blocks in turns for block in blocks]
    system: str | list[_Json] = body.get("system", [])
    blocks = [*body.get("tools", []), *(system if isinstance(system, list) else []), *said]
    lifetimes = [block["cache_control"].get("ttl", "5m") for block in blocks if block.get("cache_control")]
    if len(lifetimes) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(lifetimes)}."
    if ("5m", "1h") in pairwise(lifetimes):
        yield "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
