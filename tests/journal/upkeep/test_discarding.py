"""Every listed run can be ended: a damaged one is abandoned if that can be recorded, or discarded alone."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ez_ptc import Journal, JournalCorruptError, JournalError, Toolkit, ez_tool
from ez_ptc.cli.app import main
from ez_ptc.errors import RunInProgressError
from ez_ptc.journal.stores.protocol import RunRows
from tests.journal.rewriting import change_row, erase_events
from tests.journal.sample_runs import NOTHING_KEPT, exported, write_run

_effects: list[int] = []


@ez_tool
def charge(amount: int) -> str:
    """Charge an amount."""
    _effects.append(amount)
    return "charged"


@ez_tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    _effects.append(amount)
    return "paid"


_PROGRAM = "charge(1); pay(2)"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "runs.db", retention=None) as journal:
        yield journal


@pytest.fixture
def toolkit(journal: Journal) -> Iterator[Toolkit]:
    _effects.clear()
    with Toolkit([charge, pay], journal=journal) as toolkit:
        yield toolkit


def _erase(journal: Journal, run_id: str) -> None:
    def write(rows: RunRows) -> None:
        row = rows.find(run_id)
        assert row is not None
        erase_events(rows, row)

    journal.store.transact(write)


_DAMAGE: dict[str, Callable[[Journal, str], object]] = {
    "unknown state": lambda journal, run_id: change_row(journal, run_id, state="5"),
    "state of a later version": lambda journal, run_id: change_row(journal, run_id, state="suspended"),
    "no state": lambda journal, run_id: change_row(journal, run_id, state=""),
    "state of an end": lambda journal, run_id: change_row(journal, run_id, state="done"),
    "other owner": lambda journal, run_id: change_row(journal, run_id, owner="me", epoch=7),
    "fewer events": lambda journal, run_id: change_row(journal, run_id, events=2),
    "more events": lambda journal, run_id: change_row(journal, run_id, events=1 << 40),
    "too many events": lambda journal, run_id: change_row(journal, run_id, events=(1 << 63) - 1),
    "negative events": lambda journal, run_id: change_row(journal, run_id, events=-1),
    "other head": lambda journal, run_id: change_row(journal, run_id, head=b"", state="5"),
    "no events": _erase,
}


@pytest.mark.parametrize("damage", _DAMAGE)
def test_every_damaged_run_is_ended_alone(damage: str, toolkit: Toolkit, journal: Journal) -> None:
    others = [write_run(journal, random.Random(number), ended=bool(number)) for number in range(2)]
    toolkit.execute(_PROGRAM, run_id="r")
    others.append(str(toolkit.execute(_PROGRAM).run_id))
    before = {run_id: [*journal.export(run_id)] for run_id in others}
    _DAMAGE[damage](journal, "r")
    assert [run.id for run in journal.runs("damaged")] == ["r"]
    with contextlib.suppress(JournalError):
        journal.abandon("r", "it is damaged")
    if journal.runs("damaged"):
        journal.discard("r")
        with pytest.raises(JournalError, match="it was pruned"):
            journal.discard("r")
    assert [run.id for run in journal.runs("damaged")] == []
    assert {run_id: [*journal.export(run_id)] for run_id in others} == before
    assert journal.verify() in {3, 4}
    for use in (lambda: toolkit.resume("r"), lambda: toolkit.execute(_PROGRAM, run_id="r").raise_for_error()):
        with pytest.raises(Exception, match=r"pruned|is failed|was abandoned"):
            use()
    assert _effects == [1, 1]
    assert "r" not in {run.id for run in journal.claimable()}


@pytest.mark.parametrize("state", ["5", "suspended", ""])
def test_run_in_an_unknown_state_keeps_its_history(state: str, toolkit: Toolkit, journal: Journal) -> None:
    toolkit.execute(_PROGRAM, run_id="r")
    history = [*journal.export("r")]
    change_row(journal, "r", state=state)
    journal.abandon("r", "a later version wrote it", by="Ann")
    run = journal.run("r")
    assert run.state == "failed"
    assert run.result is not None
    assert "abandoned by Ann: a later version wrote it; row 1 of the table runs" in str(run.result.error)
    assert [*journal.export("r")][:-1] == history
    assert journal.verify() == 1


@pytest.mark.parametrize("ended", [True, False])
def test_run_that_can_be_read_is_never_discarded(ended: bool, journal: Journal) -> None:
    run_id = write_run(journal, random.Random(1), ended=ended)
    before = exported(journal)
    with pytest.raises(JournalError, match=r"can be read, and is kept: end it with abandon\(run_id, reason\)"):
        journal.discard(run_id)
    with pytest.raises(JournalError, match="has no run 'unknown'"):
        journal.discard("unknown")
    assert exported(journal) == before


def test_damaged_run_of_a_live_owner_is_not_discarded(journal: Journal) -> None:
    run_id = write_run(journal, random.Random(1), ended=False)
    row, _ = journal.claim(run_id, {}, lambda record, decisions: None)
    change_row(journal, run_id, state="5")
    with Journal(journal.name) as other:
        for user in (journal, other):
            with pytest.raises(RunInProgressError):
                user.discard(run_id)
        journal.store.locks.disown(row.number)
        other.discard(run_id)
    assert journal.runs() == []


def test_run_repaired_meanwhile_is_kept(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = write_run(journal, random.Random(1))
    before = exported(journal)
    change_row(journal, run_id, state="5")
    with Journal(journal.name) as other:
        own = other.store.locks.own

        def repair(*args: Any) -> bool:
            change_row(journal, run_id, state="done")
            return own(*args)

        monkeypatch.setattr(other.store.locks, "own", repair)
        with pytest.raises(JournalError, match="can be read, and is kept"):
            other.discard(run_id)
    assert exported(journal) == before


def test_texts_about_damaged_runs_name_the_way_to_end_them(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    run_id = write_run(journal, random.Random(1), ended=False)
    change_row(journal, run_id, events=2)
    with pytest.raises(ValueError, match=r"one at a time, by their ids: use discard\(run_id\)"):
        journal.prune(NOTHING_KEPT, states=["damaged"])
    assert journal.prune(NOTHING_KEPT, states=["paused"]) == 0
    assert caplog.messages[-1].endswith("; discard(run_id) removes it")
    with pytest.raises(
        JournalCorruptError, match=r"nothing can be added to run .* ez-ptc runs discard, removes it alone"
    ):
        journal.abandon(run_id, "it is damaged")
    journal.discard(run_id)
    assert caplog.messages[-1] == f"the damaged run {run_id} was discarded: row 1 of the table runs"


def _damage_page(journal: Journal) -> None:
    """Write runs, and overwrite a page with events of theirs, as a disk may."""
    for number in range(6):
        write_run(journal, random.Random(number), calls=12)
    journal.close()
    with contextlib.closing(sqlite3.connect(journal.path)) as database:
        ((size,),) = database.execute("PRAGMA page_size").fetchall()
    content = bytearray(journal.path.read_bytes())
    pages = range(size, len(content), size)
    last = [page for page in pages if content[page : page + size].count(b"intent") > 1][-1]
    content[last : last + size] = bytes(size)
    journal.path.write_bytes(content)


def test_run_on_a_damaged_page_says_how_to_save_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Journal(tmp_path / "runs.db", retention=None) as journal:
        _damage_page(journal)
        damaged = [run.id for run in journal.runs("damaged")]
        readable = {run.id for run in journal.runs("done")}
        assert damaged
        assert readable
        for run_id in damaged:
            with pytest.raises(JournalCorruptError, match="ez-ptc runs copy JOURNAL NEW_FILE saves"):
                journal.discard(run_id)
        before = {run_id: [*journal.export(run_id)] for run_id in readable}
        copy = tmp_path / "copy.db"
        assert main(["runs", "copy", str(journal.path), str(copy)]) == 2
        assert f"{len(damaged)} damaged ones were left out" in capsys.readouterr().err
        with Journal(copy) as saved:
            assert {run.id: [*saved.export(run.id)] for run in saved.runs()} == before
            assert saved.verify() == len(before)


def test_damaged_row_with_the_number_of_a_pruned_run_is_discarded(journal: Journal) -> None:
    pruned, kept = (write_run(journal, random.Random(number)) for number in range(2))
    row = journal.store.read(lambda rows: rows.find(pruned))
    assert row is not None
    journal.prune(NOTHING_KEPT)
    journal.store.transact(
        lambda rows: cast("Any", rows).execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (row.number, "x", *row[2:])
        )
    )
    assert [run.id for run in journal.runs("damaged")] == ["x"]
    journal.discard("x")
    assert journal.runs() == []
    assert journal.verify() == 0
    with pytest.raises(JournalError, match="it was pruned"):
        journal.run(kept)
