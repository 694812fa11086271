"""A row of the table `runs` whose types are wrong concerns its own run alone, as does a damaged page of its events."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from ez_ptc import Journal, JournalCorruptError, JournalError
from ez_ptc.journal.upkeep.copying import copy_runs
from ez_ptc.journal.upkeep.listing import find_ids
from tests.journal.sample_runs import NOTHING_KEPT, START, write_run

_SCHEMA = "SELECT sql FROM sqlite_schema WHERE name = 'runs'"
_COLUMNS = "session, state, created, changed, epoch, owner, events, head"


def _add_wrong_rows(path: Path, column: str, value: str, count: int) -> None:
    """Copy the last run, with another value in a column, as no statement could in a strict table."""
    values = _COLUMNS.replace(column, value, 1)
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
        "row 2 of the table runs was damaged or changed: its types are wrong; discard(run_id) removes it"
    )


def test_run_whose_state_has_a_wrong_type_is_not_left_out_of_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Journal(path) as journal:
        write_run(journal, random.Random(1))
    _add_wrong_rows(path, "state", "CAST(state AS BLOB)", 1)
    with (
        Journal(path) as journal,
        Journal(tmp_path / "copy.db") as other,
        pytest.raises(JournalCorruptError, match="row 2 of the table runs was damaged or changed"),
    ):
        copy_runs(journal.store, other.store)


_WRONG_VALUES = {
    "id": ("x'2e2e'", "CAST(x'61ff' AS TEXT)", "7", "NULL"),
    "session": ("x'61'", "CAST(x'ff' AS TEXT)", "7"),
    "state": ("x'61'", "'done'", "'strange'", "CAST(x'ff' AS TEXT)", "1.5"),
    "created": ("'now'", "1e300", "-1e300", "9e999", "7", "NULL"),
    "changed": ("'now'", "1e300", "-1e300", "9e999", "7", "NULL"),
    "epoch": ("NULL", "'x'", "-1", "1.5"),
    "owner": ("x''", "CAST(x'ff' AS TEXT)", "NULL"),
    "events": ("NULL", "1.5", "1 << 62", "-1"),
    "head": ("'a'", "x''", "NULL"),
    "number": ("9223372036854775807", "1 << 62", "-5", "0"),
}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], str]:
    """Return a journal that takes any type, with three runs, of which the second has not ended; and its schema."""
    path = tmp_path_factory.mktemp("three") / "runs.db"
    with Journal(path) as journal:
        ids = [write_run(journal, random.Random(number), ended=number != 1) for number in range(3)]
    with contextlib.closing(sqlite3.connect(path)) as database:
        ((schema,),) = database.execute(_SCHEMA).fetchall()
        _set_schema(database, schema.replace("STRICT", "").replace("NOT NULL", ""))
    return path, ids, schema


_each_wrong_value = pytest.mark.parametrize(
    ("column", "value"), [(name, value) for name in _WRONG_VALUES for value in _WRONG_VALUES[name]]
)


@pytest.fixture
def one_damaged(column: str, value: str, three: tuple[Path, list[str], str], tmp_path: Path) -> tuple[Path, list[str]]:
    """Return a copy of that journal with a wrong value in the row of its second run, and the ids of all."""
    path, ids, schema = three
    path = Path(shutil.copy(path, tmp_path))
    path.chmod(0o600)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"UPDATE runs SET {column} = {value} WHERE number = 2")
        database.commit()
        _set_schema(database, schema)
    return path, ids


@pytest.mark.sampled(every=6)
@_each_wrong_value
def test_row_of_wrong_values_is_listed_as_damaged(column: str, one_damaged: tuple[Path, list[str]]) -> None:
    path, ids = one_damaged
    with Journal(path) as journal:
        states = {run.id: run.state for run in journal.runs()}
        (damaged,) = journal.runs("damaged")
        assert states == {ids[0]: "done", ids[2]: "done", damaged.id: "damaged"}
        assert column == "id" or damaged.id == ids[1]
        assert damaged.id in repr(damaged)
        assert len(journal.runs(limit=3, before=ids[2])) + len(journal.runs(limit=1)) >= 2
        for use in (lambda: journal.run(damaged.id), lambda: damaged.result, damaged.to_html):
            with pytest.raises(JournalError):
                use()
        assert journal.claimable() == []
        with pytest.raises(JournalCorruptError):
            journal.verify()
        assert [*journal.watch(timeout=0)] == []


_PAGE_BYTES = 4096
_INDEX_LEAF = 10
_TABLE_PAGES = (5, 13)


@pytest.mark.parametrize("ended", [True, False])
def test_damaged_page_of_events_concerns_its_run_alone(ended: bool, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Journal(path, retention=None) as journal:
        ids = [write_run(journal, random.Random(number), calls=20, ended=ended) for number in range(3)]
    content = path.read_bytes()
    leaves = [place for place in range(0, len(content), _PAGE_BYTES) if content[place] == _INDEX_LEAF]
    damaged: list[list[str]] = []
    for number, place in enumerate(leaves):
        copied = tmp_path / f"{number}.db"
        copied.touch(0o600)
        copied.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        with contextlib.suppress(JournalCorruptError), Journal(copied) as journal:
            runs = journal.runs()
            assert sorted(run.id for run in runs) == sorted(ids)
            damaged.append([run.id for run in runs if run.state == "damaged"])
            assert len(journal.claimable()) == (0 if ended else 3 - len(damaged[-1]))
    assert {(run_id,) for run_id in ids} <= {tuple(names) for names in damaged}


def test_damaged_page_of_runs_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    sessions = {1: "s", 59: "s"}
    with Journal(path, retention=None) as journal:
        ids = [
            write_run(journal, random.Random(1), calls=0, ended=number % 5 > 0, session=sessions.get(number, ""))
            for number in range(60)
        ]
    content = path.read_bytes()
    damaged: list[set[str]] = []
    for place in (place for place in range(_PAGE_BYTES, len(content), _PAGE_BYTES) if content[place] in _TABLE_PAGES):
        copied = tmp_path / f"{place}.db"
        copied.touch(0o600)
        copied.write_bytes(content[:place] + b"\xff" + content[place + 1 :])
        with contextlib.suppress(JournalCorruptError), Journal(copied, retention=None) as journal:
            runs = journal.runs()
            assert [run.id for run in runs] == ids[::-1]
            names = {run.id for run in runs if run.state == "damaged"}
            ended = {run_id for run_id in ids if run_id not in {*ids[::5], *names}}
            assert [run.id for run in journal.claimable(60)] == [run_id for run_id in ids[::5] if run_id not in names]
            assert {run.id for run in journal.runs("done")} == ended
            damaged.append(names)
            with Journal(tmp_path / f"{place}-copy.db") as other:
                with contextlib.suppress(JournalCorruptError) if names else contextlib.nullcontext():
                    copy_runs(journal.store, other.store)
                # The session of its first run has a hole.
                assert {run.id for run in other.runs()} == (ended - {ids[59]} if ids[1] in names else ended)
    assert set[str]().union(*damaged) == {*ids}


@pytest.mark.sampled(every=6)
@_each_wrong_value
def test_damaged_row_is_discarded_alone(column: str, one_damaged: tuple[Path, list[str]]) -> None:
    path, ids = one_damaged
    with Journal(path) as journal:
        before = [[*journal.export(run_id)] for run_id in (ids[0], ids[2])]
        (damaged,) = journal.runs("damaged")
        assert journal.store.read(lambda rows: find_ids(rows, damaged.id)) == [damaged.id]
        journal.discard(damaged.id)
        assert {run.id for run in journal.runs()} == {ids[0], ids[2]}
        assert [[*journal.export(run_id)] for run_id in (ids[0], ids[2])] == before
        with pytest.raises(JournalError, match="was pruned"):
            journal.discard(damaged.id)
        with pytest.raises(JournalError, match="there is a run"):
            journal.start("print(1)", START, run_id=damaged.id)
        if column != "number":
            assert journal.verify() == 2
