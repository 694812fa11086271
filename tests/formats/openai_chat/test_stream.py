"""Answers of Chat Completions that come in pieces."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.openai_chat.messages import answer, request
from ez_ptc.formats.openai_chat.stream import AnswerStream
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Answer, TextMessage
from tests.formats.openai_made import ELSEWHERE, JSON, MESSAGES, SENT_NAME, WEATHER, call, prompt
from tests.providers.openai.replies import completion, completion_chunks


def streamed(chunks: list[Any]) -> tuple[Answer, str]:
    stream = AnswerStream(prompt(tools=(WEATHER,)))
    said = [delta.text for chunk in chunks if chunk != "[DONE]" for delta in stream.feed(chunk)]
    return stream.answer(), "".join(said)


def delta_call(index: int | None, **fields: Any) -> dict[str, Any]:
    return {"tool_calls": [fields if index is None else {"index": index, **fields}]}


def test_deltas_make_the_whole_answer() -> None:
    deltas = [
        {"role": "assistant", "content": "", "refusal": None},
        {"content": "I "},
        {"content": "look."},
        delta_call(0, id="call_1", type="function", function={"name": SENT_NAME, "arguments": ""}),
        delta_call(0, function={"arguments": '{"city": '}),
        delta_call(1, id="call_2", type="function", function={"name": SENT_NAME, "arguments": "{}"}),
        delta_call(0, function={"arguments": '"Oslo"}'}),
    ]
    got, said = streamed(completion_chunks(*deltas, finish_reason="tool_calls"))
    whole = completion("I look.", refusal=None, tool_calls=[call(), call("call_2", arguments="{}")])
    assert got == answer(whole, prompt(tools=(WEATHER,)))
    assert said == "I look."


@given(text=st.text(min_size=1), arguments=st.text(), cuts=st.lists(st.integers(1, 5), min_size=1))
def test_where_it_was_cut_does_not_matter(text: str, arguments: str, cuts: list[int]) -> None:
    def cut(whole: str) -> list[str]:
        size = cuts[0]
        return [whole[at : at + size] for at in range(0, len(whole), size)]

    begin = delta_call(0, id="call_1", type="function", function={"name": SENT_NAME, "arguments": ""})
    pieces = [delta_call(0, function={"arguments": piece}) for piece in cut(arguments)]
    got, said = streamed(completion_chunks(*cut(text), begin, *pieces, finish_reason="tool_calls"))
    assert got.text == said == text
    assert got.calls[0].arguments == arguments


@pytest.mark.parametrize(
    "parts",
    [
        [(None, "a", "{}"), (None, "b", "[]")],
        [(0, "a", "{}"), (0, "b", "[]")],
        [(0, "a", "{}"), (1, "b", "["), (1, "b", "]")],
        [(None, "a", "{"), (None, None, "}"), (None, "b", "["), (None, None, "]")],
    ],
    ids=["no index", "the same index", "the id and name again", "no index, in pieces"],
)
def test_servers_that_number_their_calls_otherwise_are_understood(parts: list[tuple[Any, Any, str]]) -> None:
    deltas = [
        delta_call(index, **({"id": identifier} if identifier else {}), function={"name": SENT_NAME, "arguments": text})
        if identifier
        else delta_call(index, function={"arguments": text})
        for index, identifier, text in parts
    ]
    got, _ = streamed(completion_chunks(*deltas))
    assert [(each.id, each.name, each.arguments) for each in got.calls] == [
        ("a", WEATHER.name, "{}"),
        ("b", WEATHER.name, "[]"),
    ]


def test_fields_of_other_servers_are_put_together_as_well() -> None:
    deltas = [
        {"role": "assistant", "reasoning_content": "H", "details": [{"a": 1}], "more": {"n": 1, "t": "x"}},
        {"role": "assistant", "reasoning_content": "m", "details": [{"b": 2}], "more": {"n": 2, "t": "y"}},
        {"content": "Hi"},
    ]
    got, _ = streamed(completion_chunks(*deltas))
    assert got.content == {
        "role": "assistant",
        "reasoning_content": "Hm",
        "details": [{"a": 1}, {"b": 2}],
        "more": {"n": 2, "t": "xy"},
        "content": "Hi",
    }


@pytest.mark.parametrize("index", [{"index": 0}, {}])
def test_reasoning_in_pieces_is_sent_back_whole(index: dict[str, int]) -> None:
    part = {"type": "reasoning.text", "format": "anthropic-claude-v1", **index}
    end = [{**part, "signature": "S1"}, {**part, "text": "Then"}, {**part, "signature": "S2"}]
    encrypted = [{"type": "reasoning.encrypted", "data": data, "index": 1} for data in ("a", "b")]
    deltas = [{**part, "text": "Let"}, {**part, "text": " me"}, *end, *encrypted, "odd"]
    stream = AnswerStream(prompt(), server=ELSEWHERE)
    for delta in deltas:
        stream.feed({"choices": [{"delta": {"reasoning_details": [delta]}}]})
    stream.feed({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})
    message = request(prompt(TextMessage("Go."), stream.answer()), server=ELSEWHERE)["messages"][1]
    assert message["reasoning_details"] == [
        {**part, "text": "Let me", "signature": "S1"},
        {**part, "text": "Then", "signature": "S2"},
        *encrypted,
        "odd",
    ]


def test_thoughts_and_texts_in_pieces_are_one_part_each() -> None:
    def thinking(text: str, **others: object) -> dict[str, Any]:
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **others}

    deltas = [
        {"role": "assistant", "content": ""},
        {"content": [thinking("Hm")]},
        {"content": ""},
        {"content": [{"type": "text", "text": ""}]},
        {"content": [thinking(", 7.", closed=True)]},
        {"content": "It is "},
        {"content": [{"type": "text", "text": "7"}]},
        {"content": "."},
        {"content": [thinking("Yes.", signature="s")]},
        {"content": [thinking("No.")]},
    ]
    got, said = streamed(completion_chunks(*deltas))
    assert got.text == said == "It is 7."
    assert got.content["content"] == [
        thinking("Hm, 7.", closed=True),
        {"type": "text", "text": "It is 7."},
        thinking("Yes.", signature="s"),
        thinking("No."),
    ]


def test_thought_is_whole_that_was_text_and_then_parts() -> None:
    def thinking(thought: object) -> dict[str, Any]:
        return {"content": [{"type": "thinking", "thinking": thought}]}

    def part(text: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": text}]

    for pieces in (["H", "m", part(", "), part("7.")], [part("Hm"), ", ", "7", part(".")], [part("Hm, 7"), "."]):
        got, said = streamed(completion_chunks(*map(thinking, pieces), {"content": "7"}))
        assert got.content["content"] == [{"type": "thinking", "thinking": part("Hm, 7.")}, *part("7")]
        assert got.text == said == "7"


def test_only_first_choice_and_its_refusal_are_streamed() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}
    got, said = streamed([second, *completion_chunks({"refusal": "I "}, {"refusal": "won't."})])
    assert got.text == said == "I won't."
    assert got.stop_reason == "refusal"


def test_stream_without_its_end_is_an_error() -> None:
    stream = AnswerStream(prompt())
    assert stream.feed(completion_chunks("Hi")[0]) == [TextDelta("Hi")]  # pyright: ignore[reportArgumentType] - a chunk and not the mark at the end
    with pytest.raises(ConnectionFailedError, match="ended before the answer was complete"):
        stream.answer()


CHOICES = st.fixed_dictionaries({}, optional={"index": JSON, "delta": MESSAGES, "finish_reason": JSON})
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "id": JSON,
    "usage": JSON,
    "error": st.none(),
    "choices": st.lists(CHOICES) | JSON,
}
CHUNKS = st.fixed_dictionaries({}, optional=FIELDS)


@given(chunks=st.lists(CHUNKS, max_size=5))
def test_any_chunks_are_answer_or_provider_error(chunks: list[dict[str, Any]]) -> None:
    stream = AnswerStream(prompt())
    try:
        for chunk in chunks:
            stream.feed(chunk)
        got = stream.answer()
    except ProviderError:
        return
    assert got.provider == "openai-chat"


def test_done_stream_needs_no_finish_reason() -> None:
    stream = AnswerStream(prompt(tools=(WEATHER,)))
    for delta in ({"content": "I look."}, delta_call(0, id="call_1", function={"name": SENT_NAME, "arguments": "{}"})):
        stream.feed({"choices": [{"index": 0, "delta": delta}]})
    with pytest.raises(ConnectionFailedError, match="ended before the answer was complete"):
        stream.answer()
    stream.end()
    got = stream.answer()
    assert (got.text, len(got.calls), got.stop_reason) == ("I look.", 1, "tool_calls")


def test_done_stream_without_content_is_an_error() -> None:
    stream = AnswerStream(prompt())
    stream.feed({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
    stream.end()
    with pytest.raises(ConnectionFailedError, match="ended before the answer was complete"):
        stream.answer()


def test_message_instead_of_pieces_is_the_answer() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    whole = {"choices": [{"index": 0, "message": {"content": "Hi.", "tool_calls": [call]}, "finish_reason": "stop"}]}
    answer, text = streamed([whole])
    assert (text, answer.text, [call.name for call in answer.calls]) == ("Hi.", "Hi.", ["add"])

    repeated, text = streamed([{"choices": [{"index": 0, "delta": {"content": "Hi."}}]}, whole])
    assert (text, repeated.text, repeated.calls) == ("Hi.", "Hi.", ())
