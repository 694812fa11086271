"""Everything that the recordings have of Anthropic's Messages, read by our parser and asked again by our requests.

What a request made of our entries has otherwise than the recorded one says the same:

- one text is a list of one block where the recording has the text itself, and one system text is itself;
- `is_error` is always there;
- `cache_control` on a block is not there (`.options(cache_control=...)` has the API place the mark);
- an empty list of tools is no list of tools.

Of an answer that went back, the recording SDK has left out `caller` where it is direct, and added nulls.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from ez_ptc.errors import ProviderError
from ez_ptc.formats.anthropic.messages import answer, request
from ez_ptc.formats.anthropic.stream import AnswerStream
from ez_ptc.formats.describable import ToolShape
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, ImageMessage, Message, MessageRole, TextMessage, ToolResultMessage
from ez_ptc.providers.anthropic import AnthropicProvider
from tests.providers.anthropic.refusals import problems
from tests.providers.loopback import LoopbackServer, Reply
from tests.recordings.cassettes import Interaction, interactions, sse_events

_Json = dict[str, Any]

_ASKED = Prompt(model="claude", entries=(TextMessage("Hello"),))
_OURS = {"description", "input_schema", "name", "strict"}
# In an answer of an older tool, which the API takes back and the SDK's types do not have.
_OLD = "abort_reason"


class _UnsayableError(Exception):
    """Something in a recorded request that our messages have no words for."""


@pytest.fixture(scope="module")
def recorded() -> list[Interaction]:
    """All messages: those of the API, and those of Amazon's Bedrock, which are the same."""
    packages = ("langchain_anthropic-1.7.10", "opentelemetry_instrumentation_anthropic-0.62.4")
    return [each for each in interactions(*packages) if not each.uri.endswith("/v1/complete")]


def _parsed(interaction: Interaction) -> Answer:
    if not interaction.is_stream:
        return answer(interaction.json, _ASKED)
    stream = AnswerStream(_ASKED)
    for event in sse_events(interaction.body):
        stream.feed(json.loads(event))
    return stream.answer()


