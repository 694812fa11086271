"""Foreign text in a sentence: one line, in quotes, bounded; and in a program: the same text, whatever it is."""

from __future__ import annotations

import ast
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.sandbox.protocol.both_ends.quoting import (
    indent_rest,
    item_text,
    literal,
    name_list,
    name_text,
    on_one_line,
    quoted,
)

TEXTS = st.text(st.characters(exclude_categories=()), max_size=200) | st.sampled_from(
    [
        "```",
        "~~~python\nx()\n~~~",
        "a\u2028b\u2029c\x85d\x1ce\x0bf\x0cg\rh",
        "\x1b[2J",
        "\u202eabc",
        "\ud800",
        "'\"\\",
        "",
    ]
)
LONGEST = 70


class Hostile(str):
    """A text that answers in a way of its own."""

    __slots__ = ()

    def __repr__(self) -> NoReturn:
        raise SystemExit

    __str__ = __len__ = __getitem__ = isidentifier = __iter__ = __repr__  # pyright: ignore[reportAssignmentType] - on purpose


class Thing:
    """Something that no sentence can show."""

    def __repr__(self) -> NoReturn:
        raise SystemExit


def is_harmless(text: str) -> bool:
    return text.isprintable() and len(text) <= LONGEST and "```" not in text and "~~~" not in text


@given(TEXTS)
def test_any_text_is_quoted_on_one_line(text: str) -> None:
    assert is_harmless(quoted(text))
    assert is_harmless(name_text(text))
    assert quoted(text)[0] == quoted(text)[-1] in "'\""


@given(TEXTS)
def test_any_text_is_the_same_text_in_a_program(text: str) -> None:
    written = literal(text)
    assert written.isprintable()
    assert "```" not in written
    assert ast.literal_eval(written) == text
    assert ast.literal_eval(f"{{{written}: 1}}") == {text: 1}
    assert eval(item_text("row", text), {"row": {text: 7}}) == 7


@given(TEXTS)
def test_exception_line_starts_with_its_class(text: str) -> None:
    first, *others = indent_rest(text).splitlines() or [""]
    assert text.startswith(first)
    assert all(line.startswith("    ") for line in others)


@given(TEXTS, st.integers(0, 300))
def test_a_line_of_ours_stays_one(text: str, most: int) -> None:
    line = on_one_line(f"f({text})", most)
    assert line.isprintable()
    assert len(line) <= most + 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "'a'"),
        (1, "1"),
        (2.5, "2.5"),
        (None, "None"),
        (b"a\n", "b'a\\n'"),
        ((1, "b\n"), "(1, 'b\\n')"),
        (10**5_000, "<int>"),
        (Thing(), "<Thing>"),
        (Hostile("a\nb"), "'a\\nb'"),
        ([1], "<list>"),
        ("x" * 61, f"'{'x' * 59}…'"),
    ],
    ids=range(11),
)
def test_values_are_shown_without_calling_their_methods(value: object, text: str) -> None:
    assert quoted(value) == text


def test_a_class_is_named_on_one_line() -> None:
    assert quoted(type("x\nHint: y", (), {})()) == "<'x\\nHint: y'>"


def test_names_are_bare_where_python_writes_them_so() -> None:
    assert name_list(["city", "zip code", "größe", "x" * 61, 7, Hostile("id")]) == (
        f"city, 'zip code', größe, '{'x' * 59}…', 7, 'id'"
    )


def test_nearest_names_come_first_and_rest_is_counted() -> None:
    names = [f"key{number}" for number in range(100_000)]
    listed = name_list(names, "key77x")
    assert listed.startswith("key77, ")
    assert listed.endswith(", and 99960 more")
    assert len(name_list([f"{number} {'x' * 1_000_000}" for number in range(30)])) < 1_200
