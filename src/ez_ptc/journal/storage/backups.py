"""Copying a journal that may be in use, its log included."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
from typing import TYPE_CHECKING

from ez_ptc._private_files import create_private_file
from ez_ptc.errors import JournalError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    Reading = Callable[[], contextlib.AbstractContextManager[sqlite3.Connection]]

__all__ = ["copy_journal"]


def copy_journal(reading: Reading, path: Path) -> None:
    """Copy a journal, read with connections of `reading`, as it is after its last commit, to a new file.

    The copy appears under its name only once it is complete and on disk. Raises JournalError if the file is there.
    """
    if os.path.lexists(path):
        raise JournalError(_exists(path))
    partial = path.with_name(f"{path.name}-{uuid.uuid4().hex[:8]}-partial")
    try:
        with _discard(partial):
            create_private_file(partial)
            _copy(reading, partial)
            _sync(partial)
            # Unlike a rename, it replaces no backup that another process makes meanwhile.
            path.hardlink_to(partial)
        _sync(path.parent)
    except FileExistsError as error:
        raise JournalError(_exists(path)) from error
    except OSError as error:
        message = f"cannot back up to {path}: {error.strerror}; the journal itself is unchanged"
        raise JournalError(message) from error


def _exists(path: Path) -> str:
    return f"cannot back up to {path}: it exists; give a new name, such as one with the date"


def _copy(reading: Reading, partial: Path) -> None:
    try:
        with contextlib.closing(sqlite3.connect(partial, isolation_level=None)) as copy:
            with reading() as database:
                # In one step, of one state: those who write go on meanwhile, and their commits stay in the log.
                database.backup(copy)
            ((mode,),) = copy.execute("PRAGMA journal_mode = DELETE").fetchall()
            copy.execute("PRAGMA synchronous = EXTRA")
            copy.execute("UPDATE commits SET is_open = 0")
            # The header says so too; the log of this file would otherwise have to be copied with it.
            copy.execute("PRAGMA journal_mode = WAL").fetchall()
        if mode != "delete":
            message = f"cannot back up to {partial}: SQLite keeps its journal mode {mode}"
            raise JournalError(message)
    except sqlite3.Error as error:
        message = f"cannot back up to {partial}: {error}; the journal itself is unchanged"
        raise JournalError(message) from error


@contextlib.contextmanager
def _discard(partial: Path) -> Generator[None]:
    """Remove a copy that was not completed."""
    try:
        yield
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            partial.with_name(partial.name + suffix).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
