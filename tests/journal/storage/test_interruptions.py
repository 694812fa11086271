"""An interruption of a thread that uses the journal's file leaves nothing behind for the next one."""

from __future__ import annotations

import gc
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from ez_ptc.errors import JournalError
from ez_ptc.journal.storage import connection, readers
from ez_ptc.journal.storage.readers import Readers
from ez_ptc.journal.storage.rows import SQLiteRows
from ez_ptc.journal.store import SqliteStore
from tests.journal.interrupting import interrupt_at

Use = Callable[[SqliteStore, Callable[[SQLiteRows], int]], int]
_ADD: Final = "INSERT INTO pruned (id, time, hash) VALUES ('a', 0.0, x'00')"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "runs.db")
    yield store
    store.close()


def _count(rows: SQLiteRows) -> int:
    return len(rows.execute("SELECT * FROM pruned").fetchall())


def _add(rows: SQLiteRows) -> int:
    rows.execute(_ADD)
    return 0


# A connection whose return is interrupted is closed with its last reference, as Python 3.13 remarks.
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")
@pytest.mark.parametrize(("use", "job"), [(SqliteStore.transact, _add), (SqliteStore.read, _count)])
def test_interrupted_transaction_does_not_stay_open(
    use: Use, job: Callable[[SQLiteRows], int], store: SqliteStore
) -> None:
    store.transact(_count)
    count, recorded = 1, 0
    while interrupt_at(count, lambda: use(store, job), (connection, readers), functions={"transact", "reading"}):
        before, recorded = recorded, store.read(_count)
        assert recorded - before in {0, 1}
        assert store.transact(_count) == recorded
        other = SqliteStore(store.path)  # as another process, which would wait for the transaction
        with other.locks.writing(0.0):
            pass
        other.transact(_count)
        other.close()
        count += 1
    assert count > 5
    gc.collect()


def test_interrupted_closing_of_a_reader_holds_no_fork_up() -> None:
    def close(database: sqlite3.Connection) -> None:
        database.close()
        raise KeyboardInterrupt

    readers = Readers(lambda: sqlite3.connect(":memory:"), close)
    with pytest.raises(KeyboardInterrupt), readers.reading(lambda: None):
        readers.close()
    forking = threading.Thread(target=lambda: readers.pause(may_wait=True), daemon=True)
    forking.start()
    forking.join(10)

    assert not forking.is_alive()


def test_interrupted_commit_tells_others_the_truth(store: SqliteStore) -> None:
    count, messages = 1, set[str]()
    reported: list[str] = []

    def add_from_a_thread() -> None:
        try:
            store.transact(_add)
        except JournalError as error:
            reported.append(str(error))

    def commit_both() -> None:
        store.transact(_count)

    is_interrupted = True
    while is_interrupted:
        reported.clear()
        before = store.read(_count)
        waiting = threading.Thread(target=add_from_a_thread, daemon=True)
        # The lock of this thread: the other one can only put its job into the queue.
        with store._lock:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing public makes a group
            waiting.start()
            while not store._jobs:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing public shows the queue
                threading.Event().wait(0.001)
            is_interrupted = interrupt_at(count, commit_both, (connection,), functions={"commit", "transact", "_do"})
        waiting.join(60)
        is_recorded = store.read(_count) > before
        for text in reported:
            assert not (is_recorded and "nothing was recorded" in text), count
            messages.add(text.partition("; ")[2])
        assert is_recorded or reported
        count += 1
    assert messages == {"nothing was recorded", "read the run to see whether this was recorded"}
