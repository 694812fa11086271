"""An argument of an unknown name is corrected only to a parameter that means the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest

from ez_ptc import Toolkit, ez_tool


@ez_tool(read_only=True)
def read_page(cursor: str = "", page_size: int = 3, customer_name: str = "", units: str = "") -> list[str]:
    """Read a page."""
    return [f"{cursor}{page_size}{customer_name}{units}"]


@ez_tool(read_only=True)
def read_times(date_format: str = "%Y", sort_order: str = "", max_price: float = 0) -> list[str]:
    """Read times."""
    return [f"{date_format}{sort_order}{max_price}"]


@ez_tool(read_only=True)
def read_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> dict[str, object]:
    """Read the weather."""
    return {"city": city, "unit": unit}


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([read_page, read_times, read_weather]) as opened:
        yield opened


def answered(toolkit: Toolkit, program: str) -> str:
    return toolkit.answer(program, toolkit.execute(program))


@pytest.mark.parametrize(
    "program",
    [
        "print(read_page(page=2))",
        "print(read_times(date='2025-01-01'))",
        "print(read_times(price=5))",
        "print(read_times(min_price=5))",
        "print(read_times(order='o-17'))",
    ],
)
def test_argument_with_another_meaning_is_not_renamed(toolkit: Toolkit, program: str) -> None:
    answer = answered(toolkit, program)

    assert "unknown argument" in answer
    assert "Changed:" not in answer


@pytest.mark.parametrize(
    ("program", "change"),
    [
        ("print(read_page(size=2))", "size -> page_size"),
        ("print(read_page(customer='Ann'))", "customer -> customer_name"),
        ("print(read_page(unit='m'))", "unit -> units"),
        ("print(read_times(maxprice=2))", "maxprice -> max_price"),
    ],
)
def test_argument_with_the_same_meaning_is_renamed(toolkit: Toolkit, program: str, change: str) -> None:
    assert change in answered(toolkit, program)


def test_results_are_to_be_filtered_only_where_they_are_several(toolkit: Toolkit) -> None:
    answers = [
        answered(toolkit, f"print({call})") for call in ("read_weather('Oslo', unit='K')", "read_page(page_size='x')")
    ]

    assert ["leave " in answer for answer in answers] == [True, True]
    assert ["filter the results" in answer for answer in answers] == [False, True]
