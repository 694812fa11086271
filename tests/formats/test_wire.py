"""JSON from a provider and back to it, text that arrives in pieces, and a provider's words in our messages."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ConnectionFailedError
from ez_ptc.formats.wire import TextPieces, encodable_text, json_problem, one_line, parse, parse_body

_HALVES = st.sampled_from(["\ud83d", "\ude00", "\ud800", "\udfff", "a", "é", "\U0001f600"])
_SPLIT_TEXTS = st.lists(st.lists(_HALVES, max_size=4).map("".join), max_size=6)


def _told(pieces: list[str]) -> list[str]:
    stream = TextPieces()
    return [delta.text for piece in pieces for delta in stream.deltas(piece)] + [delta.text for delta in stream.end()]


@given(_SPLIT_TEXTS)
def test_pieces_make_the_text_that_the_whole_has(pieces: list[str]) -> None:
    told = _told(pieces)
    assert "".join(told) == encodable_text("".join(pieces))
    for text in told:
        assert text
        text.encode()


def test_split_character_is_joined_with_its_second_half() -> None:
    assert _told(["Hi \ud83d", "\ude00!"]) == ["Hi ", "\U0001f600!"]
    assert _told(["Hi \ud83d", "", "\ude00"]) == ["Hi ", "\U0001f600"]


def test_a_lone_half_becomes_the_replacement_character() -> None:
    assert _told(["Hi \ud83d", " there"]) == ["Hi ", "\N{REPLACEMENT CHARACTER} there"]
    assert _told(["Hi \ud83d"]) == ["Hi ", "\N{REPLACEMENT CHARACTER}"]
    assert _told(["\ude00\ud83d"]) == ["\N{REPLACEMENT CHARACTER}"] * 2


@given(st.text(st.characters(), max_size=700) | st.lists(st.text(max_size=20), max_size=5))
def test_words_of_a_provider_are_one_bounded_printable_line(words: object) -> None:
    line = one_line(words)
    line.encode()
    assert line.isprintable()
    assert len(line) <= 600


def test_plain_words_stay_as_they_are() -> None:
    assert one_line("the model is overloaded") == "the model is overloaded"
    assert one_line("a\nb") == "'a b'"
    assert one_line("x" * 1000)[-3:] == "x…'"


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_outside_json_become_none(text: str) -> None:
    assert parse(f'{{"a": {text}}}') == {"a": None}


@pytest.mark.parametrize("text", ["[" * 300 + "]" * 300, '{"a":' * 100_000, "[" * 100_000])
def test_deep_json_is_a_recursion_error(text: str) -> None:
    with pytest.raises(RecursionError):
        parse(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_plain_json_has_no_problem(value: object) -> None:
    assert json_problem(value) is None
    assert parse(json.dumps(value)) == value


def test_depth_has_an_exact_limit() -> None:
    value: object = "x"
    problems: list[str | None] = []
    for _ in range(130):
        problems.append(json_problem(value))
        value = [value]
    changes = [at for at, (one, other) in enumerate(pairwise(problems)) if one != other]
    assert (changes, problems[-1]) == ([127], "more than 128 levels")


_BODY = json.dumps(
    {
        "id": "é \\ \n \ud83d\ude00",
        "choices": [{"n": -1.5e-3, "ok": True, "no": None, "f": False, "e": []}],
        "usage": {},
    }
)


@pytest.mark.parametrize("body", [_BODY, json.dumps(json.loads(_BODY), ensure_ascii=False, indent=1)])
def test_body_cut_at_any_byte_is_a_lost_connection(body: str) -> None:
    data = body.encode()

    assert parse_body(data) == json.loads(body)
    for end in range(1, len(data)):
        with pytest.raises(ConnectionFailedError, match="ask again"):
            parse_body(data[:end])


@pytest.mark.parametrize(
    "body", ["", "<html>", "[1, 2", '"text', "{]", '{"a": x', '{"a": 1} n', '{"a": "\\x', '{"a" 1', "{a"]
)
def test_body_that_is_no_json_is_no_lost_connection(body: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        parse_body(body)
