"""On a disk that is full at any write, upkeep ends with a typed error, and the journal and its copies stay whole."""

from __future__ import annotations

import os
import random
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ez_ptc import Journal, JournalError
from tests.journal.sample_runs import NOTHING_KEPT, exported, write_run

_KEPT = Path(__file__).parent.parent / "kept" / "version-1.db"
_PAGE_BYTES = 4096


def _outcome(work: Callable[[Path], object], path: Path, max_bytes: int) -> str:
    """Do work in a process whose files may have so many bytes; return "done", or its JournalError."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, resource.RLIM_INFINITY))
        try:
            work(path)
            text = "done"
        except JournalError as error:
            text = str(error)
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read().decode()
    assert os.waitpid(pid, 0)[1] == 0
    return text


def _require_refused(outcome: str, path: Path) -> None:
    assert f"cannot use the journal {path}: " in outcome or f"cannot back up to {path}" in outcome
    assert "nothing was recorded" in outcome or "the journal itself is unchanged" in outcome


def _sizes(path: Path) -> range:
    """Return sizes from nothing to more than the file and its log need."""
    return range(0, path.stat().st_size + 20 * _PAGE_BYTES, 5 * _PAGE_BYTES)


@pytest.fixture
def journal_of_six(tmp_path: Path) -> tuple[Path, dict[str, list[str]]]:
    """Return the file of a journal with six runs, of which four have ended, and its events."""
    with Journal(tmp_path / "six.db") as journal:
        for number in range(6):
            write_run(journal, random.Random(number), calls=20, ended=number < 4)
        return tmp_path / "six.db", exported(journal)


def _copies(path: Path) -> list[tuple[int, Path]]:
    """Return a copy of a closed journal for each size, in a folder of its own."""
    copies: list[tuple[int, Path]] = []
    for size in _sizes(path):
        folder = path.parent / str(size)
        folder.mkdir()
        copies.append((size, Path(shutil.copy(path, folder / "runs.db"))))
        copies[-1][1].chmod(0o600)
    return copies


@pytest.mark.parametrize("work", ["prune", "backup", "export", "abandon"])
@pytest.mark.sampled(every=0)
def test_upkeep_on_a_full_disk_leaves_the_journal_whole(
    work: str, journal_of_six: tuple[Path, dict[str, list[str]]]
) -> None:
    path, before = journal_of_six
    resumable = next(iter(before))
    ended = list(before)[-1]
    works: dict[str, Callable[[Path], object]] = {
        "prune": lambda path: Journal(path).prune(NOTHING_KEPT),
        "backup": lambda path: Journal(path).backup(path.with_name("runs.db-backup")),
        "export": lambda path: list(Journal(path).export(ended)),
        "abandon": lambda path: Journal(path).abandon(resumable, "no use"),
    }
    outcomes: list[bool] = []
    for size, copy in _copies(path):
        outcome = _outcome(works[work], copy, size)
        is_done = outcome == "done"
        outcomes.append(is_done)
        if not is_done:
            _require_refused(outcome, copy)
        backup = copy.with_name("runs.db-backup")
        assert not list(copy.parent.glob("*partial*"))
        assert backup.exists() == (is_done and work == "backup")
        if backup.exists():
            with Journal(backup) as restored:
                assert exported(restored) == before
        with Journal(copy) as journal:
            journal.verify()
            present = exported(journal)
            if is_done or work == "prune":  # which may have removed some of the runs
                assert len(present) >= (2 if work == "prune" else 6)
            else:
                assert present == before
            if not is_done:
                works[work](copy)  # there is space again
            assert journal.verify() == (2 if work == "prune" else 6)
            assert (journal.run(resumable).state == "failed") == (work == "abandon")
    assert set(outcomes) == {True, False}


def test_migration_on_a_full_disk_is_done_by_the_next_one(tmp_path: Path) -> None:
    path = Path(shutil.copy(_KEPT, tmp_path / "kept.db"))
    outcomes: list[bool] = []
    for size, copy in _copies(path):
        outcome = _outcome(lambda path: Journal(path).runs(), copy, size)
        outcomes.append(outcome == "done")
        if outcome != "done":
            _require_refused(outcome, copy)
        with Journal(copy) as journal:
            assert journal.verify() == 5
    assert set(outcomes) == {True, False}
