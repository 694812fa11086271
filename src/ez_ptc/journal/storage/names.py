"""The one name of a journal's file, and whether the file under it is still the one that was opened.

SQLite and the locks beside the file go by its name. Two names of one file would have two logs and two sets of locks,
and programs under both would double effects. And SQLite goes on in a file without a name, which no one finds again.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Final, NoReturn

from ez_ptc._private_files import path_problem
from ez_ptc.errors import JournalCorruptError, JournalError

if TYPE_CHECKING:
    from os import stat_result

__all__ = ["OpenFiles", "resolve_name"]

# Where the header of the log has the two words that differ each time the log begins again.
_SALTS_START: Final = 16
_SALTS_BYTES: Final = 8
_MOUNTS: Final = Path("/proc/self/mountinfo")


def resolve_name(path: Path) -> Path:
    """Return a file's absolute path without links. Raises JournalError for an URI, or another name that is no file's.

    A link to nothing stays, and is refused when the file is created.
    """
    problem = path_problem(path, "a journal is a file")
    if problem is not None:
        raise JournalError(problem)
    if str(path).startswith("file:"):
        message = f"expected the path of the journal's file, got the URI {path}: one file must have one name"
        raise JournalError(message)
    if os.path.islink(path) and not os.path.exists(path):  # noqa: PTH110, PTH114 - False in folders closed to us
        return path.absolute()
    return Path(os.path.realpath(path))


class OpenFiles:
    """The journal's file and its log while they are open: neither may be deleted, replaced or truncated."""

    def __init__(self, path: Path) -> None:
        """Take note of the file, which is there. Raises JournalError if it has another name."""
        # Texts, because making them of paths takes longer than asking the system.
        self._path = str(path)
        status = _status(self._path)
        if os.path.islink(path):  # noqa: PTH114 - as above
            message = f"the journal {path} is a link that led to nothing before: open the journal again"
            raise JournalError(message)
        if S_ISREG(status.st_mode) and status.st_nlink > 1:
            message = (
                f"the journal {path} has {status.st_nlink} names (hard links), and programs under two names would "
                f"double effects: remove all but one, and make copies with Journal.backup()"
            )
            raise JournalError(message)
        if _is_mounted(self._path):
            message = (
                f"the journal {path} is mounted alone, so that its log and its locks are not those of its other name, "
                f"and are lost with a container: mount its folder"
            )
            raise JournalError(message)
        self._file = (status.st_dev, status.st_ino)
        self._size = status.st_size
        self._log_path = f"{path}-wal"
        self._log: tuple[int, bytes] | None = None
        self._log_size = 0
        # The log stays open: opening it twice for each commit takes longer than all else here.
        self._log_fd = -1

    def require_file(self) -> None:
        """Raise JournalCorruptError if the file is not the one that was opened, or has lost its end."""
        size = self._size  # first: other threads come here too, and find a file that has grown
        status = _status(self._path)
        if (status.st_dev, status.st_ino) != self._file:
            _raise_lost(self._path, "replaced")
        if status.st_size < size:
            _raise_lost(self._path, "truncated")
        self._size = max(size, status.st_size)

    def require_intact_log(self) -> None:
        """Raise JournalCorruptError if the log of the last commit was deleted, or has lost its end.

        Call it before a commit, while no one else writes.
        """
        if self._log is None:
            return
        try:
            status = os.fstat(self._log_fd)
            if not status.st_nlink:
                _raise_lost(self._log_path, "deleted")
            # A log that began again, in any process, has other salts, and may be shorter.
            if status.st_size < self._log_size and self._read_salts() == self._log[1]:
                _raise_lost(self._log_path, "truncated")
        except OSError as error:
            raise self._failure(error) from error

    def require_written_log(self) -> None:
        """Raise JournalCorruptError if the log is not that of the last commit, or has lost its end.

        Call it after a commit, while no one else writes.
        """
        try:
            status = os.stat(self._log_path)  # noqa: PTH116 - once for each commit
            if self._log is None:
                self.close()
                self._log_fd = os.open(self._log_path, os.O_RDONLY)
            salts = self._read_salts()
        except FileNotFoundError:
            _raise_lost(self._log_path, "deleted")
        except OSError as error:
            raise self._failure(error) from error
        if self._log is not None and status.st_ino != self._log[0]:
            _raise_lost(self._log_path, "replaced")
        is_shorter = self._log is not None and salts == self._log[1] and status.st_size < self._log_size
        if is_shorter or not any(salts):
            _raise_lost(self._log_path, "truncated")
        self._log, self._log_size = (status.st_ino, salts), status.st_size

    def _read_salts(self) -> bytes:
        return os.pread(self._log_fd, _SALTS_BYTES, _SALTS_START)

    def _failure(self, error: OSError) -> JournalError:
        """Return an error of the file system as ours."""
        return JournalError(f"cannot read the journal's log {self._log_path}: {error.strerror}; nothing was recorded")

    def close(self) -> None:
        """Close the log."""
        descriptor, self._log_fd = self._log_fd, -1
        if descriptor >= 0:
            os.close(descriptor)

    @property
    def log_size(self) -> int:
        """The size of the log after the last commit, in bytes."""
        return self._log_size


def _is_mounted(path: str) -> bool:
    """Return whether a file is a mount of its own, as ``docker run -v runs.db:/data/runs.db`` makes it."""
    # The kernel writes these characters as octal numbers.
    name = re.sub(rb"[ \t\n\\]", lambda found: b"\\%03o" % found[0][0], os.fsencode(path))
    with contextlib.suppress(OSError):
        return any(mount.split(b" ", 5)[4] == name for mount in _MOUNTS.read_bytes().splitlines())
    return False


def _status(path: str) -> stat_result:
    try:
        return os.stat(path)  # noqa: PTH116 - once for each commit
    except FileNotFoundError:
        _raise_lost(path, "deleted")
    except OSError as error:
        message = f"cannot use the journal {path}: {error.strerror}; nothing was recorded"
        raise JournalError(message) from error


def _raise_lost(path: str, verb: str) -> NoReturn:
    message = (
        f"{path} was {verb} while the journal was open: nothing more is recorded, and what was recorded last may be "
        f"lost; restore the file, or close the journal to begin a new one"
    )
    raise JournalCorruptError(message)
