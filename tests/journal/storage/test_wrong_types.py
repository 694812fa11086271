"""A row of the table `runs` whose types are wrong concerns its own run alone."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from pathlib import Path

import pytest

from ez_ptc import Journal
from tests.journal.sample_runs import NOTHING_KEPT, write_run

_SCHEMA = "SELECT sql FROM sqlite_schema WHERE name = 'runs'"
_COLUMNS = "session, state, created, changed, epoch, owner, events, head"


def _add_wrong_rows(path: Path, column: str, value: str, count: int) -> None:
    """Copy the last run, with another value in a column, as no statement could in a strict table."""
    values = _COLUMNS.replace(column, value)
    with contextlib.closing(sqlite3.connect(path)) as database:
        ((before,),) = database.execute(_SCHEMA).fetchall()
        _set_schema(database, before.replace("STRICT", "").replace("NOT NULL", ""))
    with contextlib.closing(sqlite3.connect(path)) as database:
        for number in range(count):
            copied = f"SELECT 'wrong-{number}', {values} FROM runs LIMIT 1"
            database.execute(f"INSERT INTO runs (id, {_COLUMNS}) {copied}")
        database.commit()
        _set_schema(database, before)


def _set_schema(database: sqlite3.Connection, text: str) -> None:
    database.execute("PRAGMA writable_schema = ON")
    database.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'runs'", (text,))
    database.commit()


@pytest.mark.parametrize(
    ("column", "value"),
    [("session", "x'61'"), ("changed", "'now'"), ("epoch", "NULL"), ("owner", "x''"), ("head", "'a'")],
)
@pytest.mark.parametrize("count", [1, 130])
def test_row_of_wrong_types_hides_no_resumable_run(
    count: int, column: str, value: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "runs.db"
    with Journal(path) as journal:
        before = write_run(journal, random.Random(1), ended=False)
    _add_wrong_rows(path, column, value, count)
    with Journal(path) as journal:
        after = write_run(journal, random.Random(2), ended=False)
        assert [run.id for run in journal.claimable()] == [before, after]
    assert len(caplog.records) == count
    assert caplog.records[0].getMessage() == (
        "run wrong-0 is left out of those to go on with: "
        "row 2 of the table runs was damaged or changed: its types are wrong"
    )


@pytest.mark.parametrize(
    ("column", "value"), [("session", "x'61'"), ("epoch", "NULL"), ("owner", "x''"), ("head", "'a'")]
)
@pytest.mark.parametrize("count", [1, 210])
def test_row_of_wrong_types_holds_no_removal_up(
    count: int, column: str, value: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "runs.db"
    with Journal(path) as journal:
        write_run(journal, random.Random(1))
    _add_wrong_rows(path, column, value, count)
    with Journal(path) as journal:
        write_run(journal, random.Random(2))
        assert journal.prune(NOTHING_KEPT) == 2
    assert len(caplog.records) == count
    assert caplog.records[0].getMessage() == (
        "run wrong-0 is left out of those to remove: "
        "row 2 of the table runs was damaged or changed: its types are wrong"
    )
