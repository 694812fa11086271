"""Locks in a file beside the journal: one for writing, and one for each run that is being executed.

The file also holds the number of the journal's last commit. SQLite takes a log with a damaged frame for one that ends
there, and would show an earlier state without a word; the number tells.

Linux's open-file-description locks hold between processes, and between several open files of one process. The kernel
releases them when the process dies, however it dies, so a run whose lock is free has no owner. A child that the process
was starting has the file open too until its program is executed, a moment later.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import sys
import threading
import time
import zlib
from typing import TYPE_CHECKING

from ez_ptc._forks import on_fork
from ez_ptc.errors import JournalCorruptError, JournalError
from ez_ptc.journal.stores.protocol import MAX_RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

__all__ = ["FileLocks", "require_locks"]

# struct flock: type, whence, start, length, pid.
_FLOCK = "hhqqi"
_WRITER = 0
# The first byte after that of the writer; each run has the one of its number.
_RUNS = 1
# Shared by all who have the journal open.
_USERS = _RUNS + MAX_RUNS
_PATIENCE_SECONDS = 30.0
_MAX_NAP_SECONDS = 0.02
_OWNER_ONLY = 0o600
# The number of the last commit, and its checksum.
_MARK = ">QI"
_HELD = {errno.EAGAIN, errno.EACCES}


class FileLocks:
    """The locks of one journal, as one user of it: two users exclude each other, in one process too."""

    def __init__(self, path: Path) -> None:
        """Use the file `path`, which is created with the first lock."""
        # A text, because making one of a path takes longer than asking the system.
        self._path = str(path)
        self._fd = -1
        # The device and the number of the open file.
        self._identity = (0, 0)
        # Reentrant: a signal handler may come here while the code it interrupts is here. Held for as long as the file
        # and the owners change, or one thread would release what another has owned since it looked.
        self._changing = threading.RLock()
        # Threads share the locks of their process: so each run has its holder here, too.
        self._owned: dict[int, object] = {}
        on_fork(self, FileLocks._after_fork)

    def _after_fork(self) -> None:
        # A fork shares the locks of its parent as long as it has the file open.
        self._changing = threading.RLock()
        self._owned = {}
        self.close()

    def close(self) -> None:
        """Release every lock."""
        fd, self._fd = self._fd, -1
        self._owned.clear()
        if fd >= 0:
            os.close(fd)

    @contextlib.contextmanager
    def writing(self, seconds: float = _PATIENCE_SECONDS) -> Generator[None]:
        """Return a context in which no other process and no other user writes.

        Raises JournalError if others hold the lock for `seconds`, or if the file system has no locks.
        """
        deadline = time.monotonic() + seconds
        nap = 0.0005
        try:  # from here on: an interruption may come between the lock and the word about it
            while not self._take(_WRITER):
                if time.monotonic() > deadline:
                    message = f"another process has been writing to the journal for {seconds:g} s: {self._path}"
                    raise JournalError(message)
                time.sleep(nap)
                nap = min(2 * nap, _MAX_NAP_SECONDS)
            yield
        finally:
            self._release(_WRITER)

    def enter(self) -> None:
        """Become one of the users who have the journal open; call it while writing."""
        self._take(_USERS, is_shared=True)

    def leave(self) -> None:
        """Stop being one of the users who have the journal open."""
        self._release(_USERS)

    def is_last_user(self) -> bool:
        """Return whether no one else has the journal open; call it while writing, and then `leave`."""
        return self._take(_USERS)

    def require_file(self) -> None:
        """Raise JournalCorruptError if the file of the locks was deleted or replaced: others would not meet them."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - once for each commit
        except FileNotFoundError:
            status = None
        except OSError as error:
            raise self._failure(error) from error
        self._open()
        if status is None or (status.st_dev, status.st_ino) != self._identity:
            message = (
                f"{self._path} was deleted or replaced while the journal was open, and other processes cannot see its "
                f"locks: nothing more is recorded; end all processes with this journal"
            )
            raise JournalCorruptError(message)

    def own(self, run: int, holder: object = None) -> bool:
        """Try to become the owner of a run, for `disown_by` on behalf of a holder. Return whether it had none."""
        mine = object() if holder is None else holder
        with self._changing:
            if self._owned.setdefault(run, mine) is not mine:
                return False
            try:
                is_taken = self._take(_RUNS + run)
            except JournalError:
                self._owned.pop(run, None)
                raise
            except BaseException:  # an interruption may come between the lock and the word about it
                self.disown_by(mine)
                raise
            if not is_taken:
                self._owned.pop(run, None)
            return is_taken

    def disown(self, run: int) -> None:
        """Stop being the owner of a run."""
        with self._changing:
            if run in self._owned:
                # In this order: after an interruption between the two, the next attempt releases it.
                self._release(_RUNS + run)
                self._owned.pop(run, None)

    def disown_by(self, holder: object) -> None:
        """Stop being the owner of what a holder owns; do nothing if that is nothing."""
        with self._changing:
            for run, owner in [*self._owned.items()]:
                if owner is holder:
                    self.disown(run)

    def require(self, run: int) -> None:
        """Do nothing: a process that lives keeps the locks of its open file."""

    @property
    def owns_any(self) -> bool:
        """Whether this user owns a run."""
        return bool(self._owned)

    def is_owned(self, run: int) -> bool:
        """Return whether a run has an owner, in any process."""
        return run in self._owned or self._is_held(_RUNS + run, 1)

    def is_any_owned_elsewhere(self) -> bool:
        """Return whether another user owns a run, also one who has closed the journal meanwhile."""
        return self._is_held(_RUNS, _USERS - _RUNS)

    def _is_held(self, position: int, length: int) -> bool:
        import fcntl

        request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, position, length, 0)
        try:
            answer = fcntl.fcntl(self._open(), fcntl.F_OFD_GETLK, request)
        except OSError as error:
            raise self._failure(error) from error
        return struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK

    def mark(self) -> int:
        """Return the number of the last commit; 0 if it is not known."""
        try:
            data = os.pread(self._open(), struct.calcsize(_MARK), 0)
        except OSError as error:
            raise self._failure(error) from error
        if len(data) < struct.calcsize(_MARK):
            return 0
        number, checksum = struct.unpack(_MARK, data)
        return number if checksum == zlib.crc32(data[:8]) else 0

    def set_mark(self, number: int) -> None:
        """Keep the number of the last commit; call it while writing. It may get lost, if the power fails."""
        fd = self._open()
        data = struct.pack(">Q", number)
        with contextlib.suppress(OSError):  # the disk is full: an earlier number tells less, and nothing wrong
            os.pwrite(fd, data + struct.pack(">I", zlib.crc32(data)), 0)

    def _take(self, position: int, *, is_shared: bool = False) -> bool:
        import fcntl

        mode = fcntl.F_RDLCK if is_shared else fcntl.F_WRLCK
        request = struct.pack(_FLOCK, mode, os.SEEK_SET, position, 1, 0)
        try:
            fcntl.fcntl(self._open(), fcntl.F_OFD_SETLK, request)
        except OSError as error:
            if error.errno in _HELD:
                return False
            raise self._failure(error) from error
        return True

    def _failure(self, error: OSError) -> JournalError:
        """Return an error of the file system as ours."""
        return JournalError(f"cannot lock {self._path}: {error.strerror}; a journal needs a file system with locks")

    def _release(self, position: int) -> None:
        import fcntl

        if self._fd >= 0:
            request = struct.pack(_FLOCK, fcntl.F_UNLCK, os.SEEK_SET, position, 1, 0)
            try:
                fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, request)
            except OSError as error:
                raise self._failure(error) from error

    def _open(self) -> int:
        # Without the lock: the program of a signal handler calls its tools in a thread that the interrupted one, which
        # may have it, waits for.
        fd = self._fd
        if fd >= 0:
            return fd
        with self._changing:
            if self._fd < 0:
                require_locks()
                try:
                    fd = self._create_or_open()
                    status = os.fstat(fd)
                except OSError as error:
                    message = (
                        f"cannot open the journal's lock file {self._path}: {error.strerror}; give the journal a "
                        f"folder that exists and that you may write to, even to read it"
                    )
                    raise JournalError(message) from error
                if self._fd < 0:
                    self._identity = (status.st_dev, status.st_ino)
                    self._fd = fd
                else:  # by a signal handler, since the comparison above
                    os.close(fd)
            return self._fd

    def _create_or_open(self) -> int:
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        except FileExistsError:
            return os.open(self._path, os.O_RDWR)
        os.fchmod(fd, _OWNER_ONLY)  # whatever the mask of this process
        return fd

    # A process that ends may have cleared this module; the kernel closes its files.
    def __del__(self, *, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_ending():
            self.close()


def require_locks() -> None:
    """Raise JournalError on a system without open-file-description locks, which nothing here replaces."""
    with contextlib.suppress(ImportError):
        import fcntl

        # Other systems lay out the structure in another way.
        if sys.platform == "linux" and hasattr(fcntl, "F_OFD_SETLK"):
            return
    message = (
        f"expected Linux, whose file locks a journal needs, got {sys.platform}: execute programs without a journal "
        f"here, or run this in Linux, for example in a container"
    )
    raise JournalError(message)
