"""The journal's SQLite file: its tables, its transactions, and its rows.

Theory of operation
-------------------
All writes of a process go through `transact`, which commits in groups: a caller puts its job into the queue and takes
the commit lock. The caller that gets the lock runs every job in the queue in one transaction; when the others get the
lock, their jobs are done. So calls that end side by side share one wait for the disk, and `transact` returns only after
the data is on it (WAL with `synchronous = EXTRA`).

Between processes, a transaction holds the file lock of `locks.py` in addition to SQLite's own. With it, no process
writes while another copies the log into the file (a checkpoint), which SQLite up to 3.51.2 does not always survive.

A job checks first and writes then, so that a job that raises has written nothing, and the others of its group go on. An
error of SQLite undoes the whole group: every caller gets it.

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
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar, cast

from ez_ptc._private_files import create_private_file
from ez_ptc._sync import around_fork, on_fork
from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.locks import FileLocks, require_locks

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

__all__ = ["Database", "Store", "connect"]

R = TypeVar("R")

Database = sqlite3.Connection

# "EzPj": the application id in the file's header.
_APPLICATION_ID: Final = 0x457A506A
_VERSION: Final = 1
_MAGIC: Final = b"SQLite format 3\0"
_BUSY_SECONDS: Final = 30.0
# Commits after which the log is copied into the file; some four megabytes of small calls.
_COMMITS_PER_CHECKPOINT: Final = 500
_PRIMARY_CODE: Final = 0xFF
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_SETTINGS: Final = (
    "PRAGMA busy_timeout = 30000",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    # More than FULL: the removal of the rollback journal that the first transaction has is on disk too.
    "PRAGMA synchronous = EXTRA",
    "PRAGMA wal_autocheckpoint = 0",
)
_TABLES: Final = """
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL,
        state TEXT NOT NULL, created REAL NOT NULL, changed REAL NOT NULL,
        epoch INTEGER NOT NULL, owner TEXT NOT NULL, events INTEGER NOT NULL, head BLOB NOT NULL
    ) STRICT;
    CREATE INDEX runs_of_sessions ON runs (session) WHERE session != '';
    CREATE TABLE events (
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE, position INTEGER NOT NULL,
        kind TEXT NOT NULL, path TEXT NOT NULL, time REAL NOT NULL, data BLOB NOT NULL,
        payload BLOB, content BLOB, hash BLOB NOT NULL, PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE contents (hash BLOB PRIMARY KEY, data BLOB NOT NULL) STRICT;
    CREATE TABLE uses (
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        content BLOB NOT NULL REFERENCES contents (hash), PRIMARY KEY (content, run)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE pruned (number INTEGER PRIMARY KEY, id TEXT NOT NULL, time REAL NOT NULL, hash BLOB NOT NULL) STRICT;
    CREATE TABLE commits (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL) STRICT;
    INSERT INTO commits VALUES (1, 0);
"""
_HEADER: Final = (f"PRAGMA application_id = {_APPLICATION_ID}", f"PRAGMA user_version = {_VERSION}")


def connect(path: Path) -> Database:
    """Return a connection to an SQLite file, without settings."""
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


class _Job(Generic[R]):
    """One caller's part of a transaction."""

    __slots__ = ("_outcome", "error", "is_done", "run")

    def __init__(self, run: Callable[[Database], R]) -> None:
        self.run = run
        self.is_done = False
        self.error: BaseException | None = None
        self._outcome: R | None = None

    def do(self, database: Database) -> None:
        try:
            self._outcome = self.run(database)
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again for the job's own caller
            self.error = error

    def result(self) -> R:
        if self.error is not None:
            raise self.error
        return cast("R", self._outcome)


class Store:
    """An SQLite file with the records of runs, for any thread; created on first use, readable by its owner only.

    Every method raises JournalCorruptError if the file is damaged, and JournalError if it is no journal, is from
    another version of ez-ptc, or cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self.locks: Final = FileLocks(path.with_name(f"{path.name}-lock"))
        self._database: Database | None = None
        self._jobs: deque[_Job[Any]] = deque()
        self._commits = 0
        self._user: int | None = None
        self._begin()
        around_fork(self, before=Store._before_fork, after=Store._after_fork_in_parent)
        on_fork(self, Store._after_fork)

    def _begin(self) -> None:
        self._lock = threading.RLock()

    def _before_fork(self) -> None:
        self._lock.acquire()
        self._close_database()

    def _after_fork_in_parent(self) -> None:
        self._lock.release()

    def _after_fork(self) -> None:
        self._user = None
        self._jobs.clear()
        self._begin()

    def transact(self, run: Callable[[Database], R]) -> R:
        """Run a job in a transaction, perhaps with the jobs of other threads; return its result once it is on disk.

        The job may raise an exception before it writes anything.
        """
        self._refuse_reentrance()
        job = _Job(run)
        self._jobs.append(job)
        with self._lock:
            if not job.is_done:
                self._commit()
        return job.result()

    def __del__(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            # If its log cannot be copied into the file now, the next one to open the file does that.
            with contextlib.suppress(sqlite3.Error):
                database.close()

    def _refuse_reentrance(self) -> None:
        if self._user == threading.get_ident():
            message = (
                f"the journal {self.path} is in use by the code that this signal handler has interrupted: let the "
                f"handler set a flag, and use the journal afterwards; nothing was recorded"
            )
            raise JournalError(message)

    def _commit(self) -> None:
        jobs = [self._jobs.popleft() for _ in range(len(self._jobs))]
        self._user = threading.get_ident()
        try:
            with self._errors():
                self._commit_all(self._open(), jobs)
        except BaseException as error:
            reported = error
            if not isinstance(error, Exception):  # an interruption of this thread alone
                reported = JournalError("the thread that wrote to the journal was interrupted; nothing was recorded")
            for job in jobs:
                job.error = reported
            raise
        finally:
            self._user = None
            for job in jobs:
                job.is_done = True

    def _commit_all(self, database: Database, jobs: list[_Job[Any]]) -> None:
        with self.locks.writing():
            with _transaction(database):
                for job in jobs:
                    job.do(database)
                # A reader may see a job's rows only together with those of the whole group.
                ((number,),) = database.execute("UPDATE commits SET number = number + 1 RETURNING number").fetchall()
            self.locks.set_mark(number)
            self._commits += 1
            if self._commits % _COMMITS_PER_CHECKPOINT == 0:
                # The commit is on disk: if the log cannot be copied now, the next commits and checkpoints will tell.
                with contextlib.suppress(sqlite3.Error):
                    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def read(self, run: Callable[[Database], R]) -> R:
        """Run a job that only reads, in a transaction of its own."""
        self._refuse_reentrance()
        with self._lock, self._errors():
            self._user = threading.get_ident()
            try:
                database = self._open()
                with _transaction(database, "DEFERRED"):
                    return run(database)
            finally:
                self._user = None

    def verify(self) -> None:
        """Check the file itself: its structure, its tables, and that no commit was lost. Raises JournalCorruptError."""
        with self._lock, self._errors():
            database = self._open()
            with self.locks.writing():
                self._check_commits(database, self.locks.mark(), tolerance=1)
            for (problem,) in database.execute("PRAGMA integrity_check").fetchall():
                if problem != "ok":
                    self._raise_damaged(problem)
            for name, text in _schema(database) ^ _expected_schema():
                self._raise_damaged(f"the definition of {name} is missing or was changed: {text}")

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._close_database()
            # The owner of a run stays its owner while it executes: no one may decide about calls that are running.
            if not self.locks.owns_any:
                self.locks.close()

    def _close_database(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            # The last connection to close copies the log into the file.
            with contextlib.suppress(JournalError, sqlite3.Error), self.locks.writing():
                database.close()

    def _open(self) -> Database:
        if self._database is None:
            self._create_file()
            # Read first: what is committed meanwhile only adds to the number in the file.
            mark = self.locks.mark()
            database = connect(self.path)
            try:
                for setting in _SETTINGS:
                    database.execute(setting).fetchall()
                self._ensure_tables(database, mark)
                self._check_commits(database, mark)
            except BaseException:  # an interruption must not leave the file open
                database.close()
                raise
            self._database = database
        return self._database

    def _create_file(self) -> None:
        """Create the file for its owner only, and see that it is not something else.

        SQLite takes a file that is too short for a database for an empty one, and would overwrite it.
        """
        require_locks()
        try:
            if not self.path.exists():
                self.locks.set_mark(0)
            create_private_file(self.path)
            size = self.path.stat().st_size
        except OSError as error:
            message = f"cannot create the journal {self.path}: {error.strerror}"
            raise JournalError(message) from error
        if 0 < size < len(_MAGIC):
            raise JournalError(self._not_usable("it is not an SQLite database"))

    def _ensure_tables(self, database: Database, mark: int) -> None:
        # In one transaction: another process may be creating the tables at this moment.
        with _transaction(database, "DEFERRED"):
            if self._has_tables(database):
                return
        if mark:
            self._raise_damaged("it is empty, and had records")
        with self.locks.writing():
            # Once for the file; it cannot be set within a transaction.
            ((mode,),) = database.execute("PRAGMA journal_mode = WAL").fetchall()
            if mode != "wal":
                message = f"the file system of {self.path} cannot hold a journal: SQLite's WAL does not work there"
                raise JournalError(message)
            with _transaction(database):
                if not self._has_tables(database):
                    for statement in (*_TABLES.split(";"), *_HEADER):
                        database.execute(statement)

    def _has_tables(self, database: Database) -> bool:
        ((application_id,),) = database.execute("PRAGMA application_id").fetchall()
        ((version,),) = database.execute("PRAGMA user_version").fetchall()
        if application_id == 0 and not database.execute("SELECT 1 FROM sqlite_schema").fetchall():
            return False
        if application_id != _APPLICATION_ID:
            raise JournalError(self._not_usable("it is another application's database"))
        if version != _VERSION:
            reason = f"expected version {_VERSION}, got {version}, which needs another version of ez-ptc"
            raise JournalError(self._not_usable(reason))
        return True

    def _check_commits(self, database: Database, mark: int, tolerance: int | None = None) -> None:
        """Raise JournalCorruptError if commits were lost; with `tolerance`, also if there are more than these more.

        A process that is killed may have committed without saying so in the lock file.
        """
        numbers = [number for (number,) in database.execute("SELECT number FROM commits").fetchall()]
        if len(numbers) != 1 or not isinstance(numbers[0], int):
            self._raise_damaged("the row of the table commits is missing or was changed")
        (number,) = numbers
        if number < mark:
            self._raise_damaged(
                f"it has {number} commits and had {mark}: its last records are lost, or it is an earlier copy, which "
                f"remains usable if you delete {self.path.name}-lock"
            )
        if mark and tolerance is not None and number > mark + tolerance:
            self._raise_damaged(f"the row of the table commits was changed: {number}, expected {mark}")

    def _raise_damaged(self, reason: object) -> NoReturn:
        message = f"the journal {self.path} is damaged: {reason}; restore it from a backup"
        raise JournalCorruptError(message)

    @contextlib.contextmanager
    def _errors(self) -> Generator[None]:
        """Raise SQLite's errors as ours."""
        try:
            yield
        except UnicodeDecodeError as error:  # of a message of SQLite's that quotes a damaged schema
            message = f"the journal {self.path} is damaged: {error}; restore it from a backup"
            raise JournalCorruptError(message) from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY_CODE
            # Python's own error for text that is not UTF-8 has no code.
            if code in _DAMAGE or str(error).startswith("Could not decode"):
                message = f"the journal {self.path} is damaged: {error}; restore it from a backup"
                raise JournalCorruptError(message) from error
            hint = "free some space, and resume the run" if code == sqlite3.SQLITE_FULL else "nothing was recorded"
            if code == sqlite3.SQLITE_CANTOPEN and self.path.is_dir():
                hint = f"it is a folder: name a file in it, {self.path / 'runs.db'}"
            message = f"cannot use the journal {self.path}: {error}; {hint}"
            raise JournalError(message) from error

    def _not_usable(self, reason: str) -> str:
        return f"{self.path} is not a usable journal: {reason}; give the path of another file"


def _schema(database: Database) -> set[tuple[str, str]]:
    rows = database.execute("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return {(name, text) for name, text in rows}


@cache
def _expected_schema() -> frozenset[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        for statement in _TABLES.split(";"):
            database.execute(statement)
        return frozenset(_schema(database))


@contextlib.contextmanager
def _transaction(database: Database, mode: str = "IMMEDIATE") -> Generator[None]:
    database.execute(f"BEGIN {mode}")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:  # an interruption must not leave half of it to the next commit
        with contextlib.suppress(sqlite3.Error):  # SQLite may have undone it already
            database.execute("ROLLBACK")
        raise
