from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.gemini.messages import answer
from ez_ptc.formats.gemini.stream import AnswerStream
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.messages import Usage
from tests.formats.gemini.bodies import asking, call, response


def _pairs(*pairs: tuple[dict[str, Any], str]) -> list[tuple[dict[str, Any], str]]:
    return [*pairs]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("STOP", "end"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refusal"),
        ("RECITATION", "refusal"),
        ("PROHIBITED_CONTENT", "refusal"),
        ("OTHER", "OTHER"),
        ("SOMETHING_NEW", "SOMETHING_NEW"),
    ],
)
def test_known_stop_reason_is_translated(finish: str, reason: str) -> None:
    said = answer(response({"text": "Well"}, finish=finish), asking())
    assert (said.stop_reason, said.details["finishReason"], said.text) == (reason, finish, "Well")


def test_blocked_prompt_is_refusal_with_reason() -> None:
    body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 5}}
    said = answer(body, asking())
    assert (said.stop_reason, said.content, said.usage) == ("refusal", None, Usage(input_tokens=5))
    assert said.details == {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    stream = AnswerStream(asking())
    assert stream.feed(body) == []
    assert stream.answer() == said


def test_thoughts_and_cached_tokens_are_counted_once() -> None:
    counts = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "toolUsePromptTokenCount": 10,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 30,
        "totalTokenCount": 160,
    }
    usage = answer(response({"text": "x"}, usageMetadata=counts), asking()).usage
    assert usage == Usage(input_tokens=110, output_tokens=50, cached_tokens=60, reasoning_tokens=30)
    assert usage.input_tokens + usage.output_tokens == counts["totalTokenCount"]


@pytest.mark.parametrize(
    ("body", "text"),
    _pairs(
        ({}, "expected a candidate"),
        ({"candidates": []}, "expected a candidate"),
        ({"candidates": {}}, "expected a list at answer.candidates"),
        ({"candidates": [5]}, r"expected an object at answer.candidates\[0\]"),
        ({"candidates": [{"content": "x"}]}, r"answer.candidates\[0\].content"),
        ({"candidates": [{"content": {"parts": "x"}}]}, r"answer.candidates\[0\].content.parts"),
        ({"candidates": [{"content": {"parts": [{"text": 5}]}}]}, r"at .*parts\[0\].text, got int 5"),
        ({"candidates": [{"content": {"parts": [{"functionCall": {"args": {}}}]}}]}, "functionCall.name"),
        ({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": 5}}]}}]}, "functionCall.args"),
        ({"candidates": [{"finishReason": 5}]}, "finishReason"),
        ({**response({"text": "x"}), "usageMetadata": {"promptTokenCount": "5"}}, "usageMetadata.promptTokenCount"),
        ({**response({"text": "x"}), "usageMetadata": {"promptTokenCount": -5}}, "usageMetadata.promptTokenCount"),
        ({**response({"text": "x"}), "modelVersion": []}, "modelVersion"),
        ({"error": {"code": 500, "message": "overloaded"}}, "overloaded"),
        ({"promptFeedback": "SAFETY"}, "promptFeedback"),
    ),
)
def test_answer_of_another_shape_names_the_problem(body: dict[str, Any], text: str) -> None:
    with pytest.raises(ProviderError, match=text):
        answer(body, asking())


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
_key = st.sampled_from(["candidates", "content", "parts", "text", "functionCall", "name", "args", "usageMetadata"])
_shaped = st.recursive(
    _json,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_key, inner, min_size=1, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["candidates", "promptFeedback", "usageMetadata", "error"]), _shaped))
def test_no_answer_raises_anything_but_our_error(body: dict[str, Any]) -> None:
    for read in (lambda: answer(body, asking()), lambda: AnswerStream(asking()).feed(body)):
        with suppress(ProviderError):
            read()


def _made(text: str, others: dict[str, Any]) -> dict[str, Any]:
    return {"text": text, **others}


