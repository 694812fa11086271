"""Old runs go a few at a time and make room, and a run that cannot go on can be ended."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from ez_ptc import Journal, JournalError, Toolkit, ez_tool
from ez_ptc.errors import DecisionError, RunInProgressError
from tests.journal.kill_points import KillPoints
from tests.journal.sample_runs import NOTHING_KEPT, exported, write_run

_MANY_DAYS = 400 * 86_400


@ez_tool
def make_text(number: int) -> str:
    """Make a text of 100,000 characters that no other one equals."""
    return f"{number:09d}" + os.urandom(50_000).hex()


def _fill(toolkit: Toolkit) -> None:
    for number in range(12):
        toolkit.execute(f"for number in range({number}, {number + 3}): make_text(number)")


def test_room_made_by_pruning_counts(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "runs.db", max_bytes=1_000_000) as journal,
        Toolkit([make_text], journal=journal) as toolkit,
    ):
        for _ in range(3):
            with pytest.raises(JournalError, match=r"bytes in use, more than max_bytes=1,000,000: prune\(\) it"):
                _fill(toolkit)
            assert journal.prune(NOTHING_KEPT)
            assert toolkit.execute("make_text(1)").success
        assert journal.verify() == 1


@pytest.mark.parametrize("is_damaged", [False, True])
@pytest.mark.parametrize(("calls", "size"), [(1, 3_000_000), (30, 100_000)])
def test_large_results_are_removed_by_writing_little(
    calls: int, size: int, *, is_damaged: bool, tmp_path: Path
) -> None:
    with Journal(tmp_path / "runs.db", retention=None) as journal:
        run_id = write_run(journal, random.Random(1), calls=calls, size=size)
        journal.store.make_room()
        if is_damaged:
            journal.store.transact(lambda rows: cast("Any", rows).execute("UPDATE events SET path = 'x'"))
            journal.discard(run_id)
        else:
            assert journal.prune(NOTHING_KEPT) == 1
        # Whoever writes waits for it.
        assert journal.path.with_name("runs.db-wal").stat().st_size < 300_000
        assert journal.verify() == 0


def test_pruned_results_are_gone_after_a_vacuum(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Journal(path) as journal:
        write_run(journal, random.Random(1), calls=5, size=100_000)
        write_run(journal, random.Random(2), ended=False)
        before = exported(journal)
        assert journal.prune(NOTHING_KEPT) == 1
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("VACUUM")
    assert path.stat().st_size < 100_000
    with Journal(path) as journal:
        assert journal.verify() == 1
        assert exported(journal).items() <= before.items()
        assert write_run(journal, random.Random(3)) in exported(journal)


def test_log_counts_as_room_in_use(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "runs.db", max_bytes=1_000_000) as journal,
        Toolkit([make_text], journal=journal) as toolkit,
    ):
        toolkit.execute("make_text(0)")
        reader = sqlite3.connect(journal.path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM runs").fetchall()  # as long as it reads, the log cannot be emptied
        with pytest.raises(JournalError, match="bytes in use"):
            _fill(toolkit)
        reader.close()
        assert journal.prune(NOTHING_KEPT)
        assert toolkit.execute("make_text(1)").success


def test_others_write_between_the_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ez_ptc.journal.upkeep.pruning._MAX_SECONDS", 0.0)
    with Journal(tmp_path / "runs.db", retention=None) as journal, Journal(journal.path, retention=None) as other:
        for number in range(6):
            write_run(journal, random.Random(number), ended=number != 3)
        added: list[str] = []

        def write(_: float) -> None:
            added.append(write_run(other, random.Random(9), ended=False))

        monkeypatch.setattr(time, "sleep", write)
        assert journal.prune(NOTHING_KEPT) == 5
        assert len(added) == 4
        assert {run.id for run in journal.runs("resumable")} >= set(added)
        assert journal.verify() == 5


def test_run_that_changes_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ez_ptc.journal.upkeep.pruning._MAX_SECONDS", 0.0)
    with Journal(tmp_path / "runs.db") as journal:
        ids = [write_run(journal, random.Random(number), ended=False) for number in range(3)]
        claimed = [journal.claim(ids[1], {}, lambda record, decisions: None)[0]]
        changed = [False]

        def change(_: float) -> None:
            if not changed[0]:
                journal.store.locks.disown(journal.claim(ids[2], {}, lambda record, decisions: None)[0].number)
            changed[0] = True

        monkeypatch.setattr(time, "sleep", change)
        journal.prune(NOTHING_KEPT, states=("resumable",))
        assert {run.id for run in journal.runs()} == {ids[1], *ids[2:]}
        journal.store.locks.disown(claimed[0].number)
        assert journal.verify() == 2


def test_contents_in_use_stay(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        same = [write_run(journal, random.Random(5), calls=6, ended=number == 0) for number in range(2)]
        before = exported(journal)
        assert journal.prune(NOTHING_KEPT) == 1
        assert exported(journal) == {same[1]: before[same[1]]}
        assert journal.verify() == 1


@pytest.mark.parametrize("ahead", [_MANY_DAYS, 20 * _MANY_DAYS])
def test_clock_that_is_ahead_prunes_nothing(ahead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    with Journal(tmp_path / "runs.db") as journal, Toolkit([], journal=tmp_path / "runs.db") as toolkit:
        kept = [write_run(journal, random.Random(number)) for number in range(2)]
        monkeypatch.setattr(time, "time", lambda: now + ahead)
        assert journal.prune() == 0
        toolkit.execute("1")
        assert {run.id for run in journal.runs()} >= set(kept)
        monkeypatch.undo()


def test_age_counts_from_the_newest_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    with Journal(tmp_path / "runs.db", retention=None) as journal:
        for days in (_MANY_DAYS, 86_400, 0):
            assert journal.prune() == 0
            monkeypatch.setattr(time, "time", lambda days=days: now - days)
            write_run(journal, random.Random(days))
        assert journal.prune() == 1
        assert journal.prune(timedelta(days=1, hours=1)) == 0


@pytest.mark.parametrize("hours", [0, 20])
@pytest.mark.parametrize("is_corrected", [False, True])
def test_programs_under_a_clock_that_is_ahead_count_for_nothing(
    is_corrected: bool, hours: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    with Journal(tmp_path / "runs.db") as journal:
        for days in (30, 2, 0):
            monkeypatch.setattr(time, "time", lambda days=days: now - days * 86_400)
            write_run(journal, random.Random(days))
        waiting = write_run(journal, random.Random(3), ended=False)
        for passed in range(0, hours + 1, 10):
            monkeypatch.setattr(time, "time", lambda passed=passed: now + _MANY_DAYS + passed * 3600)
            write_run(journal, random.Random(4))  # the first program of each hour prunes by itself
            journal.store.locks.disown(journal.claim(waiting, {}, lambda record, decisions: None)[0].number)
            assert journal.prune() == 0
        if is_corrected:
            monkeypatch.setattr(time, "time", lambda: now + 3600)
            write_run(journal, random.Random(5))
        assert journal.prune() == 0
        assert journal.prune(timedelta(days=29)) == 1
        assert journal.prune(timedelta(days=1, hours=1)) == 1


def _killed(work: Callable[[], object], last: int) -> bool:
    """Do work in a process that is killed at a point; return whether it got to its end."""
    pid = os.fork()
    if not pid:
        points = KillPoints(last)
        points.begin()
        work()
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("work", ["prune", "backup", "export", "abandon"])
@pytest.mark.sampled(every=0)
def test_killed_work_leaves_the_journal_whole(work: str, tmp_path: Path) -> None:
    last, is_done = 0, False
    while not is_done:
        last += 1
        folder = tmp_path / str(last)
        folder.mkdir()
        path = folder / "runs.db"
        with Journal(path) as journal:
            ids = [write_run(journal, random.Random(number), ended=number < 2) for number in range(3)]
            before = exported(journal)
        works: dict[str, Callable[[], object]] = {
            "prune": lambda path=path: Journal(path).prune(NOTHING_KEPT),
            "backup": lambda path=path: Journal(path).backup(path.with_name("copy.db")),
            "export": lambda path=path, ids=ids: list(Journal(path).export(ids[0])),
            "abandon": lambda path=path, ids=ids: Journal(path).abandon(ids[2], "no use"),
        }
        is_done = _killed(works[work], last)
        with Journal(path) as journal:
            journal.verify()
            if work == "prune":
                journal.prune(NOTHING_KEPT)
                assert exported(journal) == {ids[2]: before[ids[2]]}
            elif work == "abandon":
                if journal.run(ids[2]).state != "failed":
                    journal.abandon(ids[2], "no use")
                assert journal.run(ids[2]).state == "failed"
            else:
                assert exported(journal) == before
        if path.with_name("copy.db").exists():
            with Journal(path.with_name("copy.db")) as copy:
                assert exported(copy) == before
    assert last > 10


@ez_tool(requires_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def test_abandoned_run_has_failed_for_good(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit([pay], journal=journal) as toolkit:
        paused = toolkit.execute("print('so far')\nprint(pay(1))", run_id="job-1")
        assert paused.run_id is not None
        journal.abandon(paused.run_id, "the customer has gone", by="Ann")
        run = journal.run(paused.run_id)
        assert (run.state, run.pending) == ("failed", ())
        assert run.result is not None
        assert (run.result.output, run.result.error) == (
            "so far\n",
            "the run was abandoned by Ann: the customer has gone",
        )
        again = toolkit.execute("print('so far')\nprint(pay(1))", run_id="job-1")
        assert (again.status, again.error) == ("failed", run.result.error)
        for use in (lambda: toolkit.resume("job-1"), lambda: journal.abandon("job-1", "again")):
            with pytest.raises(JournalError, match="job-1 is failed"):
                use()
        with pytest.raises(DecisionError):
            journal.decide("job-1", {paused.pending[0].id: True})
        with pytest.raises(JournalError, match="was abandoned before its program had ended"):
            toolkit.replay("job-1")
        assert journal.verify() == 1


def test_session_goes_on_without_an_abandoned_program(tmp_path: Path) -> None:
    with Toolkit([pay], journal=tmp_path / "runs.db") as toolkit:
        with toolkit.session() as session:
            session.execute("total = 1")
            paused = session.execute("total = pay(1)")
            name = session.id
        assert paused.run_id is not None
        toolkit.open_journal().abandon(paused.run_id, "not needed")
        with toolkit.session(name) as session:
            assert session.execute("total").return_value == 1


def test_executed_or_unknown_run_is_not_abandoned(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        run_id = write_run(journal, random.Random(1), ended=False)
        row, _ = journal.claim(run_id, {}, lambda record, decisions: None)
        for user in (journal, Journal(journal.path)):
            with pytest.raises(RunInProgressError):
                user.abandon(run_id, "no use")
        journal.store.locks.disown(row.number)
        with pytest.raises(JournalError, match="no run 'unknown'"):
            journal.abandon("unknown", "no use")
        with pytest.raises(ValueError, match="expected the reason"):
            journal.abandon(run_id, " ")
        assert journal.run(run_id).state == "resumable"


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"older_than": 30}, "older_than must be a timedelta, got 30: write timedelta"),
        ({"older_than": None}, "older_than must be a timedelta, got None"),
        ({"states": "finished"}, "unknown state 'finished'; expected one of running"),
        ({"states": ["done", 7]}, "unknown state 7; expected one of running"),
    ],
)
def test_wrong_arguments_of_prune_are_named(keywords: dict[str, Any], message: str, tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal, pytest.raises((TypeError, ValueError), match=message):
        journal.prune(**keywords)


def test_one_state_may_be_given_as_text(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal, Toolkit([], journal=journal) as toolkit:
        toolkit.execute("1")
        assert journal.prune(timedelta(0), states="failed") == 0
        assert journal.prune(timedelta(0), states="done") == 1


def test_wrong_retention_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="retention must be a timedelta, got 30: write timedelta"):
        Journal(tmp_path / "runs.db", retention=cast("Any", 30))
