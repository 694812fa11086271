"""Copies of values, and how deep a text is nested: rows and brackets are looked at together, with equal results."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.schema.arguments.nesting import MISSED_LEVELS, is_nested_deeper
from ez_ptc.schema.arguments.replacement import detach

ROWS = 20


@pytest.mark.parametrize("inner", [1, "text", [1], {"a": 1}, {1}], ids=repr)
@pytest.mark.parametrize("count", [1, ROWS])
def test_copied_rows_share_nothing_that_changes(inner: object, count: int) -> None:
    rows = [{"id": number, "value": 1.5} for number in range(count - 1)] + [{"id": count, "value": inner}]
    before = repr(rows)
    copied = detach(rows)
    assert copied == rows
    for row in copied:
        part = row.pop("value")
        if isinstance(part, list | dict | set):
            cast("set[object]", part).clear()
    assert repr(rows) == before


@given(st.lists(st.sampled_from(["[@]", '{"a": @}', '[@, "]"]', '{"[{": 0, "b": @}', '["\\\\", @]']), max_size=150))
def test_nesting_misses_no_more_levels_than_it_says(levels: list[str]) -> None:
    text = '"["'
    for level in levels:
        text = level.replace("@", text)
    json.loads(text)
    assert is_nested_deeper(text.encode(), len(levels) - MISSED_LEVELS - 1)
    assert not is_nested_deeper(text.encode(), len(levels))
