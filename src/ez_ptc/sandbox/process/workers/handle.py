"""One worker as the host holds it: its socket and its pidfd."""

from __future__ import annotations

import _socket
import contextlib
import os
import select
import signal
from typing import Final

__all__ = ["WorkerHandle"]


class WorkerHandle:
    """A process that waits for one program. It ends when its handle is closed, or dropped."""

    __slots__ = ("_pidfd", "pid", "socket")

    def __init__(self, pid: int, socket_fd: int, pidfd: int) -> None:
        """Take the id it has in its own namespace, and its descriptors, which :meth:`close` gives back."""
        self.pid = pid
        self._pidfd = pidfd
        # Of the plain class, which costs half of the other, and told what it is, so that nobody asks the kernel.
        self.socket: Final = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, socket_fd)
        self.socket.settimeout(0)

    @property
    def ended(self) -> bool:
        """Whether the process is gone, as one that waits may be when memory is short."""
        if self._pidfd < 0:
            return True
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(0))

    def interrupt(self) -> None:
        """Ask the program to stop: a TimeoutError is raised inside it."""
        self._signal(signal.SIGALRM)

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._signal(signal.SIGKILL)

    def hang_up(self) -> None:
        """End the conversation with the worker: whoever reads from it, in any thread, finds it at its end."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(_socket.SHUT_RDWR)

    def disown(self) -> None:
        """Give the descriptors back and leave the process to itself: it is killed already, or a fork's parent's."""
        pidfd, self._pidfd = self._pidfd, -1
        self.socket.close()
        if pidfd >= 0:
            os.close(pidfd)

    def close(self) -> None:
        """End the process and give its descriptors back. Closing twice is fine."""
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

    def __del__(self) -> None:
        self.close()
