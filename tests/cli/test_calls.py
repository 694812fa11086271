"""Tool calls as lines of text."""

from collections.abc import Iterator

import pytest

from ez_ptc.cli.calls import call_text, outcome_text

HOSTILE = ["\x1b]0;pwned\x07", "\x1b[2J", "a\rb", "a\nb", "\x9b2J", "\u202eabc\u2066", "\u2028", "\ud800", "\x7f"]


class Lying(list[int]):
    def __len__(self) -> int:
        raise RuntimeError

    def __iter__(self) -> Iterator[int]:
        raise RuntimeError


def record(*args: object, result: object = None, error: str | None = None, **kwargs: object) -> dict[str, object]:
    return {"name": "find", "args": args, "kwargs": kwargs, "result": result, "error": error, "duration_ms": 1.0}


def test_call_is_written_as_python() -> None:
    assert call_text(record("Porto", 3, exact=True)) == "find('Porto', 3, exact=True)"


def test_a_long_argument_is_shortened() -> None:
    text = call_text(record("x" * 10_000, [*range(10_000)]))
    assert len(text) < 170
    assert text.count("…") == 2


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ([{"id": 1}, {"id": 2}], "2 records"),
        ([{"id": 1}], "1 record"),
        ((1, 2, 3), "3 items"),
        ([], "0 items"),
        (Lying([1, 2]), "2 items"),
        ({"units": 4}, "{'units': 4}"),
        (4, "4"),
        ("four", "'four'"),
        (b"four", "b'four'"),
        (None, "None"),
    ],
)
def test_an_outcome_is_a_few_words(result: object, text: str) -> None:
    assert outcome_text(record(result=result)) == text


def test_error_replaces_result() -> None:
    assert outcome_text(record(error="no luck")) == "error: no luck"


@pytest.mark.parametrize("text", HOSTILE)
def test_call_text_has_no_control_characters(text: str) -> None:
    call = record(text, {text: [text]}, error=text) | {"name": text, "kwargs": {text: text}}
    for line in (call_text(call), outcome_text(call)):
        assert line.isprintable()
        line.encode()


def test_huge_integers_are_shown() -> None:
    number = 10**5_000
    text = call_text(record(number, [number], {"a": number}) | {"kwargs": {"n": number}})
    assert text.count("<an int of 16610 bits>") == 4
    assert outcome_text(record(result={"a": number})) == "{'a': <an int of 16610 bits>}"


def test_many_arguments_and_long_names_are_cut() -> None:
    assert len(call_text(record(*range(10_000)) | {"name": "n" * 10_000, "kwargs": {"n" * 10_000: 1}})) < 200
    assert ", … 9,981 more)" in call_text(record(*range(10_000), x=1))
    assert len(outcome_text(record(error="x" * 10_000))) < 250
