"""The one table of limits: what reads it says the same."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from ez_ptc import Limits, Toolkit
from ez_ptc.results.bounds import MAX_TEXT
from ez_ptc.sandbox.protocol.both_ends.limits import LIMITS, limit_error, worker_limits


def test_limits_are_those_of_the_table() -> None:
    assert [field.name for field in fields(Limits)] == list(LIMITS)
    assert {name: getattr(Limits(), name) for name in LIMITS} == {name: limit.default for name, limit in LIMITS.items()}
    assert Limits().text == MAX_TEXT
    assert all(f"    {name}: " in (Limits.__doc__ or "") for name in LIMITS)


def test_each_limit_refuses_what_it_does_not_expect() -> None:
    for name, limit in LIMITS.items():
        for value in (True, "5", float("nan"), -1):
            if name == "seed" and value == -1:
                continue
            with pytest.raises(ValueError, match=rf"Limits\.{name} must be {limit.expected}, got "):
                Limits(**{name: value})  # pyright: ignore[reportArgumentType] - what is refused


def test_number_that_no_system_takes_is_refused() -> None:
    for name, limit in LIMITS.items():
        with pytest.raises(ValueError, match=rf"^Limits\.{name} must be ") as caught:
            Limits(**{name: 10**5000})
        assert str(caught.value).endswith(", got <an int of 16610 bits>")
        if limit.unit == "seconds":
            with pytest.raises(ValueError, match=rf"^Limits\.{name} must be <= 31,622,400, got inf$"):
                Limits(**{name: float("inf")})  # pyright: ignore[reportArgumentType] - what is refused
    with pytest.raises(ValueError, match=r"^Limits\.timeout \+ grace must be <= 31,622,400, got 31,622,400 \+ 0\.5: "):
        Limits(timeout=31_622_400)
    largest = Limits(cpu_time=31_622_400, memory=(1 << 63) - 1, seed=10**4300 - 1, calls=(1 << 63) - 1)
    with Toolkit([], limits=largest) as toolkit:
        assert toolkit.execute("6 * 7").return_value == 42


def test_docs_list_each_limit_with_unit_and_enforcer(repository: Path) -> None:
    page = (repository / "docs" / "sandbox.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    listed = [
        (name, bounds.split()[0], enforcer) for name, bounds, _, enforcer in (row for row in rows if len(row) == 4)
    ]
    assert listed == [(f"`{name}`", limit.unit, limit.enforcer) for name, limit in LIMITS.items() if limit.unit]


def test_worker_gets_the_given_numbers_and_defaults() -> None:
    numbers = worker_limits(memory=1, cpu=2, clock=None)
    assert (numbers["memory"], numbers["cpu"], numbers["calls"]) == (1, 2, Limits().calls)
    assert numbers.keys() == {limit.worker_name for limit in LIMITS.values()} - {"", "seed"}


def test_error_text_has_the_amounts() -> None:
    assert limit_error("calls", limit=1_000) == "the program made more than 1,000 tool calls"
