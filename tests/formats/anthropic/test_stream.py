import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc import ez_tool
from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.anthropic.messages import answer, request
from ez_ptc.formats.anthropic.stream import AnswerStream
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.messages import Answer, Entry, MessageRole, TextMessage, ToolCallMessage, ToolResultMessage
from tests.providers.anthropic.refusals import problems
from tests.providers.anthropic.server import events_of, message

_Json = dict[str, Any]


@ez_tool
def get_weather(location: str) -> str:
    """Say what the weather is like."""
    return f"sunny in {location}"


_ASKED = Prompt(model="claude", entries=(TextMessage("Hello"),), tools=(get_weather,))
_START: _Json = {"type": "message_start", "message": message([])}
_STOP: _Json = {"type": "message_stop"}
_PARIS: _Json = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"location": "Paris"}}


def _streamed(events: list[_Json]) -> Answer:
    stream = AnswerStream(_ASKED)
    for event in events:
        stream.feed(event)
    return stream.answer()


def _begun(block: _Json, *deltas: _Json) -> list[_Json]:
    pieces = [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    return [_START, {"type": "content_block_start", "index": 0, "content_block": block}, *pieces]


_TEXTS = st.text(max_size=12)
_IDS = st.from_regex(r"[a-z0-9_]{1,12}", fullmatch=True)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=4,
)
_OBJECTS = st.dictionaries(_TEXTS, _VALUES, max_size=3)


def _block(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[_Json]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


_BLOCKS = st.one_of(
    _block("text", text=_TEXTS),
    _block("text", text=_TEXTS, citations=st.lists(_OBJECTS, max_size=2)),
    _block("thinking", thinking=_TEXTS, signature=_TEXTS),
    _block("redacted_thinking", data=_TEXTS),
    _block("tool_use", id=_IDS, name=_IDS, input=_OBJECTS),
    _block("tool_use", id=_IDS, name=_IDS, input=_OBJECTS, caller=_OBJECTS),
    _block("server_tool_use", id=_IDS, name=_IDS, input=_OBJECTS),
    _block("web_search_tool_result", tool_use_id=_IDS, content=st.lists(_OBJECTS, max_size=2)),
    _block("compaction", content=_TEXTS),
    _block("news", of=_VALUES),
)


@given(st.lists(_BLOCKS, max_size=4), st.sampled_from(["end_turn", "tool_use", "pause_turn"]), _OBJECTS)
def test_streamed_answer_equals_the_whole_response(blocks: list[_Json], reason: str, container: _Json) -> None:
    whole = message(blocks, stop_reason=reason, container=container)

    assert _streamed(events_of(whole)) == answer(whole, _ASKED)


@given(st.lists(_BLOCKS, max_size=4))
def test_deltas_are_exactly_the_answer_text(blocks: list[_Json]) -> None:
    stream = AnswerStream(_ASKED)
    told = [delta for event in events_of(message(blocks)) for delta in stream.feed(event)]

    assert "".join(delta.text for delta in told) == stream.answer().text


def test_initial_text_of_block_is_streamed() -> None:
    stream = AnswerStream(_ASKED)
    told = [delta for event in _begun({"type": "text", "text": "So "}) for delta in stream.feed(event)]

    assert told == [TextDelta("So ")]


def test_final_usage_replaces_initial_usage() -> None:
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}}
    usage = {"output_tokens": 40, "input_tokens": None, "output_tokens_details": {"thinking_tokens": 30}}
    said = _streamed([_START, {**end, "usage": usage, "context_management": {"applied_edits": []}}, _STOP])

    assert (said.usage.input_tokens, said.usage.output_tokens, said.usage.reasoning_tokens) == (16, 40, 30)
    assert said.details["context_management"] == {"applied_edits": []}


@pytest.mark.parametrize("arguments", ['{"location": "Par', '{"location": NaN}', '{"location": 1e999}', "[]"])
def test_non_object_arguments_are_reported_verbatim_and_returned(arguments: str) -> None:
    pieces = [{"type": "input_json_delta", "partial_json": each} for each in (arguments[:5], arguments[5:])]
    said = _streamed([*_begun({**_PARIS, "input": {}}, *pieces), _STOP])
    (call,) = said.calls

    assert call.arguments == arguments
    results = ToolResultMessage("toolu_1", "not usable", success=False)
    body = request(Prompt(model="claude", entries=(TextMessage("Hello"), said, results)))
    assert problems(body) == []
    json.dumps(body, allow_nan=False)


