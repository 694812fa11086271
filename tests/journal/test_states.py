"""The states of a run: what is recorded follows the table in the docstring, and nothing follows an end."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Final, cast

import pytest
from hypothesis import given

from ez_ptc.errors import JournalError
from ez_ptc.journal import states
from ez_ptc.journal.chain import Event
from ez_ptc.journal.rows import RunRow, append, find_run, insert_run, verify_run
from ez_ptc.journal.states import CHANGES, ENDINGS, RunChange
from ez_ptc.journal.storage.rows import SQLiteRows
from ez_ptc.journal.storage.tables import create_tables
from tests.journal.sample_runs import START
from tests.state_tables import read_table, walks

TABLE: Final = read_table(states)


def test_docstring_shows_the_table_of_runs() -> None:
    assert {state: dict(row) for state, row in CHANGES.items()} == TABLE
    assert {change: TABLE["running"][change] for change in ENDINGS.values()} == {
        change: state for state, change in ENDINGS.items()
    }


@given(walks(TABLE))
def test_run_follows_its_table_on_every_walk(walk: list[str]) -> None:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        create_tables(database)
        rows = SQLiteRows(database)
        row = insert_run(rows, "r1", "", "first", [Event("start", data={**START, "owner": "first"})])
        for change in cast("list[RunChange]", walk):
            before, after = find_run(rows, "r1"), TABLE[row.state].get(change)
            if after is None:
                with pytest.raises(JournalError, match="nothing more is recorded"):
                    _apply(rows, row, change, "")
                assert find_run(rows, "r1") == before
            else:
                row = _apply(rows, row, change, after)
                assert row.state == after
            assert find_run(rows, "r1") == row
            verify_run(rows, row)


def _apply(rows: SQLiteRows, row: RunRow, change: RunChange, after: str) -> RunRow:
    """Write what the library writes for a change."""
    if change == "claim":
        return append(rows, row, [Event("claim", data={"owner": "next"})], change, owner="next")
    if change == "record":
        return append(rows, row, [Event("intent", "1", {"tool": "pay", "arguments": {}, "repeatable": True})], change)
    kind = "end" if change in {"finish", "fail"} else "pause"
    return append(rows, row, [Event(kind, data={"state": after})], change)
