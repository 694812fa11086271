"""Searches in kept results: no pattern holds up the process that searches for it."""

from __future__ import annotations

import pytest

from ez_ptc.errors import ToolError
from ez_ptc.toolkit.execution.results.reading import ResultReading, search_result
from ez_ptc.toolkit.toolkit import Toolkit
from tests.toolkit.execution.kept import keep


class _Results:
    """One result, under any name."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, name: str) -> object:
        del name
        return self._text

    def text(self, name: str) -> str:
        del name
        return self._text


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:a{0,60}){0,60}z",
        "(?:(?:a{0,20}){0,20}){0,20}z",
        "a{0,1001}z",
        "(?x)(?:a{0,60} # )\n){0,60}z",
        "[a[b]]{0,200}z",
    ],
)
def test_pattern_with_many_repetitions_is_refused(pattern: str) -> None:
    with Toolkit([]) as toolkit:
        name = keep(toolkit.execute("1"), "a" * 500)
        error = toolkit.execute(f"search_result('{name}', {pattern!r})").error or ""

    assert "repeats too much: simplify it to 1,000 parts with all repetitions" in error


def test_search_that_takes_too_long_ends() -> None:
    with pytest.raises(ToolError, match="'x' took longer than 0 s: simplify the pattern"):
        search_result("r1", "x", reading=ResultReading(_Results("a"), max_seconds=0.0))


@pytest.mark.parametrize("pattern", ["needle", ".{0,300}needle", "(?:[a-z]{1,9}){1,90}dle"])
def test_large_pattern_finds_what_a_small_one_finds(pattern: str) -> None:
    lines = ["short"] * 3_000 + ["a" * 90_000 + "needle" + "b" * 90_000] + ["the needle"] * 2
    found = search_result("r1", pattern, reading=ResultReading(_Results("\n".join(lines))))

    assert found["count"] >= 3
    assert found["matches"][-1]["text"] == "the needle"
