"""Tool calls as lines of text."""

import pytest

from ez_ptc.cli.calls import call_text, outcome_text


def record(*args: object, result: object = None, error: str | None = None, **kwargs: object) -> dict[str, object]:
    return {"name": "find", "args": args, "kwargs": kwargs, "result": result, "error": error, "duration_ms": 1.0}


def test_a_call_is_written_as_python_writes_it() -> None:
    assert call_text(record("Porto", 3, exact=True)) == "find('Porto', 3, exact=True)"


def test_a_long_argument_is_shortened() -> None:
    text = call_text(record("x" * 10_000, [*range(10_000)]))
    assert len(text) < 150
    assert "..." in text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ([{"id": 1}, {"id": 2}], "2 records"),
        ([{"id": 1}], "1 record"),
        ((1, 2, 3), "3 items"),
        ([], "0 items"),
        ({"units": 4}, "{'units': 4}"),
        (4, "4"),
        ("four", "'four'"),
        (b"four", "b'four'"),
        (None, "None"),
    ],
)
def test_an_outcome_is_a_few_words(result: object, text: str) -> None:
    assert outcome_text(record(result=result)) == text


def test_an_error_is_told_instead_of_a_result() -> None:
    assert outcome_text(record(error="no luck")) == "error: no luck"
