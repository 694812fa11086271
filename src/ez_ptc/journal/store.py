"""The journal's SQLite file: its tables, and its transactions.

Theory of operation
-------------------
All writes of a process go through `transact`, which commits in groups: a caller puts its job into the queue and takes
the commit lock. The caller that gets the lock runs every job in the queue in one transaction; when the others get the
lock, their jobs are done. So calls that end side by side share one wait for the disk, and `transact` returns only after
the data is on it (WAL with `synchronous = EXTRA`).

Between processes, a transaction holds the file lock of `locks.py` in addition to SQLite's own. With it, no process
writes while another copies the log into the file (a checkpoint), which SQLite up to 3.51.2 does not always survive.

A job checks first and writes then, so that a job that raises has written nothing, and the others of its group go on. A
start is undone alone: it adds its run before it takes the lock of that number. An error of SQLite undoes the whole
group: every caller gets it.

Each commit has a number, in the file and, once the commit is on disk, in the lock file. A file whose number is less
than that in the lock file has lost commits: its log was damaged, or it was replaced by an earlier copy.

A connection must not live through a fork: the fork would share SQLite's memory of locks, but not the locks. So the file
is closed before a fork, and opened again with the next use.

Only SQLite opens the file: closing another descriptor of it would release SQLite's locks.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import weakref
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ez_ptc._extras import import_extra
from ez_ptc._forks import around_fork, on_fork
from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.locks import FileLocks
from ez_ptc.journal.storage.backups import copy_journal
from ez_ptc.journal.storage.connection import StoreConnection, prepare, raise_damaged, transact
from ez_ptc.journal.storage.names import resolve_name
from ez_ptc.journal.storage.readers import Readers
from ez_ptc.journal.storage.rows import SQLiteRows, is_damage, primary_code
from ez_ptc.journal.storage.tables import expected_schema, schema
from ez_ptc.journal.storage.watching import watch
from ez_ptc.journal.stores.addresses import is_address, require_file_name
from ez_ptc.journal.stores.protocol import StoreJob

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ez_ptc.journal.stores.protocol import RunStore

__all__ = ["SqliteStore", "connect", "open_store"]

R = TypeVar("R")

_BUSY_SECONDS: Final = 30.0
_MAX_BYTES: Final = 4 << 30
# What is no UTF-8 becomes another text, which no hash fits: so it is damage of one row, and hides no other.
_TEXT: Final = partial(str, encoding="utf-8", errors="replace")


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to an SQLite file that is there, without settings."""
    address = f"{path.as_uri()}?mode=rw"
    database = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    database.text_factory = _TEXT
    return database


class _SqliteJob(StoreJob[R]):
    __slots__ = ()

    def do(self, rows: SQLiteRows) -> None:
        try:
            with rows.undone_on_error():
                self._outcome = self.run(rows)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again for the job's own caller
            self.error = error


