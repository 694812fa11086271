"""Rows of runs: an event writes no more than it changes."""

import contextlib
import sqlite3

import pytest

from ez_ptc.journal.chain import Event
from ez_ptc.journal.rows import append, find_run, insert_run
from ez_ptc.journal.states import RunChange
from ez_ptc.journal.storage.rows import SQLiteRows
from ez_ptc.journal.storage.tables import create_tables


@pytest.mark.parametrize(("change", "is_rewritten"), [("record", False), ("pause", True)])
def test_index_of_states_is_rewritten_with_the_state(change: RunChange, is_rewritten: bool) -> None:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        create_tables(database)
        rows = SQLiteRows(database)
        row = insert_run(rows, "r1", "", "owner", [Event("start", data={})])
        statements: list[str] = []
        database.set_trace_callback(statements.append)
        changed = append(rows, row, [Event("intent", "1")], change)
        database.set_trace_callback(None)

        assert any("state =" in statement for statement in statements) is is_rewritten
        assert find_run(rows, "r1") == changed