_text = st.text(min_size=1, max_size=12)
_parts: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.one_of(
        st.builds(_made, _text, st.sampled_from([{}, {"thought": True}])),
        st.builds(_made, st.text(max_size=3), st.just({"thoughtSignature": "c2ln"})),
        st.builds(call, _text),
    ),
    min_size=1,
    max_size=6,
)


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and one.keys() <= {"text", "thought"}


@given(_parts, st.data())
def test_stream_equals_the_whole_response(parts: list[dict[str, Any]], data: st.DataObject) -> None:
    parts = [each for at, each in enumerate(parts) if at == 0 or not _alike(parts[at - 1], each)]
    whole = response(
        *parts, usageMetadata={"promptTokenCount": 3, "candidatesTokenCount": 4}, responseId="r", new={"a": 1}
    )
    whole["candidates"][0]["safetyRatings"] = [{"category": "X"}]
    pieces: list[dict[str, Any]] = []
    for part in parts:
        text = part.get("text", "") if part.keys() <= {"text", "thought"} else ""
        at = data.draw(st.integers(0, len(text)))
        pieces += [{**part, "text": text[:at]}, {**part, "text": text[at:]}] if text else [part]
    stream, said = AnswerStream(asking()), ""
    for at, piece in enumerate(pieces):
        is_last = at == len(pieces) - 1
        others = {key: value for key, value in whole.items() if key != "candidates"} if is_last else {"responseId": "r"}
        ending: dict[str, Any] = {"finishReason": "STOP", "safetyRatings": [{"category": "X"}]} if is_last else {}
        candidate = {"content": {"role": "model", "parts": [piece]}, "index": 0, **ending}
        said += "".join(delta.text for delta in stream.feed({"candidates": [candidate], **others}))
    expected = answer(whole, asking())
    assert stream.answer() == expected
    assert said == expected.text


@pytest.mark.parametrize(
    "pieces",
    [
        [
            {"name": "find_city", "willContinue": True},
            {"partialArgs": [{"jsonPath": "$.name", "stringValue": "Oslo"}]},
            {},
        ],
        [{"name": "find_city", "id": "1", "partialArgs": [{"jsonPath": "$.name", "stringValue": "Oslo"}]}],
        [{"name": "find_city", "args": {}, "willContinue": True}, {}],
    ],
)
def test_call_in_pieces_names_the_option_to_leave_out(pieces: list[dict[str, Any]]) -> None:
    stream = AnswerStream(asking())
    for piece in pieces:
        stream.feed(response({"functionCall": piece}, finish="STOP"))
    with pytest.raises(ProviderError, match="leave streamFunctionCallArguments out"):
        stream.answer()


def test_whole_call_may_say_that_nothing_follows() -> None:
    whole = {"name": "find_city", "args": {"name": "Oslo"}, "partialArgs": None, "willContinue": False}
    assert answer(response({"functionCall": whole}), asking()).calls[0].arguments == {"name": "Oslo"}


def test_further_candidates_are_ignored() -> None:
    stream = AnswerStream(asking())
    other = {"content": {"parts": [{"text": "B"}]}, "index": 1, "finishReason": "STOP"}
    first = {"content": {"role": "model", "parts": [{"text": "A"}]}, "index": 0, "finishReason": "STOP"}
    assert stream.feed({"candidates": [first, other]}) == [TextDelta("A")]
    assert stream.answer().text == "A"


def test_stream_without_end_is_an_error() -> None:
    stream = AnswerStream(asking())
    with pytest.raises(ConnectionFailedError, match="ended before"):
        stream.answer()
    stream.feed({"candidates": [{"content": {"parts": [{"text": "Half"}]}}]})
    with pytest.raises(ConnectionFailedError, match="ended before"):
        stream.answer()


def test_finish_reason_may_follow_the_content() -> None:
    stream = AnswerStream(asking())
    stream.feed(response({"text": "Half"}, finish=None))
    stream.feed({"candidates": [{"finishReason": "MAX_TOKENS"}]})
    assert (stream.answer().text, stream.answer().stop_reason) == ("Half", "length")
