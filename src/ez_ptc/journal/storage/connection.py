"""The connection that writes to the journal's file: opened with its tables, and closed as the last one or not.

Theory of operation. `commits.is_open` is 1 in the file from the first commit on that anyone makes, until the last user
closes it. The first commit of each user is copied from the log into the file before it is acknowledged. So a copy of
the file alone, made while the journal is open, says that its last records are in a log. Where the log is missing, the
number of the last commit in the lock file tells whether anything is: a copy elsewhere has no such number, and is
refused.
"""

from __future__ import annotations

import contextlib
import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from ez_ptc._distribution import DISTRIBUTION
from ez_ptc._distribution import VERSION as LIBRARY
from ez_ptc._private_files import create_private_file, warn_of_other_users
from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.locks import require_locks
from ez_ptc.journal.storage.log_frames import has_own_log
from ez_ptc.journal.storage.names import OpenFiles
from ez_ptc.journal.storage.rows import SQLiteRows
from ez_ptc.journal.storage.tables import APPLICATION_ID, VERSION, create_tables, migrate, reader_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ez_ptc.journal.locks import FileLocks

__all__ = ["StoreConnection", "prepare", "raise_damaged", "transact"]

R = TypeVar("R")

_MAGIC: Final = b"SQLite format 3\0"
# After so many commits, or bytes in the log, it is copied into the file.
_COMMITS_PER_CHECKPOINT: Final = 500
_LOG_BYTES_PER_CHECKPOINT: Final = 4 << 20
# A longer wait for readers of earlier states would delay those who write.
_CHECKPOINT_WAIT_MS: Final = 50
_BUSY_WAIT_MS: Final = 30_000
_WRITER_SETTINGS: Final = (
    f"PRAGMA busy_timeout = {_BUSY_WAIT_MS}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    # More than FULL: the removal of the rollback journal that the first transaction has is on disk too.
    "PRAGMA synchronous = EXTRA",
    "PRAGMA wal_autocheckpoint = 0",
    # Many builds of SQLite overwrite all that is removed: while others wait, a large run would be written to the log
    # and to the file again. This one overwrites small values alone, in pages that are written anyway.
    "PRAGMA secure_delete = FAST",
)
_READER_SETTINGS: Final = (*_WRITER_SETTINGS, "PRAGMA query_only = ON")


