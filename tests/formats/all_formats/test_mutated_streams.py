"""Streams whose servers drop, repeat or share ids and indexes, cut pieces otherwise, or repeat whole events.

No call is lost or run twice, or the answer is refused with the reason. `openai_chat/test_call_pieces.py` has the
pieces of Chat Completions one by one.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ProviderError
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import TextMessage
from tests.formats.all_formats.provider_bodies import FORMATS
from tests.formats.openai_made import ToolShape

TOOLS = tuple(ToolShape(name, "Act.", {"type": "object", "properties": {}}) for name in ("add", "get", "get_all"))
PROMPT = Prompt(model="m", entries=(TextMessage("Go."),), tools=TOOLS)

Json = dict[str, Any]
Calls = list[tuple[str, Json]]
# The fields of one call: those of its id, of its index, and the pieces of its arguments.
Fields = tuple[Json, Json, list[str]]


def anthropic(calls: Calls, fields: list[Fields]) -> Iterator[Json]:
    yield {"type": "message_start", "message": {"role": "assistant", "content": []}}
    for (name, _), (identifier, index, pieces) in zip(calls, fields, strict=True):
        yield {
            "type": "content_block_start",
            **index,
            "content_block": {"type": "tool_use", **identifier, "name": name, "input": {}},
        }
        for piece in pieces:
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield {"type": "content_block_delta", **index, "delta": delta}
        yield {"type": "content_block_stop", **index}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    yield {"type": "message_stop"}


def responses(calls: Calls, fields: list[Fields]) -> Iterator[Json]:
    for (name, arguments), (identifier, index, pieces) in zip(calls, fields, strict=True):
        ids = {"call_id": identifier["id"], "id": f"fc_{identifier['id']}"} if identifier.get("id") else {}
        output_index = {"output_index": index["index"]} if index else {}
        item = {"type": "function_call", **ids, "name": name}
        yield {"type": "response.output_item.added", **output_index, "item": {**item, "arguments": ""}}
        for piece in pieces:
            yield {"type": "response.function_call_arguments.delta", **output_index, "delta": piece}
        yield {
            "type": "response.output_item.done",
            **output_index,
            "item": {**item, "arguments": json.dumps(arguments)},
        }
    yield {"type": "response.completed", "response": {"status": "completed", "output": []}}


def gemini(calls: Calls, fields: list[Fields]) -> Iterator[Json]:
    for (name, arguments), (identifier, _, _) in zip(calls, fields, strict=True):
        part = {"functionCall": {**identifier, "name": name, "args": arguments}}
        yield {"candidates": [{"content": {"parts": [part]}}]}
    yield {"candidates": [{"finishReason": "STOP"}]}


def chat(calls: Calls, fields: list[Fields]) -> Iterator[Json]:
    for (name, _), (identifier, index, pieces) in zip(calls, fields, strict=True):
        head = {**identifier, **index, "function": {"name": name, "arguments": ""}}
        yield {"choices": [{"delta": {"tool_calls": [head]}}]}
        for piece in pieces:
            yield {"choices": [{"delta": {"tool_calls": [{**index, "function": {"arguments": piece}}]}}]}
    yield {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}


STREAMS: dict[str, Callable[[Calls, list[Fields]], Iterator[Json]]] = {
    "anthropic": anthropic,
    "openai-responses": responses,
    "gemini": gemini,
    "openai-chat": chat,
}
every_stream = pytest.mark.parametrize("name", STREAMS)


def read(name: str, events: list[Json]) -> Calls:
    stream = FORMATS[name].stream(PROMPT)
    for event in events:
        stream.feed(json.loads(json.dumps(event)))
    answer = stream.answer()
    assert len({call.id for call in answer.calls}) == len(answer.calls)
    return [
        (call.name, json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments)
        for call in answer.calls
    ]


def fields_of(calls: Calls, ids: str, indexes: str, cuts: int) -> list[Fields]:
    """Return the fields of each call, with ids and indexes as a kind of server has them."""
    fields: list[Fields] = []
    for number, (_, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        identifier = {"own": {"id": f"call_{number}"}, "none": {}, "empty": {"id": ""}, "one": {"id": "call_0"}}[ids]
        index = {"own": {"index": number}, "none": {}, "always 0": {"index": 0}}[indexes]
        fields.append((identifier, index, [text[at : at + cuts] for at in range(0, len(text), cuts)]))
    return fields


made_calls = st.lists(
    st.tuples(
        st.sampled_from(["add", "get", "get_all"]),
        st.dictionaries(st.text(max_size=3), st.text(alphabet='a"\\{}[],: ', max_size=6) | st.integers(), max_size=3),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda call: (call[0], json.dumps(call[1])),
)


@every_stream
@given(
    calls=made_calls,
    ids=st.sampled_from(["own", "none", "empty", "one"]),
    indexes=st.sampled_from(["own", "none", "always 0"]),
    cuts=st.integers(1, 40),
)
def test_no_call_is_lost_without_ids_and_indexes(name: str, calls: Calls, ids: str, indexes: str, cuts: int) -> None:
    assert read(name, [*STREAMS[name](calls, fields_of(calls, ids, indexes, cuts))]) == calls


@every_stream
@given(calls=made_calls, cuts=st.integers(1, 40), data=st.data())
def test_event_that_is_lost_or_repeated_changes_no_call_unseen(
    name: str, calls: Calls, cuts: int, data: st.DataObject
) -> None:
    events = [*STREAMS[name](calls, fields_of(calls, "own", "own", cuts))]
    at = data.draw(st.integers(0, len(events) - 1))
    is_repeated = data.draw(st.booleans())
    changed = [*events[: at + is_repeated], *events[at + (not is_repeated) :]]
    # A piece of a text is anything: without its number nobody can know that it is missing, or there twice.
    if "arguments" in str(events[at].get("choices", "")) or "delta" in str(events[at].get("type", "")):
        return
    try:
        read_calls = read(name, changed)
    except ProviderError:
        pass
    else:
        lost = [call for call in calls if call not in read_calls]
        # One protocol sends a call in one event: without it, there is no trace of the call.
        assert not lost or (name == "gemini" and not is_repeated)
        assert len(read_calls) + len(lost) == len(calls)


@every_stream
def test_call_that_comes_again_whole_runs_once(name: str) -> None:
    calls: Calls = [("add", {"a": 1}), ("get", {})]
    fields = fields_of(calls, "own", "own", 100)
    events = [*STREAMS[name]([*calls, calls[0]], [*fields, fields[0]])]

    assert read(name, events) == calls


def test_started_call_that_is_never_complete_is_refused() -> None:
    events = [*responses([("add", {"a": 1})], fields_of([("add", {"a": 1})], "own", "own", 100))]
    del events[-2]
    with pytest.raises(ProviderError, match="began 1 calls and completed 0; ask again"):
        read("openai-responses", events)


@pytest.mark.parametrize(("ids", "calls"), [(("a", "b"), 2), (("a", "a"), 1)])
def test_nameless_piece_with_new_id_joins_no_complete_call(ids: tuple[str, str], calls: int) -> None:
    first = {"index": 0, "id": ids[0], "function": {"name": "add", "arguments": '{"a": 1}'}}
    second = {"index": 0, "id": ids[1], "function": {"arguments": '{"a": 2}'}}
    events: list[Json] = [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in (first, second)]
    events.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    stream = FORMATS["openai-chat"].stream(PROMPT)
    for event in events:
        stream.feed(event)
    if calls == 1:
        assert len(stream.answer().calls) == 1
    else:
        with pytest.raises(ProviderError, match=r"function\.name"):
            stream.answer()


def test_start_of_a_call_without_id_twice_is_refused() -> None:
    start, *others = [*anthropic([("add", {"a": 1})], fields_of([("add", {"a": 1})], "none", "own", 100))][1:]
    with pytest.raises(ProviderError, match="started again before it ended"):
        read("anthropic", [{"type": "message_start", "message": {"content": []}}, start, start, *others])


def test_end_of_a_block_that_never_started_is_refused() -> None:
    calls: Calls = [("add", {}), ("get", {})]
    events = [*anthropic(calls, fields_of(calls, "own", "own", 100))]
    lost = [event for event in events if event.get("index") != 1 or event["type"] == "content_block_stop"]
    with pytest.raises(ProviderError, match="a block ended that never started"):
        read("anthropic", lost)
