"""The one name of a journal's file, and whether the file under it is still the one that was opened.

SQLite and the locks beside the file go by its name. Two names of one file would have two logs and two sets of locks,
and programs under both would double effects. And SQLite goes on in a file without a name, which no one finds again.
"""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Final, NoReturn

from ez_ptc.errors import JournalCorruptError, JournalError

if TYPE_CHECKING:
    from os import stat_result

__all__ = ["OpenFiles", "resolve_name"]

# Where the header of the log has the two words that differ each time the log begins again.
_SALTS_START: Final = 16
_SALTS_BYTES: Final = 8


def resolve_name(path: Path) -> Path:
    """Return a file's absolute path without links. Raises JournalError for an URI.

    A link to nothing stays, and is refused when the file is created.
    """
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
        self._path = path
        status = _status(path)
        if os.path.islink(path):  # noqa: PTH114 - as above
            message = f"the journal {path} is a link that led to nothing before: open the journal again"
            raise JournalError(message)
        if S_ISREG(status.st_mode) and status.st_nlink > 1:
            message = (
                f"the journal {path} has {status.st_nlink} names (hard links), and programs under two names would "
                f"double effects: remove all but one, and make copies with Journal.backup()"
            )
            raise JournalError(message)
        self._file = (status.st_dev, status.st_ino)
        self._size = status.st_size
        self._log_path = path.with_name(f"{path.name}-wal")
        self._log: tuple[int, bytes] | None = None
        self._log_size = 0
        # The log stays open: opening it twice for each commit takes longer than all else here.
        self._log_fd = -1

    def require_file(self) -> None:
        """Raise JournalCorruptError if the file is not the one that was opened, or has lost its end."""
        status = _status(self._path)
        if (status.st_dev, status.st_ino) != self._file:
            _raise_lost(self._path, "replaced")
        if status.st_size < self._size:
            _raise_lost(self._path, "truncated")
        self._size = status.st_size

    def require_log(self, *, is_written: bool) -> None:
        """Raise JournalCorruptError if the log is not that of the last check, or has lost its end.

        Call it while no one else writes; with `is_written`, right after a commit, when there is a log.
        """
        try:
            status = os.stat(self._log_path)  # noqa: PTH116 - twice for each commit
            if self._log_fd < 0 or self._log is None:
                self.close()
                self._log_fd = os.open(self._log_path, os.O_RDONLY)
            salts = os.pread(self._log_fd, _SALTS_BYTES, _SALTS_START)
        except FileNotFoundError:
            if is_written or self._log is not None:
                _raise_lost(self._log_path, "deleted")
            return
        except OSError as error:
            message = f"cannot read the journal's log {self._log_path}: {error.strerror}; nothing was recorded"
            raise JournalError(message) from error
        if self._log is not None and status.st_ino != self._log[0]:
            _raise_lost(self._log_path, "replaced")
        if self._log is not None and salts == self._log[1] and status.st_size < self._log_size:
            _raise_lost(self._log_path, "truncated")
        if is_written:
            if not any(salts):
                _raise_lost(self._log_path, "truncated")
            self._log, self._log_size = (status.st_ino, salts), status.st_size

    def close(self) -> None:
        """Close the log."""
        descriptor, self._log_fd = self._log_fd, -1
        if descriptor >= 0:
            os.close(descriptor)

    @property
    def log_size(self) -> int:
        """The size of the log after the last commit, in bytes."""
        return self._log_size


def _status(path: Path) -> stat_result:
    try:
        return path.stat()
    except FileNotFoundError:
        _raise_lost(path, "deleted")
    except OSError as error:
        message = f"cannot use the journal {path}: {error.strerror}; nothing was recorded"
        raise JournalError(message) from error


def _raise_lost(path: Path, verb: str) -> NoReturn:
    message = (
        f"{path} was {verb} while the journal was open: nothing more is recorded, and what was recorded last may be "
        f"lost; restore the file, or close the journal to begin a new one"
    )
    raise JournalCorruptError(message)
