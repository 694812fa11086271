"""One worker that is restored after each program, as its zygote sees it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import signal
import struct
from typing import TYPE_CHECKING, Final

from .memory import Memory, TraceError
from .system import control
from .tracing import Stop, WorkerRegisters

if TYPE_CHECKING:
    import _socket

__all__ = ["Kept", "Listener"]


class Listener:
    """The zygote's end of the second filter of one worker, which tells of each system call that may leave something.

    The filter `traceless` lists the calls that leave nothing, and the kernel holds any other one until the zygote lets
    it go on. It refuses nothing; that is the task of the first filter, whose refusals come before. A worker that has
    made such a call after its snapshot is tainted, and never restored.
    """

    def __init__(self, fd: int) -> None:
        """Wrap the descriptor that the filter was installed with."""
        self.fd = fd
        self._notice = ctypes.create_string_buffer(_BYTES)
        with contextlib.suppress(OSError):  # older than 6.6, and slower
            control(fd, _SET_FLAGS, _WAKE_ON_THIS_CORE, "set the wake-up of a filter")

    def answer(self) -> int | None:
        """Let the next call go on, and return its number; None if it was interrupted before."""
        ctypes.memset(self._notice, 0, _BYTES)
        try:
            control(self.fd, _RECEIVE, self._notice, "receive the notice of a system call")
            identifier, _, _, number = _HEAD.unpack_from(self._notice)
            answer = ctypes.create_string_buffer(_ANSWER.pack(identifier, 0, 0, _GO_ON), _ANSWER.size)
            control(self.fd, _SEND, answer, "answer the notice of a system call")
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.EINTR}:
                raise
            return None
        return number


_RECEIVE, _SEND, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
_WAKE_ON_THIS_CORE = 1
_GO_ON = 1
_BYTES: Final = 80
_ANSWER: Final = struct.Struct("QqiI")
# Where `struct seccomp_notif` has the identifier, and the number of the call.
_HEAD: Final = struct.Struct("QIIi")

# Its programs share its CPU time: a new one takes its place before the limit of one of them would be short. The worker
# raises that limit by a second.
_MAX_CPU_SECONDS = 0.5


class Kept:
    """A worker from its birth on: first it gives access to itself, then its snapshot is taken."""

    def __init__(self, number: int, pid: int, agent: _socket.socket) -> None:
        """Know a forked worker by its number; `agent` is the socket it reports to."""
        self.number = number
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self.agent = agent
        self.taint: int | None = None
        """The number of a system call, made after the snapshot, that may have left something."""
        self.listener: Listener | None = None
        self.memory: Memory | None = None
        self.registers: WorkerRegisters | None = None
        self._access: list[int] = []
        self._size = b""
        self._limits = (0, 0)

    def take_access(self, fds: list[int]) -> None:
        """Take the worker's userfaultfd, page map, list of mappings and sizes."""
        self._access = fds

    def take_listener(self, fds: list[int]) -> None:
        """Take the listener of the worker's second filter."""
        (fd,) = fds
        self.listener = Listener(fd)

    def answer(self) -> None:
        """Let the worker's system call go on, and note that it was made."""
        number = None if self.listener is None else self.listener.answer()
        if self.memory is not None and number is not None:
            self.taint = number

    def take_snapshot(self) -> None:
        """Take the snapshot to which `restore` returns.

        Raises:
            TraceError: The worker is not waiting for its first program.
            OSError: The kernel refuses.
        """
        tracker, pagemap, maps, _ = self._access
        with Stop(self.pid) as stop:
            self.registers = WorkerRegisters(self.pid)
            self._limits = resource.prlimit(self.pid, resource.RLIMIT_DATA)
            self.memory = Memory(self.pid, tracker, pagemap, maps)
            self._size = self._read_size()
            del stop

    def restore(self) -> None:
        """Return the worker to its snapshot.

        Raises:
            TraceError: It cannot be restored, and must be killed.
            OSError: The kernel refuses, and it must be killed.
        """
        if self.memory is None or self.registers is None:
            message = "it has no snapshot"
            raise TraceError(message)
        if self.taint is not None:
            message = f"it made system call {self.taint}"
            raise TraceError(message)
        with Stop(self.pid) as stop:
            if stop.cpu_seconds > _MAX_CPU_SECONDS:
                message = "its CPU time is used up"
                raise TraceError(message)
            if self._read_size() != self._size:
                message = "its mappings have changed"
                raise TraceError(message)
            # Before memory: nothing of the worker runs any more.
            if resource.prlimit(self.pid, resource.RLIMIT_DATA, self._limits)[1] != self._limits[1]:
                message = "its limits have changed"
                raise TraceError(message)
            self.memory.restore()
            self.registers.write(self.pid)

    def _read_size(self) -> bytes:
        """Return the size of all mappings, in pages."""
        return os.pread(self._access[-1], 64, 0).partition(b" ")[0]

    def close(self) -> None:
        """Kill the worker, and drop everything that belongs to it."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        self.agent.close()
        for fd in (self.pidfd, *self._access):
            os.close(fd)
        self._access = []
        if self.listener is not None:
            os.close(self.listener.fd)
            self.listener = None
        if self.memory is not None:
            self.memory.close()
            self.memory = None