@pytest.mark.parametrize("said", [[], [{"type": "text", "text": "So."}]])
def test_answer_cut_off_in_thought_returns_without_it(said: list[_Json]) -> None:
    thoughts = [{"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "redacted_thinking", "data": "x"}]
    cut = answer(message([thoughts[0], *said, *thoughts], stop_reason="max_tokens"), _ASKED)
    body = request(Prompt(model="claude", entries=(TextMessage("Hello"), cut, TextMessage("Go on."))))

    assert problems(body) == []
    assert [each["content"] for each in body["messages"] if each["role"] == "assistant"] == (
        [[thoughts[0], *said]] if said else []
    )


def test_calls_with_equal_ids_are_distinguished() -> None:
    asked = answer(message([_PARIS, {**_PARIS, "input": {"location": "Rome"}}]), _ASKED)
    results = [ToolResultMessage(each.id, each.arguments) for each in asked.calls]
    body = request(Prompt(model="claude", entries=(TextMessage("Hello"), asked, *results)))

    assert problems(body) == []
    assert [each.arguments for each in asked.calls] == [{"location": "Paris"}, {"location": "Rome"}]


def test_stream_with_a_stop_reason_is_complete() -> None:
    for content in ([{"type": "text", "text": "Hello there"}], [_PARIS]):
        events = events_of(message(content))
        assert events[-1] == _STOP
        assert _streamed(events[:-1]) == _streamed(events)


@pytest.mark.parametrize("ends", range(2, 9))
def test_truncated_stream_is_an_error(ends: int) -> None:
    events = events_of(message([{"type": "text", "text": "Hello there"}]))

    with pytest.raises(ConnectionFailedError, match="ended before the answer was complete"):
        _streamed(events[:-ends])


def test_a_stream_of_nothing_is_an_error() -> None:
    with pytest.raises(ConnectionFailedError, match="ended before"):
        _streamed([_STOP])


_BROKEN: list[tuple[list[Any], str]] = [
    ([3], "expected an object at event, got int 3"),
    ([{"type": "message_start"}], "expected an object at event.message, got None"),
    ([{"type": "content_block_start", "index": 0}], "expected an object at event.content_block, got None"),
    (
        [{"type": "content_block_start", "index": "0", "content_block": {}}],
        "expected a block's index at event.index, got str '0'",
    ),
    ([{"type": "content_block_delta", "index": 4, "delta": {}}], "event.index is 4, but no block with that index"),
    (
        _begun(_PARIS, {"type": "input_json_delta", "partial_json": 3}),
        "expected text at event.delta.partial_json, got int 3",
    ),
    (
        [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
        "returned an error: 'Overloaded",
    ),
    ([{"type": "error"}], "expected a message"),
    ([{"type": "message_delta", "delta": 3}], "expected an object at event.delta, got int 3"),
]


@pytest.mark.parametrize(("events", "complaint"), _BROKEN)
def test_invalid_event_is_error_naming_the_position(events: list[_Json], complaint: str) -> None:
    with pytest.raises(ProviderError, match=complaint):
        _streamed(events)


_KINDS = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"]
_EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from([*_KINDS, "message_stop", "ping", "error", "news"]) | _VALUES},
    optional={
        "index": st.integers(0, 1) | _VALUES,
        "message": st.just(message([])) | _VALUES,
        "content_block": _BLOCKS | _VALUES,
        "delta": st.sampled_from([{"type": "text_delta", "text": "a"}, {"partial_json": "{"}, {"citation": 3}])
        | _VALUES,
        "usage": _VALUES,
    },
)


@given(st.lists(_EVENTS, max_size=6))
def test_any_stream_is_answer_or_provider_error(events: list[_Json]) -> None:
    with suppress(ProviderError):
        _streamed([_START, *events, _STOP])


_ANSWERS = st.fixed_dictionaries(
    {"content": st.lists(_BLOCKS | _VALUES, max_size=3) | _VALUES},
    optional={"usage": _VALUES, "stop_reason": _VALUES, "model": _VALUES, "error": _VALUES, "id": _VALUES},
)


@given(_ANSWERS | _VALUES)
def test_any_response_is_answer_or_provider_error(body: _Json) -> None:
    with suppress(ProviderError):
        answer(body, _ASKED)


def _turn(provider: str, calls: list[str], text: str) -> list[Entry]:
    said = TextMessage(text, role=MessageRole.ASSISTANT)
    messages = (said, *(ToolCallMessage("get_weather", each, {}) for each in calls))
    blocks = [{"type": "text", "text": text}, *({**_PARIS, "id": each} for each in calls)]
    made = Answer(messages=messages, provider=provider, content=blocks if provider == "anthropic" else None)
    return [made, *(ToolResultMessage(each, None) for each in calls)]


def _speech(text: str, role: MessageRole) -> list[Entry]:
    return [TextMessage(text, role=role)]


_FOREIGN_TURNS = st.builds(_turn, st.just("openai"), st.lists(_TEXTS.filter(bool), max_size=3, unique=True), _TEXTS)
_SPEECH = st.builds(_speech, _TEXTS, st.sampled_from(MessageRole))


@given(st.lists(_FOREIGN_TURNS | _SPEECH, max_size=6))
def test_any_conversation_makes_an_acceptable_request(turns: list[list[Entry]]) -> None:
    own = _turn("anthropic", ["toolu_01", "toolu_02"], "Own words.")
    entries = [TextMessage("Hello"), *own, *(entry for turn in turns for entry in turn)]

    try:
        body = request(Prompt(model="claude", entries=tuple(entries), tools=(get_weather,)))
    except ProviderError as error:
        assert "a system message between two model answers" in str(error)  # noqa: PT017 - either ending is right, and each is checked
    else:
        assert problems(body) == []
