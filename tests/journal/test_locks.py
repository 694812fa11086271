from __future__ import annotations

import errno
import fcntl
import os
import random
import struct
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from types import FrameType

import pytest

from ez_ptc import Journal, JournalError, Toolkit, ez_tool
from ez_ptc.journal import locks as locks_module
from ez_ptc.journal.locks import FileLocks
from tests.journal.interrupting import interrupt_at
from tests.journal.sample_runs import write_run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db-lock"


def test_one_of_two_users_owns_a_run(path: Path) -> None:
    first, second = FileLocks(path), FileLocks(path)

    assert first.own(1)
    assert not first.own(1)
    assert not second.own(1)
    assert second.is_owned(1)
    assert second.own(2)
    first.disown(1)
    assert second.own(1)


def test_user_of_an_earlier_version_is_a_user(path: Path) -> None:
    locks = FileLocks(path)
    locks.enter()
    assert locks.is_last_user()
    with path.open("r+b") as earlier:
        request = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 1 << 62, 1, 0)
        locks.leave()
        fcntl.fcntl(earlier, fcntl.F_OFD_SETLK, request)
        assert not locks.is_last_user()


def test_interrupted_owner_keeps_no_lock(path: Path) -> None:
    locks, other, count = FileLocks(path), FileLocks(path), 1
    while interrupt_at(count, lambda: locks.own(count, locks), [locks_module], functions={"own", "_take"}):  # noqa: B023 - called at once
        locks.disown_by(locks)
        assert other.own(count)
        count += 1
    assert count > 5


def test_interrupted_writer_lets_others_write(path: Path) -> None:
    locks, other, count = FileLocks(path), FileLocks(path), 1

    def write() -> None:
        with locks.writing():
            pass

    while interrupt_at(count, write, [locks_module], functions={"_take"}):
        with other.writing(0.0):
            count += 1
    assert count > 2


@pytest.fixture
def eager_threads() -> Generator[None]:
    """Let threads take turns as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_threads")
def test_one_of_several_threads_owns_a_run(path: Path) -> None:
    locks = FileLocks(path)
    assert not locks.is_owned(0)  # opens the file

    for run in range(200):
        start = threading.Barrier(4)
        owned: list[bool] = []

        def own(run: int = run, start: threading.Barrier = start, owned: list[bool] = owned) -> None:
            start.wait(60)
            owned.append(locks.own(run))

        threads = [threading.Thread(target=own) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

        assert sorted(owned) == [False, False, False, True]


def test_second_release_of_a_holder_takes_no_lock_of_another(path: Path) -> None:
    locks, first, second = FileLocks(path), object(), object()
    assert locks.own(7, first)
    is_releasing, go_on = threading.Event(), threading.Event()

    def stop_at_release(frame: FrameType, event: str, argument: object) -> None:
        del event, argument
        if frame.f_code is FileLocks._release.__code__:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the moment between the look and the release
            is_releasing.set()
            assert go_on.wait(60)

    def release_slowly() -> None:
        sys.settrace(stop_at_release)
        locks.disown_by(first)

    def release_and_own() -> None:
        locks.disown_by(first)
        assert locks.own(7, second)

    slow, quick = threading.Thread(target=release_slowly), threading.Thread(target=release_and_own)
    slow.start()
    assert is_releasing.wait(60)
    quick.start()
    quick.join(0.2)  # it waits for the other; without that it would own the run by now
    go_on.set()
    slow.join(60)
    quick.join(60)
    assert locks.is_owned(7)
    with closing(FileLocks(path)) as other:
        assert not other.own(7)
    locks.close()


def test_closing_releases_the_runs_of_one_user(path: Path) -> None:
    first, second = FileLocks(path), FileLocks(path)
    first.own(1)
    second.own(2)

    first.close()
    assert not second.is_owned(1)
    assert first.is_owned(2)


def test_fork_owns_none_of_its_parents_runs(path: Path) -> None:
    locks = FileLocks(path)
    locks.own(1)
    pid = os.fork()
    if not pid:
        os._exit(locks.own(1) or not locks.is_owned(1))

    assert os.waitpid(pid, 0)[1] == 0
    assert FileLocks(path).is_owned(1)


def test_mark_is_kept_unless_it_is_damaged(path: Path) -> None:
    locks = FileLocks(path)
    assert locks.mark() == 0
    locks.set_mark(7)
    assert FileLocks(path).mark() == 7

    path.write_bytes(bytes([1]) + path.read_bytes()[1:])
    assert locks.mark() == 0


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.EIO])
@pytest.mark.parametrize("is_open", [False, True])
def test_file_system_without_locks_is_named(
    is_open: bool, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects: list[int] = []

    @ez_tool
    def effect(number: int) -> int:
        """Take effect."""
        effects.append(number)
        return number

    def refuse(descriptor: int, command: int, argument: bytes) -> int:
        raise OSError(code, os.strerror(code))

    with Journal(tmp_path / "runs.db") as journal, Toolkit([effect], journal=journal) as toolkit:
        run_id = write_run(journal, random.Random(1), ended=False)
        if not is_open:
            journal.close()
        uses: list[Callable[[], object]] = [
            journal.runs,
            lambda: journal.run(run_id),
            lambda: toolkit.execute("effect(1)"),
            lambda: toolkit.resume(run_id),
            lambda: journal.abandon(run_id, "no use"),
        ]
        with monkeypatch.context() as patch:
            patch.setattr(fcntl, "fcntl", refuse)
            for use in uses:
                with pytest.raises(JournalError, match=r"cannot lock .*-lock: .*; a journal needs a file system with"):
                    use()
            journal.close()
        assert effects == []
        assert [run.state for run in journal.runs()] == ["resumable"]


def test_start_without_its_lock_records_nothing(tmp_path: Path) -> None:
    """Another process may still hold the lock of a number whose start was undone."""
    path = tmp_path / "runs.db"
    with Journal(path) as journal, Toolkit([echo], journal=journal) as toolkit:
        assert toolkit.execute("echo(1)", run_id="a").success
        other = FileLocks(tmp_path / "runs.db-lock")
        assert other.own(2)
        with pytest.raises(JournalError, match="run b was not started") as caught:
            toolkit.execute("echo(1)", run_id="b")
        assert caught.value.run_id == "b"
        assert [run.id for run in journal.runs()] == ["a"]
        other.close()
        assert toolkit.execute("echo(1)", run_id="b").success
        assert journal.verify() == 2


def test_error_of_the_journal_names_the_run_that_it_ended(tmp_path: Path) -> None:
    @ez_tool
    def remove_locks() -> None:
        """Do as an eager cleaner does."""
        (tmp_path / "runs.db-lock").unlink()

    with Journal(tmp_path / "runs.db") as journal:
        with Toolkit([remove_locks], journal=journal) as toolkit, pytest.raises(JournalError) as caught:
            toolkit.execute("remove_locks()", run_id="r")
        assert caught.value.run_id == "r"


@ez_tool
def echo(number: int) -> int:
    """Return the number."""
    return number
