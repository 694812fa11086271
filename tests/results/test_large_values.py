"""Values larger than the quota: shown in part, not copied, and said not to be kept."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass

import pytest

from ez_ptc.results.store import ResultStore
from ez_ptc.toolkit.execution.results.scopes import ShortNames, ValueKeeper, keep_value, measure

QUOTA = 1 << 20


@dataclass
class Letter:
    text: str


LARGE: dict[str, object] = {
    "text": "x" * (3 * QUOTA),
    "bytes": b"x" * (3 * QUOTA),
    "rows": [{"number": number, "text": "y" * 990} for number in range(4_000)],
    "nested": {"pages": [[("z" * 500, number)] for number in range(8_000)]},
    "a record": Letter("x" * (3 * QUOTA)),
    "records": [Letter("x" * 900) for _ in range(4_000)],
    "one key": {"k" * (3 * QUOTA): 1},
    "numbers": [*range(3_000_000)],
}


@pytest.mark.parametrize("value", LARGE.values(), ids=LARGE.keys())
def test_value_beyond_the_quota_is_not_copied(value: object) -> None:
    store = ResultStore(QUOTA)
    tracemalloc.start()
    try:
        assert keep_value(store, value, "test") is None
        assert tracemalloc.get_traced_memory()[1] < QUOTA * 3 * 0.2 + (1 << 20)
    finally:
        tracemalloc.stop()


def test_value_beyond_the_quota_gets_no_name() -> None:
    keeper = ValueKeeper(ShortNames(ResultStore(QUOTA)))
    assert keeper.keep(LARGE["rows"], source="test") is None
    assert keeper.has_shortened
    assert keeper.keep("x", source="test") == "r1"


def test_extent_of_a_value_is_measured() -> None:
    assert measure([1, {"a": ("b", b"c", None)}], 100, 100) == "plain"
    assert measure(["x" * 60, "y" * 60], 100, 100) == "large"
    assert measure({"x" * 101: 1}, 100, 100) == "large"
    assert measure([1] * 101, 100, 100) == "large"
    assert measure([Letter("x")], 100, 100) == "other"
