"""Tool calls as lines of text."""

import pytest

from ez_ptc.cli.calls import argument_lines, call_text, full_text, outcome_text

HOSTILE = ["\x1b]0;pwned\x07", "\x1b[2J", "a\rb", "a\nb", "\x9b2J", "\u202eabc\u2066", "\u2028", "\ud800", "\x7f"]


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
    for line in (
        call_text(call),
        outcome_text(call),
        *argument_lines({text: text, "a": [text]}),
        *full_text({text: 1}),
    ):
        assert line.isprintable()
        line.encode()


def test_huge_integers_are_shown() -> None:
    number = 10**5_000
    text = call_text(record(number, [number], {"a": number}) | {"kwargs": {"n": number}})
    assert text.count("<an int of 16610 bits>") == 4
    assert outcome_text(record(result={"a": number})) == "{'a': <an int of 16610 bits>}"
    assert argument_lines({"a": number, "b": [number]}) == [
        "      a = <an int of 16610 bits>",
        "      b = [<an int of 16610 bits>]",
    ]


def test_many_arguments_and_long_names_are_cut() -> None:
    assert len(call_text(record(*range(10_000)) | {"name": "n" * 10_000, "kwargs": {"n" * 10_000: 1}})) < 200
    assert ", … 9,981 more)" in call_text(record(*range(10_000), x=1))
    assert len(outcome_text(record(error="x" * 10_000))) < 250


@pytest.mark.parametrize("columns", ["30", "80", "200"])
@pytest.mark.parametrize("lines", ["10", "24", "60"])
def test_each_argument_fits_one_screen_line(columns: str, lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", lines)
    forged = "x" * 49 + "  ? Allow get_weather? [y/N, or a reason for refusal] " + " " * 3_000
    arguments = {
        "to": "Eve",
        "note": forged,
        "wide": "\u4e16" * 500,
        "\u4e16" * 50: 1,
        **{f"n{n}": n for n in range(1_000)},
    }
    shown = argument_lines(arguments)
    assert len(shown) <= max(int(lines) - 4, 6)
    assert shown[0] == "      to = 'Eve'"
    assert ("3,001 blanks]" if columns == "200" else "more characters)") in shown[1]
    assert "more characters)" in shown[2]
    assert shown[-1].endswith("more arguments")
    for line in shown[:3] + shown[4:]:
        assert sum(1 if each.isascii() else 2 for each in line) < max(int(columns), 41)


def test_full_text_shows_everything() -> None:
    text = "".join(map(str, range(1_000)))
    shown = [*full_text({"note": text, "n": 1})]
    assert all(line.startswith("      | ") and len(line) < 80 for line in shown)
    assert "".join(line.removeprefix("      | ") for line in shown) == f"note = {text!r}n = 1"
