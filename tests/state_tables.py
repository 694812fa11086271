"""Tables of states: read from the docstrings that show them, and walked by property tests."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import ModuleType
from typing import Any

from hypothesis import strategies

__all__ = ["Table", "names_of", "read_table", "walks"]

Table = dict[str, dict[str, str]]


def read_table(shown: ModuleType | type) -> Table:
    """Return the table in a docstring, of its lines with bars: the next state, by state and change."""
    rows = [[cell.strip() for cell in line.split("|")] for line in str(shown.__doc__).splitlines() if "|" in line]
    (_, *changes), *states = rows
    table: Table = {}
    for state, *cells in states:
        table[state] = {change: after for change, after in zip(changes, cells, strict=True) if after}
    return table


def names_of(changes: Mapping[Any, Mapping[Any, Enum]]) -> Table:
    """Return a table of enums as one of their names."""
    return {state.name: {change: after.name for change, after in row.items()} for state, row in changes.items()}


def walks(table: Table) -> strategies.SearchStrategy[list[str]]:
    """Return a strategy for series of changes, whether the table has them or not."""
    changes = sorted({change for row in table.values() for change in row})
    return strategies.lists(strategies.sampled_from(changes), max_size=8)