def _blocks(content: str | list[_Json]) -> list[_Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def test_every_recorded_response_is_an_answer(recorded: list[Interaction]) -> None:
    answers = [_parsed(each) for each in recorded]

    assert len(answers) == 149
    assert sum(each.is_stream for each in recorded) == 58
    assert {each.stop_reason for each in answers} == {"end", "tool_calls", "compaction"}
    assert sum(bool(each.calls) for each in answers) == 19
    assert all(
        each.usage.input_tokens and each.id and each.model for each in answers if each.stop_reason != "compaction"
    )
    assert all(bool(each.calls) == (each.stop_reason == "tool_calls") for each in answers)


def test_nothing_of_a_recorded_response_is_lost(recorded: list[Interaction]) -> None:
    for each in recorded:
        if not each.is_stream:
            kept = _parsed(each)
            own = {"id": kept.id, "type": "message", "role": "assistant", "model": kept.model, "content": kept.content}
            assert {**own, **kept.details} == each.json, each


def test_recorded_stream_makes_the_sdk_message(recorded: list[Interaction]) -> None:
    from anthropic.lib.streaming._beta_messages import accumulate_event
    from httpx2 import Headers

    for each in recorded:
        if each.is_stream:
            snapshot: Any = None
            buffers: dict[int, bytes] = {}
            for event in map(json.loads, sse_events(each.body)):
                if event["type"] != "ping":
                    snapshot = accumulate_event(
                        event=event, current_snapshot=snapshot, json_bufs=buffers, request_headers=Headers()
                    )
            ours = _parsed(each)
            whole = cast("_Json", _without_nulls(snapshot.to_dict(mode="json")))
            assert _without_nulls(ours.content) == whole["content"], each
            assert {key: _without_nulls(value) for key, value in ours.details.items() if value is not None} == {
                key: value for key, value in whole.items() if key not in ("content", "id", "model", "role", "type")
            }, each


def test_recorded_stream_text_arrives_in_pieces(recorded: list[Interaction]) -> None:
    for each in recorded:
        if each.is_stream:
            stream = AnswerStream(_ASKED)
            told = [delta for event in sse_events(each.body) for delta in stream.feed(json.loads(event))]
            assert "".join(delta.text for delta in told) == stream.answer().text, each


def test_turn_after_recorded_response_is_acceptable(recorded: list[Interaction]) -> None:
    for each in recorded:
        said = _parsed(each)
        results = [ToolResultMessage(call.id, "done") for call in said.calls]
        body = request(Prompt(model="claude", entries=(TextMessage("Hello"), said, *results, TextMessage("And now?"))))
        assert [found for found in problems(body) if _OLD not in found] == [], each


def test_recorded_request_equals_ours(recorded: list[Interaction]) -> None:
    made, unsayable = 0, list[str]()
    for each in recorded:
        try:
            prompt = _prompt(each.request)
        except _UnsayableError as error:
            unsayable.append(str(error))
            continue
        made += 1
        assert _comparable(request(prompt)) == _comparable(each.request), each

    assert made == 144
    assert sorted(unsayable) == ["document"] * 3 + ["result of blocks", "role system"]


def test_recorded_answer_returns_as_recorded(recorded: list[Interaction]) -> None:
    found, others = 0, list[str]()
    for number, each in enumerate(recorded):
        before = [other for other in recorded[:number] if _file(other) == _file(each)]
        for message in each.request["messages"]:
            sent = _without_nulls(_blocks(message["content"]))
            if message["role"] == "assistant":
                is_there = sent in [_sent_back(_parsed(other)) for other in before]
                found += is_there
                others += [] if is_there else [_file(each).rpartition("/")[2]]
    assert found == 23
    # These were written by hand, for the answers before them are in no recording.
    assert [each for each in others if "tools_history" not in each] == ["test_search_result_tool_message.yaml.gz"]
    assert len(others) == 4


def test_container_of_recorded_program_is_named_next(recorded: list[Interaction]) -> None:
    programs = [each for each in recorded if "programmatic" in _file(each)]
    assert len(programs) == 4
    for first, second in (programs[:2], programs[2:]):
        said = _parsed(first)
        results = [ToolResultMessage(call.id, "It's sunny.") for call in said.calls]
        body = request(Prompt(model="claude", entries=(TextMessage("Hello"), said, *results)))
        assert body["container"] == second.request["container"]
        assert body["messages"][-1] == second.request["messages"][-1]


async def test_every_recorded_response_passes_through_sdk(recorded: list[Interaction], anyio_backend: str) -> None:
    replies = [_replayed(each) for each in recorded]
    with LoopbackServer(*replies) as server:
        async with AnthropicProvider("claude", api_key="key", base_url=server.url, timeout=20).connect() as connection:
            for each in recorded:
                if each.is_stream:
                    said = [event async for event in connection.stream(_ASKED)][-1]
                else:
                    said = await connection.answer(_ASKED)
                assert said == _parsed(each), each


def test_incomplete_recorded_response_is_error(recorded: list[Interaction]) -> None:
    whole: _Json = next(each.json for each in recorded if not each.is_stream)

    with pytest.raises(ProviderError, match="expected a message"):
        answer({key: value for key, value in whole.items() if key != "content"}, _ASKED)
    with pytest.raises(ProviderError, match=r"expected text at answer.content\[0\].text, got int 3"):
        answer({**whole, "content": [{"type": "text", "text": 3}]}, _ASKED)


def _replayed(interaction: Interaction) -> Reply:
    kind = "text/event-stream; charset=utf-8" if interaction.is_stream else "application/json"
    return Reply(body=interaction.body, status=interaction.status, headers={"Content-Type": kind})


def _file(interaction: Interaction) -> str:
    return interaction.cassette.partition("#")[0]


def _prompt(recorded: _Json) -> Prompt:
    """Return the prompt that a recorded request says, in our words."""
    rest = {key: value for key, value in recorded.items() if key != "stream"}
    system = [TextMessage(each["text"], role=MessageRole.SYSTEM) for each in _blocks(rest.pop("system", []))]
    said = [entry for each in rest.pop("messages") for entry in _entries(each)]
    tools: list[_Json] = rest.pop("tools", [])
    own = [tool for tool in tools if tool.keys() <= _OURS]
    if others := [tool for tool in tools if tool not in own]:
        rest["tools"] = others
    choice = rest.pop("tool_choice", None)
    return Prompt(
        model=rest.pop("model", "claude"),
        entries=(*system, *said),
        tools=tuple(ToolShape(tool["name"], tool["description"], tool["input_schema"]) for tool in own),
        strict=any("strict" in tool for tool in own),
        tool_choice=choice["name"] if choice else "auto",
        max_tokens=rest.pop("max_tokens"),
        options=rest,
    )


def _entries(message: _Json) -> Iterator[Message | Answer]:
    if message["role"] == "assistant":
        yield answer({"content": _blocks(message["content"])}, _ASKED)
    elif message["role"] == "user":
        yield from (_said(block) for block in _blocks(message["content"]))
    else:
        problem = f"role {message['role']}"
        raise _UnsayableError(problem)


def _said(block: _Json) -> Message:
    match block:
        case {"type": "text", "text": text}:
            return TextMessage(text)
        case {"type": "image", "source": {"type": "base64", "data": data, "media_type": media_type}}:
            return ImageMessage(data=base64.b64decode(data), media_type=media_type)
        case {"type": "tool_result", "tool_use_id": identifier, "content": str(content)}:
            return ToolResultMessage(identifier, content, success=not block.get("is_error"))
        case _:
            problem = "result of blocks" if block["type"] == "tool_result" else block["type"]
            raise _UnsayableError(problem)


def _comparable(body: _Json) -> _Json:
    """Return a request without the differences that the module's text lists."""
    compared = {key: value for key, value in body.items() if key != "stream" and (key, value) != ("tools", [])}
    compared.setdefault("model", "claude")  # Bedrock has it in the address
    for key in ("messages", "system"):
        if key in compared:
            compared[key] = _without_marks(compared[key])
    if "tools" in compared:
        compared["tools"] = sorted(compared["tools"], key=lambda tool: cast("str", tool.get("name") or ""))
    return compared


def _without_marks(said: str | list[_Json]) -> list[_Json]:
    if isinstance(said, str):
        return [{"type": "text", "text": said}]
    return [_without_mark(each) for each in said]


def _without_mark(each: _Json) -> _Json:
    if "role" in each:
        return {**each, "content": _without_marks(each["content"])}
    wordy = {"is_error": False} if each["type"] == "tool_result" else {}
    return {**wordy, **{key: value for key, value in each.items() if key != "cache_control"}}


def _sent_back(said: Answer) -> object:
    """Return an answer's blocks as a request has them, without what the recording SDK leaves out."""
    body = request(Prompt(model="claude", entries=(TextMessage("Hello"), said, *_done(said))))
    sent = [each["content"] for each in body["messages"] if each["role"] == "assistant"]
    return _without_nulls([block for blocks in sent for block in map(_without_caller, blocks)])


def _done(said: Answer) -> list[ToolResultMessage]:
    return [ToolResultMessage(call.id, "done") for call in said.calls]


def _without_caller(block: _Json) -> _Json:
    is_server = block["type"] != "tool_use" and block.get("caller") == {"type": "direct"}
    return {key: value for key, value in block.items() if key != "caller"} if is_server else block


def _without_nulls(value: object) -> object:
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {key: _without_nulls(each) for key, each in items if each is not None}
    return [_without_nulls(each) for each in cast("list[object]", value)] if isinstance(value, list) else value
