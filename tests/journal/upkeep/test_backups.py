"""A backup is complete at any moment, and a copy that is not says so."""

from __future__ import annotations

import os
import random
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ez_ptc import Journal, JournalCorruptError, JournalError
from tests.journal.sample_runs import exported, write_run


def _copy(folder: Path, target: Path, *suffixes: str) -> Path:
    target.mkdir()
    for suffix in suffixes:
        shutil.copy(folder / f"runs.db{suffix}", target / f"runs.db{suffix}")
    return target / "runs.db"


def test_backup_of_an_open_journal_is_complete(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        for number in range(4):
            write_run(journal, random.Random(number), ended=number % 2 == 0)
            copy = tmp_path / f"backup-{number}.db"
            journal.backup(copy)
            assert copy.stat().st_mode & 0o777 == 0o600
            with Journal(copy) as restored:
                assert restored.verify() == number + 1
                assert exported(restored) == exported(journal)
    assert not list(tmp_path.glob("*partial*"))


def test_backup_beside_writers_is_one_moment(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        write_run(journal, random.Random(0))
        done = threading.Event()

        def write() -> None:
            for number in range(30):
                write_run(journal, random.Random(number))
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        copies = 0
        while not done.is_set() or not copies:
            journal.backup(tmp_path / f"{copies}.db")
            copies += 1
        writer.join(60)
        for number in range(copies):
            with Journal(tmp_path / f"{number}.db") as restored:
                restored.verify()
        assert journal.verify() == 31


def test_one_of_two_backups_at_once_gets_the_name(tmp_path: Path) -> None:
    """Of two journals, to the same new file: neither replaces the other."""
    barrier = threading.Barrier(2)

    def back_up(journal: Journal, target: Path) -> str:
        """Return the error, or "" without one."""
        barrier.wait(60)
        try:
            journal.backup(target)
        except JournalError as error:
            return str(error)
        return ""

    with Journal(tmp_path / "a.db") as one, Journal(tmp_path / "b.db") as other, ThreadPoolExecutor(2) as pool:
        for journal in (one, other):
            write_run(journal, random.Random(journal is one))
        for number in range(20):
            target = tmp_path / f"backup-{number}.db"
            errors = list(pool.map(back_up, (one, other), (target, target)))
            assert errors.count("") == 1
            assert "it exists" in "".join(errors)
            with Journal(target) as restored:
                assert exported(restored) == exported((one, other)[errors.index("")])


def test_backup_replaces_no_file(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        write_run(journal, random.Random(1))
        (tmp_path / "link").symlink_to(tmp_path / "nothing")
        for name in ("runs.db", "link"):
            with pytest.raises(JournalError, match="it exists; give a new name"):
                journal.backup(tmp_path / name)
        with pytest.raises(JournalError, match="No such file"):
            journal.backup(tmp_path / "missing" / "copy.db")
        with pytest.raises(JournalError, match="got the URI"):
            journal.backup("file:copy.db")
        assert journal.verify() == 1


@pytest.mark.parametrize("runs", [1, 3])
def test_copy_without_its_log_is_refused(runs: int, tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as journal:
        for number in range(runs):
            write_run(journal, random.Random(number))
        alone = _copy(tmp_path, tmp_path / "alone", "")
        with_lock = _copy(tmp_path, tmp_path / "with_lock", "", "-lock")
        whole = _copy(tmp_path, tmp_path / "whole", "", "-wal")
        for path in (alone, with_lock):
            with pytest.raises(JournalCorruptError, match=r"its last records are"), Journal(path) as copy:
                copy.runs()
        with Journal(whole) as copy:
            assert exported(copy) == exported(journal)


def test_copy_of_a_closed_journal_is_complete(tmp_path: Path) -> None:
    with Journal(tmp_path / "runs.db") as first, Journal(tmp_path / "runs.db") as second:
        write_run(first, random.Random(1))
        second.runs()
        first.close()
        with pytest.raises(JournalCorruptError), Journal(_copy(tmp_path, tmp_path / "open", "")) as copy:
            copy.runs()
    with Journal(_copy(tmp_path, tmp_path / "closed", "")) as copy:
        assert copy.verify() == 1


def test_killed_process_leaves_a_usable_journal(tmp_path: Path) -> None:
    pid = os.fork()
    if not pid:
        journal = Journal(tmp_path / "runs.db")
        write_run(journal, random.Random(1))
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    with pytest.raises(JournalCorruptError), Journal(_copy(tmp_path, tmp_path / "alone", "")) as copy:
        copy.runs()
    with Journal(tmp_path / "runs.db") as journal:
        assert journal.verify() == 1


def _write_and_die(path: Path, runs: int) -> None:
    """Write runs in a process that ends without closing the journal, so that its log stays."""
    pid = os.fork()
    if not pid:
        journal = Journal(path)
        for number in range(runs):
            write_run(journal, random.Random(number), ended=number % 2 == 0)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("left", [("-wal",), ("-lock",), ("-wal", "-lock")])
@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("is_backup", [False, True])
def test_backup_is_not_mixed_with_the_log_of_a_later_copy(
    is_backup: bool, runs: int, left: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "runs.db"
    with Journal(path) as journal:
        write_run(journal, random.Random(1))
        before = exported(journal)
        journal.backup(tmp_path / "backup.db")
        if not is_backup:
            journal.close()
            shutil.copy(path, tmp_path / "backup.db")
        write_run(journal, random.Random(2), calls=10)
    _write_and_die(path, runs)
    shutil.copy(tmp_path / "backup.db", path)
    for suffix in {"-wal", "-lock"} - set(left):
        path.with_name(f"runs.db{suffix}").unlink()
    content = path.read_bytes()
    for use in (Journal.runs, Journal.verify, Journal.prune):
        with Journal(path) as journal, pytest.raises(JournalCorruptError, match=r"delete runs\.db-") as caught:
            use(journal)
        assert ("runs.db-wal" in str(caught.value)) == ("-wal" in left)
        assert path.read_bytes() == content
    for suffix in ("-wal", "-lock"):
        path.with_name(f"runs.db{suffix}").unlink(missing_ok=True)
    with Journal(path) as journal:
        assert exported(journal) == before


def test_later_backup_is_not_mixed_with_an_earlier_log(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    _write_and_die(path, 1)
    shutil.copy(tmp_path / "runs.db-wal", tmp_path / "earlier-wal")
    with Journal(path) as journal:
        write_run(journal, random.Random(5))
        journal.backup(tmp_path / "backup.db")
    (tmp_path / "backup.db").replace(path)
    (tmp_path / "earlier-wal").replace(tmp_path / "runs.db-wal")
    for _ in range(2):
        with Journal(path) as journal, pytest.raises(JournalCorruptError, match="is of another copy of it"):
            journal.runs()
    (tmp_path / "runs.db-wal").unlink()
    with Journal(path) as journal:
        assert journal.verify() == 2


def test_own_log_cut_or_damaged_by_a_loss_of_power_is_taken(tmp_path: Path) -> None:
    """What follows the first damage was not acknowledged; a lock file that is lost with it tells nothing."""
    path = tmp_path / "runs.db"
    with Journal(path) as journal:
        write_run(journal, random.Random(1))
    _write_and_die(path, 2)
    whole = (tmp_path / "runs.db-wal").read_bytes()
    chance = random.Random(7)
    for number in range(30):
        copy = _copy(tmp_path, tmp_path / str(number), "")
        torn = bytearray(whole[: chance.randrange(32, len(whole))])
        page = chance.randrange(max(1, len(torn) // 4120))
        torn[32 + page * 4120 + 24 :] = bytes(len(torn) - 32 - page * 4120 - 24)
        copy.with_name("runs.db-wal").write_bytes(torn)
        with Journal(copy) as journal:
            assert 1 <= journal.verify() <= 3


def test_backup_is_named_by_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file's name, it would be shown with its password."""
    monkeypatch.chdir(tmp_path)
    with Journal("runs.db") as journal:
        for name in ("postgresql://u:s3cret@h/runs", "https://u:s3cret@h/runs.db", "file:/runs.db?mode=rw"):
            for path in (name, Path(name)):
                with pytest.raises(JournalError, match="expected the path of a new file for the backup") as caught:
                    journal.backup(path)
                assert "s3cret" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("runs.db")] == []
