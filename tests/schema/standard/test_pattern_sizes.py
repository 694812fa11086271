"""How large a pattern is with its repetitions written out."""

from __future__ import annotations

import pytest

from ez_ptc.schema.standard.pattern_sizes import expanded_size

WRITTEN_OUT = {
    "abc": 3,
    "a{3}": 3,
    "a{0,3}b": 4,
    "a{3,}": 3,
    "a{,3}": 3,
    "a{ 2 , 3 }": 3,
    "a{2}{3}": 6,
    "(?:ab){3}": 9,
    "(?:a{4}){5}": 25,
    "((a{2}){3}){4}": 40,
    "(?P<name>a){2}|(?i:b){3}": 11,
    r"\d{4}-\d{2}-\d{2}": 10,
    r"\p{Letter}{5}\x{41}{2}": 7,
    r"\({3}\{{2}": 5,
    "[a-z(]{5}": 5,
    "[]({9}a]{3}": 3,
    "[^]a]{3}": 3,
}


@pytest.mark.parametrize("pattern", WRITTEN_OUT)
def test_repetitions_are_multiplied_within_groups(pattern: str) -> None:
    assert expanded_size(pattern) == WRITTEN_OUT[pattern]


@pytest.mark.parametrize(
    "pattern", ["(?x)( # )\n a{9} ){9}", "(?sx:( # (\n a{9} ){9})", "([b[)]a]{9}){9}", "[[(]a]{9}{9}"]
)
def test_nothing_hides_a_repetition(pattern: str) -> None:
    assert expanded_size(pattern) >= 81


@pytest.mark.parametrize("pattern", ["", ")", "){3}", "((", "{3}", "[", "a{", "\\", "(?", "a{99999999999999999999}"])
def test_invalid_pattern_has_a_size(pattern: str) -> None:
    assert expanded_size(pattern) >= 0