class StoreConnection:
    """The connection of one store that writes, while it is open. One thread uses it at a time."""

    def __init__(self, path: Path, locks: FileLocks, connect: Callable[[Path], sqlite3.Connection]) -> None:
        """Open the file, and create it or bring it to the present version first. Raises JournalError if that fails."""
        self._path = path
        self._locks = locks
        self._create_file()
        self.files: Final = OpenFiles(path)
        # Read first: what is committed meanwhile only adds to the number in the file.
        mark = locks.mark()
        has_log = path.with_name(f"{path.name}-wal").exists()
        if has_log:
            with locks.writing():
                self._require_own_log()
        self.database: Final = connect(path)
        self._rows: Final = SQLiteRows(self.database)
        self._is_marked = False
        self._commits = self._checked_size = 0
        try:
            prepare(self.database, _WRITER_SETTINGS)
            self._ensure_tables(mark)
            self._is_flagged = self.check_commits(mark)
            with locks.writing():
                # Others may have made the file and its log since: then the lock file has their commits by now.
                if self._is_flagged and not has_log and not mark and not locks.mark():
                    raise_damaged(
                        path,
                        f"it is a copy of a journal that was in use, or is in use under another name, and its last "
                        f"records are in a log that is missing ({path.name}-wal); make copies with Journal.backup()",
                    )
                locks.enter()
        except BaseException:  # an interruption must not leave the file open
            self.database.close()
            raise

    def _create_file(self) -> None:
        """Create the file for its owner only, and see that it is not something else.

        SQLite takes a file that is too short for a database for an empty one, and would overwrite it.
        """
        require_locks()
        try:
            if not self._path.exists():
                with self._locks.writing():
                    # Another process may have created it, and committed, meanwhile.
                    if not self._path.exists():
                        self._locks.set_mark(0)
                        create_private_file(self._path)
            size = self._path.stat().st_size
        except OSError as error:
            message = (
                f"cannot open or create the journal {self._path}: {error.strerror}; you must be able to write to it "
                f"and to its folder, even to read it"
            )
            raise JournalError(message) from error
        if 0 < size < len(_MAGIC):
            raise JournalError(self._not_usable("it is not an SQLite database"))

    def _require_own_log(self) -> None:
        """Raise JournalCorruptError for the log of another copy, before SQLite would copy it into the file."""
        if not has_own_log(self._path):
            name = self._path.name
            raise_damaged(
                self._path,
                f"its log, {name}-wal, is of another copy of it; if you have put a backup in its place, delete "
                f"{name}-wal and {name}-lock",
            )

    def _ensure_tables(self, mark: int) -> None:
        # In one transaction: another process may be creating the tables at this moment.
        if (version := transact(self.database, self._version, "DEFERRED")) == VERSION:
            warn_of_other_users(self._path)
            return
        if not version and mark:
            raise_damaged(self._path, "it is empty, and had records")
        with self._locks.writing():
            if not version:
                # Once for the file; it cannot be set within a transaction.
                ((mode,),) = self.database.execute("PRAGMA journal_mode = WAL").fetchall()
                if mode != "wal":
                    message = f"the file system of {self._path} cannot hold a journal: SQLite's WAL does not work there"
                    raise JournalError(message)
            transact(self.database, self._create_or_migrate)
        warn_of_other_users(self._path)

    def _create_or_migrate(self) -> None:
        version = self._version()  # others may have written it meanwhile
        if not version:
            create_tables(self.database)
        elif version < VERSION:
            self._require_no_users()
            migrate(self.database, version)

    def _require_no_users(self) -> None:
        """Raise JournalError if processes of earlier versions have the file open: they would not notice its new one.

        A process that forks, or closes its journal, has no open file for a while, and its programs go on.
        """
        is_alone = self._locks.is_last_user() and not self._locks.is_any_owned_elsewhere()
        self._locks.leave()
        if not is_alone:
            message = (
                f"the journal {self._path} is open in a process with an earlier version of ez-ptc, or a program of it "
                f"is running there, and it could not read what this one records: end that process first; nothing was "
                f"recorded"
            )
            raise JournalError(message)

    def _version(self) -> int:
        """Return the version of the file, or 0 if it is empty. Raises JournalError if it cannot be used."""
        ((application_id,),) = self.database.execute("PRAGMA application_id").fetchall()
        ((version,),) = self.database.execute("PRAGMA user_version").fetchall()
        if application_id == 0 and not self.database.execute("SELECT 1 FROM sqlite_schema").fetchall():
            return 0
        if application_id != APPLICATION_ID:
            raise JournalError(self._not_usable("it is another application's database"))
        if not 0 < version <= VERSION:
            reason = (
                f"expected a version from 1 to {VERSION}, got {version}, which needs a newer {DISTRIBUTION} than "
                f"{LIBRARY}: {reader_of(self.database)}"
            )
            raise JournalError(self._not_usable(reason))
        return int(version)

    def check_commits(self, mark: int, tolerance: int | None = None) -> bool:
        """Raise JournalCorruptError if commits were lost; with `tolerance`, also if there are more than these more.

        A process that is killed may have committed without saying so in the lock file. Return whether the file is
        marked as open.
        """
        rows = self.database.execute("SELECT number, is_open FROM commits").fetchall()
        if len(rows) != 1 or not isinstance(rows[0][0], int) or rows[0][1] not in {0, 1}:
            raise_damaged(self._path, "the row of the table commits is missing or was changed")
        ((number, is_open),) = rows
        if number < mark:
            raise_damaged(
                self._path,
                f"it has {number} commits and had {mark}: its last records are lost, or it is an earlier copy, which "
                f"remains usable if you delete {self._path.name}-lock",
            )
        if mark and tolerance is not None and number > mark + tolerance:
            raise_damaged(self._path, f"the row of the table commits was changed: {number}, expected {mark}")
        return bool(is_open)

    def commit(self, jobs: Callable[[SQLiteRows], None]) -> None:
        """Run jobs in one transaction, which is on disk afterwards, in the file and under the name that it had."""
        with self._locks.writing():
            self.files.require_intact_log()
            try:
                number = transact(self.database, partial(self._do, jobs))
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                    # The log may be all that fills the disk: emptied, it leaves room for the next commit.
                    self.checkpoint()
                raise
            self._is_flagged = True
            self.files.require_file()
            self.files.require_written_log()
            self._locks.require_file()
            self._locks.set_mark(number)
            self._commits += 1
            if not self._is_marked:
                with contextlib.suppress(sqlite3.Error):
                    # Readers of an earlier state may hold it up: then the next commit is another attempt.
                    ((_, logged, copied),) = self.database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
                    self._is_marked = logged == copied
            elif (
                self._commits % _COMMITS_PER_CHECKPOINT == 0
                or self.files.log_size > self._checked_size + _LOG_BYTES_PER_CHECKPOINT
            ):
                self.checkpoint()

    def _do(self, jobs: Callable[[SQLiteRows], None]) -> int:
        """Run jobs, and return the number of their commit."""
        jobs(self._rows)
        # A reader may see a job's rows only together with those of the whole group.
        update = "UPDATE commits SET number = number + 1, is_open = 1 RETURNING number"
        ((number,),) = self.database.execute(update).fetchall()
        return int(number)

    def checkpoint(self) -> None:
        """Copy the log into the file and empty it, unless readers of earlier states go on; call it while writing.

        What it would copy is on disk: if it cannot be copied now, the next commits and checkpoints will tell.
        """
        self._checked_size = self.files.log_size
        with contextlib.suppress(sqlite3.Error):
            self.database.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_WAIT_MS}").fetchall()
            try:
                ((is_busy, _, _),) = self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self.database.execute(f"PRAGMA busy_timeout = {_BUSY_WAIT_MS}").fetchall()
            if not is_busy:
                self._checked_size = 0

    def close(self, seconds: float = 30.0) -> None:
        """Close the file, and leave no log if no one else has it open; wait for others `seconds` at most."""
        try:
            with contextlib.suppress(JournalError, sqlite3.Error), self._locks.writing(seconds):
                if self._is_flagged and self._locks.is_last_user():
                    transact(self.database, partial(self.database.execute, "UPDATE commits SET is_open = 0"))
                # The last connection to close copies the log into the file.
                self.database.close()
                self._locks.leave()
        finally:
            self.files.close()
            with contextlib.suppress(sqlite3.Error):
                self.database.close()
            with contextlib.suppress(JournalError):
                self._locks.leave()

    def _not_usable(self, reason: str) -> str:
        return f"{self._path} is not a usable journal: {reason}; give the path of another file"


