"""A program that uses a list as a table is told what it got, and how to make a frame of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import pytest

from ez_ptc import Toolkit, ez_tool

if TYPE_CHECKING:
    from collections.abc import Iterator


class Sale(TypedDict):
    month: str
    euros: float


@ez_tool(read_only=True)
def sales(year: int) -> list[Sale]:
    """List the sales of a year."""
    return [{"month": f"{year}-01", "euros": 1.5}]


@ez_tool(read_only=True)
def found(year: int) -> Any:  # noqa: ANN401 - its results are not described
    """Find the sales of a year."""
    return [{"month": f"{year}-01", "euros": 1.5}]


@pytest.fixture(scope="module")
def toolkit() -> Iterator[Toolkit]:
    with Toolkit([sales, found], assist_tool_chaining=True) as opened:
        yield opened


RECORDS = "a table comes as a list of records, with the keys month, euros; loop over it: `pd.DataFrame(rows)`"
HINTED = {
    "sales(2025).head()": (RECORDS, 0),
    "sales(2025)['euros'].sum()": (RECORDS, 0),
    "df = sales(2025)\nprint(df.groupby('month').euros.sum())": (RECORDS, 0),
    "len(sales(2025).columns)": (RECORDS, 0),
    "found(2025).head()": (RECORDS, 1),
    "rows = found(2025)\nrows['euros']": (RECORDS, 1),
    "found(2025)['euros']": ("a table comes as a list of records; loop over it", 1),
    "[row.euros for row in found(2025)].mean()": ("a column or an array comes as a list, as for sum(values)", 0),
}


@pytest.mark.parametrize("program", HINTED)
def test_list_used_as_a_table_is_explained(toolkit: Toolkit, program: str) -> None:
    hint, calls = HINTED[program]

    result = toolkit.execute(program)

    assert hint in (result.error or "")
    assert len(result.tool_calls) == calls


@pytest.mark.parametrize("program", ["sales(2025).first_item", "['a']['b']", "[1, 2].push(3)"])
def test_other_mistakes_with_lists_name_no_table(toolkit: Toolkit, program: str) -> None:
    assert "table" not in (toolkit.execute(program).error or "table")
