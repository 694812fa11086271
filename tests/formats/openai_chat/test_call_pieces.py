"""Calls of streams whose servers send no index, no id, or the name again: none is lost, and none is run twice."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ProviderError
from ez_ptc.formats.openai_chat.messages import answer, request
from ez_ptc.formats.openai_chat.stream import AnswerStream
from ez_ptc.messages import TextMessage, ToolResultMessage
from tests.formats.openai_made import ToolShape, prompt
from tests.providers.openai.replies import completion_chunks

TOOLS = tuple(ToolShape(name, "Act.", {"type": "object", "properties": {}}) for name in ("add", "get", "get_all"))

Piece = dict[str, Any]


def calls_of(*pieces: Piece) -> list[tuple[str, Any]]:
    """Return the name and the arguments of each call in a stream of these pieces."""
    stream = AnswerStream(prompt(tools=TOOLS))
    for chunk in completion_chunks(*({"tool_calls": [piece]} for piece in pieces), finish_reason="tool_calls"):
        if not isinstance(chunk, str):  # but for "[DONE]"
            stream.feed(chunk)
    return [(call.name, call.arguments) for call in stream.answer().calls]


def piece(name: str | None, text: object, **fields: Any) -> Piece:
    """Return a piece of a call."""
    function = {"name": name, "arguments": text} if name is not None else {"arguments": text}
    return {**fields, "function": function}


ONE, TWO = '{"a": 1}', '{"a": 2}'


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("add", ONE), piece("add", TWO)],
        [piece("add", ONE, index=0), piece("add", TWO, index=0)],
        [piece("add", ONE, index=0, id="c"), piece("add", TWO, index=0, id="c")],
        [piece("add", ONE, index=0, id=""), piece("add", TWO, index=0, id="")],
        [piece("add", ONE, index=0, id="a"), piece("add", TWO, index=0, id="b")],
        [piece("add", ""), piece(None, ONE), piece("add", ""), piece(None, TWO)],
        [piece("add", ""), piece("add", '{"a"'), piece("add", ": 1}"), piece("add", '{"a": '), piece("add", "2}")],
        [piece("add", "", index=0), piece(None, ONE, index=0), piece("add", "", index=0), piece("add", TWO, index=0)],
        [piece("add", ONE, id="a"), piece("add", ONE, id="a"), piece("add", TWO, id="b"), piece("add", "", id="b")],
        [piece("add", "", id="a"), piece("add", "", id="b"), piece(None, ONE, id="a"), piece(None, TWO, id="b")],
        [piece("add", ONE), piece("add", ""), piece("add", TWO), piece("add", "")],
    ],
)
def test_two_calls_stay_two(pieces: list[Piece]) -> None:
    assert calls_of(*pieces) == [("add", ONE), ("add", TWO)]


def test_equal_calls_without_ids_both_run() -> None:
    assert calls_of(piece("add", ONE), piece("add", ONE)) == [("add", ONE), ("add", ONE)]


def test_call_repeated_with_its_id_runs_once() -> None:
    assert calls_of(piece("add", ONE, index=0, id="a"), piece("add", ONE, index=0, id="a")) == [("add", ONE)]


@pytest.mark.parametrize("fields", [{}, {"index": 0}, {"index": "0"}, {"id": "c", "index": 0}, {"id": "c"}])
def test_arguments_repeated_whole_without_a_name_are_one_call(fields: Piece) -> None:
    beginning, end = piece("add", '{"a"', **fields), piece(None, ": 1}", **fields)
    again = piece(None, ONE, **fields)
    assert calls_of(beginning, end, again) == [("add", ONE)]
    assert calls_of(beginning, end, again, again) == [("add", ONE)]
    assert calls_of(beginning, end, piece(None, TWO, **fields)) == [("add", ONE + TWO)]


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(None, '{"a": ', index=0), piece(None, "1}", index=0), piece("add", "", index=0, id="c")],
        [piece(None, ONE), piece("add", "", id="c")],
        [piece(None, '{"a"', id="c"), piece("add", ": 1}", id="c")],
    ],
)
def test_call_with_a_late_name_stays_one(pieces: list[Piece]) -> None:
    assert calls_of(*pieces) == [("add", ONE)]
    after = [piece("get", "", index=0, id="d"), piece(None, "{}", index=0)]
    assert calls_of(*pieces, *after) == [("add", ONE), ("get", "{}")]


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("add", "", index=0, id="c"), piece(None, '{"a"', index=1), piece(None, ": 1}", index=2)],
        [piece("add", "{", index=0, id="c"), piece(None, '"a"', index=1), piece(None, ": 1}", index=1)],
        [piece("add", "", index=1, id="c"), piece(None, ONE, index=0)],
        [piece("add", ""), piece(None, '{"a"', index=4), piece(None, ": 1}")],
        [piece("add", "", index=0, id="c"), piece("add", "", index=1, id="d"), piece(None, ONE, index=5)],
    ],
)
def test_arguments_under_an_index_of_no_call_are_refused(pieces: list[Piece]) -> None:
    with pytest.raises(ProviderError):
        calls_of(*pieces)


@pytest.mark.parametrize("name", ["add", "get"])
def test_second_call_under_the_first_index_gets_its_arguments(name: str) -> None:
    first = [piece("add", "", index=0, id="c"), piece(None, ONE, index=0)]
    second = [piece(name, "", index=0, id="d"), piece(None, '{"a"', index=1), piece(None, ": 2}", index=1)]
    assert calls_of(*first, *second) == [("add", ONE), (name, TWO)]
    third = [piece("get", "", index=0, id="e"), piece(None, "{}", index=2)]
    assert calls_of(*first, *second, *third) == [("add", ONE), (name, TWO), ("get", "{}")]
    for rest in (piece(None, TWO, index=2), piece(None, TWO, index=1, id="f")):
        with pytest.raises(ProviderError):
            calls_of(*first, second[0], rest)
    assert calls_of(*first, *second, piece("get", "", index=1)) == [("add", ONE), (name, ""), ("get", TWO)]


def test_name_after_arguments_takes_those_of_its_index() -> None:
    pieces = [piece("add", "", index=0, id="a"), piece(None, TWO, index=1), piece("get", "", index=1)]
    assert calls_of(*pieces, piece(None, ONE, index=0)) == [("add", ONE), ("get", TWO)]


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("fields", [{}, {"index": 0}, {"index": 0, "id": "c"}])
@pytest.mark.parametrize(
    "texts",
    [
        ["", '{"a"', '{"a": ', ONE],
        ["{", ONE],
        ['{"a', '": 1', ONE],
        ['{"a"', ONE, ONE],
        ['{"a": "{', '{"a": "{\\"', '{"a": "{\\""}'],
    ],
)
def test_pieces_that_repeat_the_text_before_them_are_one_call(texts: list[str], fields: Piece, is_named: bool) -> None:
    first, *others = texts
    pieces = [piece("add" if is_named else None, text, **fields) for text in others]
    assert calls_of(piece("add", first, **fields), *pieces) == [("add", texts[-1])]


@pytest.mark.parametrize("texts", [['{"x": ', '{"x": 1}'], ['{"x": ', '{"x": 1}', "}"], ['{"x": [1, ', '{"x": [1, 2']])
def test_text_that_may_go_on_is_never_taken_for_a_repetition(texts: list[str]) -> None:
    pieces = [piece("add", texts[0], index=0), *(piece(None, text, index=0) for text in texts[1:])]
    assert calls_of(*pieces) == [("add", "".join(texts))]


def test_call_without_list_and_places_without_call_are_read() -> None:
    call = {"id": "c", "function": {"name": "add", "arguments": ONE}}
    for calls in (call, [None, call], [call, None]):
        stream = AnswerStream(prompt(tools=TOOLS))
        stream.feed({"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]})
        body = {"choices": [{"message": {"tool_calls": calls}}]}
        for read in (stream.answer(), answer(body, prompt(tools=TOOLS))):
            assert [(call.id, call.name, call.arguments) for call in read.calls] == [("c", "add", ONE)]


def test_calls_without_their_function_are_read() -> None:
    bare = {"id": "c", "name": "add", "arguments": {"a": 1}}
    body = {"choices": [{"message": {"tool_calls": [bare, {"name": "get", "arguments": "{}", "function": None}]}}]}
    received = answer(body, prompt(tools=TOOLS))
    assert [(call.name, call.arguments) for call in received.calls] == [("add", {"a": 1}), ("get", "{}")]
    results = [ToolResultMessage(call.id, "ok", tool_name=call.name) for call in received.calls]
    sent = request(prompt(TextMessage("Go."), received, *results, tools=TOOLS))["messages"][1]
    assert sent["tool_calls"][0] == {
        "id": "c",
        "type": "function",
        "function": {"name": "add", "arguments": '{"a": 1}'},
    }
    pieces = [{"index": 0, "id": "c", "name": "add", "arguments": '{"a"'}, {"index": 0, "arguments": ": 1}"}]
    assert calls_of(*pieces) == [("add", ONE)]


def test_indexes_may_be_texts() -> None:
    pieces = [piece("add", '{"a": ', index="0"), piece("add", '{"a": ', index="1")]
    assert calls_of(*pieces, piece(None, "1}", index="0"), piece(None, "2}", index="1")) == [("add", ONE), ("add", TWO)]


def test_other_tool_begins_a_call_but_a_piece_of_a_name_does_not() -> None:
    assert calls_of(piece("get", ""), piece("get_all", "")) == [("get", ""), ("get_all", "")]
    assert calls_of(piece("get", ""), piece("_all", ""), piece(None, ONE)) == [("get_all", ONE)]


def test_arguments_that_are_objects_are_whole_calls() -> None:
    pieces = [piece("add", {"a": 1}, index=0), piece("add", {"a": 2}, index=0)]
    assert calls_of(*pieces) == [("add", {"a": 1}), ("add", {"a": 2})]


def test_text_after_complete_arguments_stays_with_them() -> None:
    assert calls_of(piece("add", ONE), piece(None, "\n")) == [("add", f"{ONE}\n")]


@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(["add", "get", "get_all"]),
            st.dictionaries(
                st.text(max_size=3), st.text(alphabet='a"\\{}[],: ', max_size=6) | st.integers(), max_size=3
            ),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda call: (call[0], json.dumps(call[1])),
    ),
    has_ids=st.sampled_from(["own", "none", "empty", "one for all"]),
    has_indexes=st.sampled_from(["own", "none", "always 0"]),
    repeats_names=st.booleans(),
    cuts=st.integers(1, 12),
)
def test_no_call_of_a_mutated_stream_is_lost(
    calls: list[tuple[str, dict[str, Any]]], has_ids: str, has_indexes: str, repeats_names: bool, cuts: int
) -> None:
    pieces: list[Piece] = []
    for number, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        fields: Piece = {}
        if has_indexes != "none":
            fields["index"] = number if has_indexes == "own" else 0
        if has_ids != "none":
            fields["id"] = {"own": f"call_{number}", "empty": "", "one for all": "call_0"}[has_ids]
        texts = ["", *(text[at : at + cuts] for at in range(0, len(text), cuts))] if cuts < 12 else [text]
        for position, part in enumerate(texts):
            is_named = position == 0 or repeats_names
            pieces.append(piece(name if is_named else None, part, **(fields if is_named else _continued(fields))))
    assert [(name, json.loads(text)) for name, text in calls_of(*pieces)] == calls


def _continued(fields: Piece) -> Piece:
    """Return the fields of a piece that is not the first of its call."""
    return {key: value for key, value in fields.items() if key != "id"}