def prepare(database: sqlite3.Connection, settings: tuple[str, ...] = _READER_SETTINGS) -> sqlite3.Connection:
    """Return a connection with its settings, by default those for reading."""
    for setting in settings:
        database.execute(setting).fetchall()
    return database


def raise_damaged(path: Path, reason: object) -> NoReturn:
    """Raise JournalCorruptError about a file."""
    message = f"the journal {path} is damaged: {reason}; restore it from a backup"
    raise JournalCorruptError(message)


def transact(database: sqlite3.Connection, work: Callable[[], R], mode: str = "IMMEDIATE") -> R:
    """Do work in a transaction and return its result; undo what was written if it raises. Only "IMMEDIATE" writes."""
    if database.in_transaction:  # a second interruption came before the last one was undone
        database.execute("ROLLBACK")
    try:
        # An interruption may come as it returns: then there is a transaction, and no one to end it.
        database.execute(f"BEGIN {mode}")
        result = work()
        # SQLite's COMMIT raises the error of an earlier read, which may have been about one damaged run among others.
        database.execute("COMMIT" if mode == "IMMEDIATE" else "ROLLBACK")
    finally:
        if database.in_transaction:  # half of it must not be left to the next commit
            with contextlib.suppress(sqlite3.Error):
                database.execute("ROLLBACK")
    return result
