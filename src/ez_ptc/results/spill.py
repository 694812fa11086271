"""Results on disk: files of one private folder, for one or several processes."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["SpillFolder"]

_MAX_BYTES: Final = 1 << 30
_MAX_AGE_SECONDS: Final = 7 * 24 * 3600.0
_SUFFIX: Final = ".result"
_NAME_BYTES: Final = 16
_OWNER_ONLY: Final = 0o700
_OTHERS: Final = 0o077


class SpillFolder:
    """A folder of results, for `ResultStore`.

    It is created for its owner only. Each file is named by a random number and the digest of its bytes, is written
    once, and is never reached through a link. Files of all processes count against the quota; those of a
    killed process are removed when they are a week old.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_bytes: int = _MAX_BYTES) -> None:
        """Check the folder, or create it. Raises OSError if others may use it, or it cannot be used."""
        if os.name != "posix":
            raise OSError(errno.ENOSYS, "spill= needs a POSIX system: elsewhere, folders have no mode for one user")
        self._path: Final = Path(path).absolute()
        self._max_bytes = max_bytes
        try:
            with contextlib.suppress(FileExistsError):
                self._path.mkdir(mode=_OWNER_ONLY)
            with self._open():
                pass
        except (FileNotFoundError, NotADirectoryError) as error:
            message = f"expected spill={str(self._path)!r} as a folder in one that exists: {error.strerror}"
            raise type(error)(error.errno, message) from None

    def write(self, body: bytes) -> str:
        """Write bytes to a new file and return its name. Raises OSError with the reason if it cannot."""
        name = f"{secrets.token_hex(_NAME_BYTES)}-{hashlib.sha256(body).hexdigest()}{_SUFFIX}"
        with self._open() as folder:
            self._require_room(folder, len(body))
            file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
            try:
                with os.fdopen(file, "wb") as stream:
                    stream.write(body)
                # Another process may have written at the same time: without a lock, both of them give way.
                self._require_room(folder, 0)
            except BaseException:  # a full disk, or an interruption: half a file is of no use
                _remove(name, folder)
                raise
        return name

    def read(self, name: str) -> bytes:
        """Return the bytes of a file. Raises OSError if it is gone or was changed."""
        with self._open() as folder:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
            with os.fdopen(file, "rb") as stream:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise OSError(errno.EINVAL, "it is not a file")
                body = stream.read()
        if hashlib.sha256(body).hexdigest() != name.removesuffix(_SUFFIX).rpartition("-")[2]:
            raise OSError(errno.EIO, "its content was changed")
        return body

    def remove(self, name: str) -> None:
        """Remove a file, if it is still there and the folder can be changed."""
        with contextlib.suppress(OSError), self._open() as folder:
            _remove(name, folder)

    @contextlib.contextmanager
    def _open(self) -> Generator[int]:
        folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            status = os.fstat(folder)
            if status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
                message = (
                    f"expected spill={str(self._path)!r} as a folder of this user's own, got mode "
                    f"{stat.S_IMODE(status.st_mode):04o} of user {status.st_uid}: chmod 700 it, or name another one"
                )
                raise PermissionError(errno.EPERM, message)
            yield folder
        finally:
            os.close(folder)

    def _require_room(self, folder: int, size: int) -> None:
        if self._used(folder) + size > self._max_bytes:
            raise OSError(errno.EDQUOT, f"the files in it would exceed {self._max_bytes:,} bytes")

    @staticmethod
    def _used(folder: int) -> int:
        """Return the bytes of all files, after those of killed processes are removed."""
        used, oldest = 0, time.time() - _MAX_AGE_SECONDS
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another process has just removed it
                    status = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_SUFFIX) and status.st_mtime < oldest:
                        _remove(entry.name, folder)
                    else:
                        used += status.st_size
        return used


def _remove(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