class SqliteStore:
    """An SQLite file with the records of runs, for any thread; created on first use, readable by its owner only.

    Every method raises JournalCorruptError if the file is damaged, and JournalError if it is no journal, is from
    another version of ez-ptc, or cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = resolve_name(path)
        self.name: Final = str(path)
        self.locks: Final = FileLocks(self.path.with_name(f"{self.path.name}-lock"))
        # The connection that writes, while there is one; a list, for the finalizer.
        self._opened: list[StoreConnection] = []
        self._readers: Final = Readers(lambda: prepare(connect(self.path)), self._dispose)
        self._jobs: deque[_SqliteJob[Any]] = deque()
        # Threads that use the connection that writes, or wait for it.
        self._users: set[int] = set()
        self._begin()
        around_fork(self, before=SqliteStore._before_fork, after=SqliteStore._after_fork_in_parent)
        on_fork(self, SqliteStore._after_fork)
        weakref.finalize(self, _close_all, self._opened, self._readers.idle)

    def _begin(self) -> None:
        self._lock = threading.RLock()

    def _before_fork(self, may_wait: bool) -> bool:  # noqa: FBT001 - `around_fork` passes it
        # In this order: a read may need the lock to end.
        if not self._readers.pause(may_wait=may_wait):
            return False
        if not self._lock.acquire(may_wait):
            self._readers.resume()
            return False
        self._close_database()
        return True

    def _after_fork_in_parent(self) -> None:
        self._lock.release()
        self._readers.resume()

    def _after_fork(self) -> None:
        self._users.clear()
        self._jobs.clear()
        self._readers.reset()
        self._begin()

    def transact(self, run: Callable[[SQLiteRows], R], /) -> R:
        """Run a job in a transaction, perhaps with the jobs of other threads; return its result once it is on disk.

        The job may raise an exception before it writes anything.
        """
        self._refuse_reentrance()
        job = _SqliteJob(run)
        self._jobs.append(job)
        try:
            with self._exclusively():
                if not job.is_done:
                    self._commit()
        except BaseException:  # another thread must not do later what this one has given up
            with self._lock, contextlib.suppress(ValueError):
                self._jobs.remove(job)
            raise
        return job.result()

    @contextlib.contextmanager
    def _exclusively(self) -> Generator[None]:
        """Return a context for one thread at a time, in which `_refuse_reentrance` refuses its signal handlers."""
        thread = threading.get_ident()
        is_inner = thread in self._users
        try:
            self._users.add(thread)  # before the lock: a handler's program would wait for this thread without end
            with self._lock:
                yield
        finally:
            if not is_inner:
                self._users.discard(thread)

    def _refuse_reentrance(self) -> None:
        if threading.get_ident() in self._users:
            message = (
                f"the journal {self.path} is in use by the code that this signal handler has interrupted: let the "
                f"handler set a flag, and use the journal afterwards; nothing was recorded"
            )
            raise JournalError(message)

    def _commit(self) -> None:
        jobs = [self._jobs.popleft() for _ in range(len(self._jobs))]
        outcome = "nothing was recorded"

        def do_all(rows: SQLiteRows) -> None:
            nonlocal outcome
            for job in jobs:
                job.do(rows)
            # From here on, an interruption may come before SQLite commits, or after.
            outcome = "read the run to see whether this was recorded"

        try:
            with self._errors():
                self._open().commit(do_all)
        except BaseException as error:
            reported = error
            if not isinstance(error, Exception):  # an interruption of this thread alone
                reported = JournalError(f"the thread that wrote to the journal was interrupted; {outcome}")
            for job in jobs:
                job.error = reported
            raise
        finally:
            for job in jobs:
                job.is_done = True

    def append(self, run: Callable[[SQLiteRows], R], /) -> R:
        """As `transact`: jobs that come together share a transaction anyway."""
        return self.transact(run)

    def read(self, run: Callable[[SQLiteRows], R], /) -> R:
        """Run a job that only reads, in a transaction of its own; no one who writes waits for it."""
        with self._errors(), self.reading() as database:
            return transact(database, lambda: run(SQLiteRows(database)), "DEFERRED")

    def survey(self, run: Callable[[SQLiteRows], R], /) -> R:
        """As `read`."""
        return self.read(run)

    def watch(self, seconds: float | None) -> Iterator[str]:
        """Return an iterator over the ids of runs, as they are decided or change their states from now on."""
        return watch(self.read, seconds)

    @contextlib.contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Return a context with a connection for reading, outside of any transaction."""
        self._refuse_reentrance()
        with self._readers.reading(self._require_open) as database:
            yield database

    def _require_open(self) -> None:
        """Open the file unless it is open, and see that it is still the same."""
        for opened in tuple(self._opened):
            opened.files.require_file()
            return
        with self._exclusively():
            self._open()

    def maintain(self, work: Callable[[StoreConnection], R]) -> R:
        """Do work with the connection that writes, while no one else in any process writes."""
        self._refuse_reentrance()
        with self._exclusively(), self._errors():
            opened = self._open()
            with self.locks.writing():
                return work(opened)

    def key_path(self) -> Path:
        """Return the file with the key of secret arguments."""
        return self.path.with_name(f"{self.path.name}-key")

    def create_key(self, create: Callable[[Path], None]) -> None:
        """Create the file with the key, while no one else does."""
        self.maintain(lambda _: create(self.key_path()))

    def require_room(self, max_bytes: int | None) -> None:
        """Raise JournalError if more bytes are in use, in the file or in its log, than may be."""
        limit = _MAX_BYTES if max_bytes is None else max_bytes
        size = self.read(self._used_bytes)
        if size > limit:
            # What is in the log as well as in the file counts once.
            self.make_room()
            size = self.read(self._used_bytes)
        if size > limit:
            message = (
                f"the journal {self.path} has {size:,} bytes in use, more than max_bytes={limit:,}: prune() it, or "
                f"raise the limit"
            )
            raise JournalError(message)

    def _used_bytes(self, rows: SQLiteRows) -> int:
        log = self.path.with_name(f"{self.path.name}-wal")
        return rows.used_bytes() + (log.stat().st_size if log.exists() else 0)

    def make_room(self) -> None:
        """Copy the log into the file: on a full disk, the room of the log is what a removal needs."""
        self.maintain(lambda opened: opened.checkpoint())

    def copy(self, path: Path) -> None:
        """Copy the journal to a new file. Raises JournalError if that fails."""
        with self._errors(), self.reading():  # what is wrong with this file is not about the copy
            pass
        copy_journal(self.reading, resolve_name(path))

    def verify(self) -> None:
        """Check the file itself: its structure, its tables, and that no commit was lost. Raises JournalCorruptError."""
        self.maintain(lambda opened: opened.check_commits(self.locks.mark(), tolerance=1))
        with self._errors(), self.reading() as database:
            for (problem,) in database.execute("PRAGMA integrity_check").fetchall():
                if problem != "ok":
                    raise_damaged(self.path, problem)
            for name, text in schema(database) ^ expected_schema():
                raise_damaged(self.path, f"the definition of {name} is missing or was changed: {text}")

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._exclusively():
            self._close_database()
            # The owner of a run stays its owner while it executes: no one may decide about calls that are running.
            if not self.locks.owns_any:
                self.locks.close()

    def _close_database(self) -> None:
        self._readers.close()
        while self._opened:
            self._opened.pop().close()

    def _dispose(self, database: sqlite3.Connection) -> None:
        """Close a connection for reading, which may be the last one, after the file itself was closed."""
        with self._exclusively(), contextlib.suppress(sqlite3.Error):
            with contextlib.suppress(JournalError), self.locks.writing():
                database.close()
            # Where there are no locks. Closing twice is harmless.
            database.close()

    def _open(self) -> StoreConnection:
        if not self._opened:
            self._opened.append(StoreConnection(self.path, self.locks, connect))
        return self._opened[0]

    @contextlib.contextmanager
    def _errors(self) -> Generator[None]:
        """Raise SQLite's errors as ours."""
        try:
            yield
        except UnicodeDecodeError as error:  # of a message of SQLite's that quotes a damaged schema
            message = f"the journal {self.path} is damaged: {error}; restore it from a backup"
            raise JournalCorruptError(message) from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            if code == sqlite3.SQLITE_IOERR_SHORT_READ:
                message = f"the journal {self.path} was truncated, or its log; restore it from a backup"
                raise JournalCorruptError(message) from error
            if is_damage(error):
                message = f"the journal {self.path} is damaged: {error}; restore it from a backup"
                if primary_code(error) == sqlite3.SQLITE_NOTADB:
                    message += ", or name another file if this was never a journal"
                raise JournalCorruptError(message) from error
            hint = "free some space, and resume the run" if code == sqlite3.SQLITE_FULL else "nothing was recorded"
            if primary_code(error) == sqlite3.SQLITE_READONLY and code != sqlite3.SQLITE_READONLY_DBMOVED:
                hint = f"you must be able to write to it and to its folder, even to read it; {hint}"
            if primary_code(error) == sqlite3.SQLITE_CANTOPEN and self.path.is_dir():
                hint = f"it is a folder: name a file in it, {self.path / 'runs.db'}"
            message = f"cannot use the journal {self.path}: {error}; {hint}"
            raise JournalError(message) from error


def _close_all(opened: list[StoreConnection], idle: list[sqlite3.Connection]) -> None:
    """Close the connections of a store that is dropped; if others write meanwhile, the next one to open it goes on."""
    while idle:
        idle.pop().close()
    while opened:
        opened.pop().close(0.0)


def open_store(path: str | Path) -> RunStore:
    """Return the store of a file or an address.

    Raises JournalError for an address of another server, and MissingExtraError without psycopg.
    """
    if not is_address(path):
        require_file_name(path)
        return SqliteStore(Path(path))
    import_extra("psycopg", extra="postgres")
    from ez_ptc.journal.stores.postgres.store import PostgresStore  # only where psycopg is installed

    return PostgresStore(str(path))
