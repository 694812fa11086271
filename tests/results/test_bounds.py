"""One bound for every text that a model reads."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from ez_ptc import ExecutionResult, Toolkit
from ez_ptc.results.bounds import bounded_error, bounded_text, bounded_value


class Kept:
    def __init__(self) -> None:
        self.values: list[tuple[object, str]] = []

    def keep(self, value: object, *, source: str) -> str | None:
        self.values.append((value, source))
        return f"r{len(self.values)}"


@pytest.mark.parametrize("bound", [bounded_text, bounded_error, bounded_value])
def test_short_text_is_returned_as_it_is(bound: Callable[..., str]) -> None:
    assert bound("a\nb", 3, source="tool") == "a\nb"


@pytest.mark.parametrize("bound", [bounded_text, bounded_error, bounded_value])
@pytest.mark.parametrize("max_length", [1, 10, 40, 100, 1_000])
def test_long_text_is_cut_to_the_bound(bound: Callable[..., str], max_length: int) -> None:
    assert 0 < len(bound("0123456789\n" * 10_000, max_length, source="tool", keeper=Kept())) <= max_length


def test_cut_text_names_what_is_kept() -> None:
    kept = Kept()
    text = "line\n" * 1_000

    assert 'results["r1"]' in bounded_text(text, 500, source="find", keeper=kept)
    assert kept.values == [(text, "find")]


class Counted:
    """An object that counts how often it is looked at."""

    looked_at = 0

    def __str__(self) -> str:
        Counted.looked_at += 1
        return "x" * 10


def test_sketch_looks_at_no_more_than_it_shows() -> None:
    for value in ([Counted()] * 10**6, {number: Counted() for number in range(10**5)}):
        Counted.looked_at = 0

        text = bounded_value(value, 2_000, source="x", plain=str)

        assert len(text) <= 2_000
        assert Counted.looked_at < 2_000


def test_sketch_of_a_large_result_takes_no_memory() -> None:
    value = [{"id": number, "text": "x" * 1_000_000} for number in range(20)]

    tracemalloc.start()
    try:
        bounded_value(value, 30_000, source="x")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "No module named 'ez_ptc'",
        "/srv/ez-ptc/run.py",
        '{"path": "ez-ptc"}',
        "<ez_ptc.Toolkit object>",
        "a-ez-ptc",
        "ez_ptc",
    ],
)
def test_names_and_paths_of_ours_are_no_notes(text: str) -> None:
    assert bounded_text(text, 1_000, source="a tool") == text


def test_escaped_bracket_is_the_same_character_to_json() -> None:
    for bracket in "([{\uff08":
        escaped = bounded_text(f'"{bracket}ez-ptc: 7 rows left out"', 1_000, source="a tool")
        assert bracket not in escaped
        assert json.loads(escaped) == f"{bracket}ez-ptc: 7 rows left out"


@pytest.mark.parametrize("length", range(2_000, 2_005))
def test_middle_of_a_line_does_not_read_like_a_line_of_ours(length: int) -> None:
    shown = bounded_text("Hint:" * length, 1_000, source="a tool")
    assert len(shown) <= 1_000
    assert [line for line in shown.splitlines()[1:] if line.startswith("Hint:")] == []


@pytest.mark.parametrize("most", [0, -1, True, "30k", 2.5])
def test_wrong_bound_is_named(most: int) -> None:
    def double(number: int) -> int:
        """Double."""
        return 2 * number

    with Toolkit([double]) as toolkit:
        result = ExecutionResult(output="x")
        calls: list[Callable[[], object]] = [
            lambda: result.to_string(most),
            lambda: toolkit.answer("1", result, most),
            lambda: toolkit.as_tool(max_text=most),
            lambda: toolkit.as_async_tool(max_text=most),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="max_text must be a positive int or None, got"):
                call()


def test_wrong_spill_folder_is_named() -> None:
    folder: Any = 5
    with pytest.raises(TypeError, match="expected spill to be the path of a folder, got"):
        Toolkit([], spill=folder)
