from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ez_ptc import JournalError
from ez_ptc.journal.storage.rows import SQLiteRows
from ez_ptc.journal.store import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "runs.db")
    yield store
    store.close()


def _commits(store: SqliteStore) -> int:
    ((number,),) = store.read(lambda database: database.execute("SELECT number FROM commits").fetchall())
    assert isinstance(number, int)
    return number


def _count(database: SQLiteRows) -> int:
    return len(database.execute("SELECT * FROM pruned").fetchall())


@pytest.mark.parametrize("use", [SqliteStore.read, SqliteStore.transact])
def test_file_may_be_created_by_many_at_once(
    tmp_path: Path, use: Callable[[SqliteStore, Callable[[SQLiteRows], int]], int]
) -> None:
    """Each of 20 new files is opened by 8 threads at the same moment, with a store of their own."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            for number in range(20):
                stores = [SqliteStore(tmp_path / f"{number}.db") for _ in range(8)]
                barrier = threading.Barrier(8)

                def use_new(store: SqliteStore, barrier: threading.Barrier = barrier) -> int:
                    barrier.wait(60)
                    return use(store, _count)

                assert list(pool.map(use_new, stores)) == [0] * 8
                for store in stores:
                    store.close()
    finally:
        sys.setswitchinterval(interval)


def test_jobs_that_come_together_share_a_commit(store: SqliteStore) -> None:
    first_runs, others_wait = threading.Event(), threading.Event()
    errors: list[ValueError] = []

    def first(database: SQLiteRows) -> None:
        first_runs.set()
        assert others_wait.wait(60)

    def fail(database: SQLiteRows) -> None:
        message = "refused"
        raise ValueError(message)

    def transact_and_fail() -> None:
        try:
            store.transact(fail)
        except ValueError as error:
            errors.append(error)

    threads = [threading.Thread(target=store.transact, args=(first,))]
    threads[0].start()
    assert first_runs.wait(60)
    threads += [threading.Thread(target=store.transact, args=(_count,)) for _ in range(5)]
    threads.append(threading.Thread(target=transact_and_fail))
    for thread in threads[1:]:
        thread.start()
    while len(store._jobs) < 6:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing public shows the queue
        threading.Event().wait(0.001)
    others_wait.set()
    for thread in threads:
        thread.join(60)

    assert _commits(store) == 2
    assert [str(error) for error in errors] == ["refused"]


def test_store_used_within_a_job_is_refused(store: SqliteStore) -> None:
    def nest(database: SQLiteRows) -> None:
        store.read(_count)

    with pytest.raises(JournalError, match="signal handler"):
        store.transact(nest)
    assert store.transact(_count) == 0


def test_file_is_readable_by_its_owner_only(store: SqliteStore) -> None:
    store.transact(_count)

    for path in store.path.parent.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_dropped_store_closes_its_file(tmp_path: Path) -> None:
    script = (
        "import gc, sys, warnings\n"
        "from pathlib import Path\n"
        "from ez_ptc.journal.store import SqliteStore\n"
        "store = SqliteStore(Path(sys.argv[1]))\n"
        "store.transact(lambda database: None)\n"
        "del store\n"
        "gc.collect()\n"
        "print(sorted(path.name for path in Path(sys.argv[1]).parent.iterdir()))\n"
    )
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path / "runs.db")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    # SQLite removes its log when the last connection closes.
    assert (run.stdout, run.stderr) == ("['runs.db', 'runs.db-lock']\n", "")
