"""Texts that models send for a value they leave out."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from ez_ptc import ToolCall, ez_tool


class Size(Enum):
    BIG = "big"


@dataclass
class Stay:
    """A stay in a hotel."""

    city: str
    note: str | None = None
    nights: int | None = 7
    day: dt.date | None = None
    size: Size = Size.BIG
    tags: list[str] | None = None
    board: Literal["half", "full"] = "half"
    guests: list[int | None] | None = None


@ez_tool
def book(stay: Stay) -> Stay:
    """Book a hotel."""
    return stay


@ez_tool
def measure(depth: int, at: float | None) -> str:
    """Measure."""
    return repr((depth, at))


def test_text_for_nothing_is_read_where_no_text_is_expected() -> None:
    for text in ("null", "None", ""):
        nothing = dict.fromkeys(("nights", "day", "size", "tags", "board", "guests"), text)
        result = book.run(ToolCall("1", "book", {"stay": {"city": text, "note": text, **nothing}}))
        assert result.output == Stay(text, text, None if text else 7), text
        assert len(result.repairs) == 6
    assert measure.run(ToolCall("1", "measure", {"depth": 1, "at": "null"})).output == "(1, None)"
    listed = book.run(ToolCall("1", "book", {"stay": {"city": "Oslo", "guests": ["null", 2]}})).output
    assert listed == Stay("Oslo", guests=[None, 2])


def test_text_for_nothing_stays_refused_where_something_is_needed() -> None:
    for depth in ("null", "", "None"):
        result = measure.run(ToolCall("1", "measure", {"depth": depth, "at": 1}))
        assert result.error == f"measure: 'depth' must be int, got str {depth!r}"
    assert not measure.run(ToolCall("1", "measure", {"depth": 1, "at": "nil"})).success
