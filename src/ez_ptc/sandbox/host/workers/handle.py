"""The host's handle of one worker: its socket and its pidfd."""

from __future__ import annotations

import _socket
import contextlib
import fcntl
import os
import select
import signal
import struct
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ez_ptc.sandbox.protocol.records.worker_state import WorkerLife

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["WorkerHandle"]


class WorkerHandle(WorkerLife):
    """A worker process for one program. It ends when its handle is closed or dropped."""

    __slots__ = ("_leash", "_pidfd", "head", "number", "pid", "socket")

    def __init__(
        self, pid: int, socket_fd: int, pidfd: int, *, number: int = 0, leash: _socket.socket | None = None
    ) -> None:
        """Wrap the worker's id, in its own PID namespace, and its descriptors, owned by the handle.

        A worker that an extension of the zygote knows has a `number` there; for any other, it is 0. With the end of the
        socket `leash`, the zygote ends, and the kernel ends all its workers.
        """
        super().__init__()
        self._leash = leash
        self.pid = pid
        self.number = number
        self.head: bytes | None = None
        self._pidfd = pidfd
        # The C class costs half as much as `socket.socket`; with the family given, it does not ask the kernel.
        self.socket: Final = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, socket_fd)
        self.socket.settimeout(0)

    def prepare(self, head: bytes, frame: bytes) -> bool:
        """Send the frame with the limits and tools in `head` in advance; return whether the worker has it."""
        self.head = head
        try:
            return self.socket.send(frame, _socket.MSG_NOSIGNAL) == len(frame)
        except OSError:
            return False

    @property
    def ended(self) -> bool:
        """Whether the process has ended; the kernel may kill a waiting one if memory is short."""
        if self._pidfd < 0:
            return True
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(0))

    @property
    def is_quiet(self) -> bool:
        """Whether no byte is in the socket, in either direction."""
        fd, none = self.socket.fileno(), bytes(struct.calcsize("i"))
        try:
            # Everything sent was read at the other end, and the reverse.
            return all(fcntl.ioctl(fd, queue, none) == none for queue in (termios.TIOCOUTQ, termios.FIONREAD))
        except OSError:
            return False

    def host_pid(self) -> int | None:
        """Return the process's id in the host's PID namespace, or None if the kernel does not tell."""
        with contextlib.suppress(OSError, ValueError):
            for line in Path(f"/proc/self/fdinfo/{self._pidfd}").read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(":")
                if name == "Pid" and int(value) > 0:
                    return int(value)
        return None

    def interrupt(self) -> None:
        """Ask the program to stop: it gets a TimeoutError."""
        self._signal(signal.SIGALRM)

    def kill(self) -> None:
        """Kill the process."""
        self._signal(signal.SIGKILL)

    def hang_up(self) -> None:
        """Shut the socket down, so that readers in all threads reach its end."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(_socket.SHUT_RDWR)

    def disown(self) -> None:
        """Close the descriptors without killing the process: it is dead already, or belongs to a fork's parent."""
        self.change("close")
        pidfd, self._pidfd = self._pidfd, -1
        self.socket.close()
        if pidfd >= 0:
            os.close(pidfd)

    def close(self) -> None:
        """Kill the process and close its descriptors. Closing twice is harmless."""
        self.kill()
        self.disown()

    def _signal(self, number: int) -> None:
        if self._pidfd < 0:
            return
        try:
            signal.pidfd_send_signal(self._pidfd, number)
        except ProcessLookupError:
            # It has ended by itself.
            return
        except PermissionError:
            # This process has given up its rights since the boot, which showed that it could.
            if self._leash is None:
                raise
            with contextlib.suppress(OSError):
                self._leash.shutdown(_socket.SHUT_RDWR)

    def __del__(self, *, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if is_ending():
            # Python may have cleared this module. The worker ends with its socket.
            self.socket.close()
        else:
            self.close()
