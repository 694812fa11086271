"""One worker as the host holds it: its socket and its pidfd."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket

__all__ = ["WorkerHandle"]


class WorkerHandle:
    """A process that waits for one program."""

    __slots__ = ("_pidfd", "pid", "socket")

    def __init__(self, pid: int, socket_fd: int, pidfd: int) -> None:
        """Take the id it has in its own namespace, and its descriptors, which are closed with it."""
        self.pid = pid
        self.socket = socket.socket(fileno=socket_fd)
        self._pidfd = pidfd

    @property
    def ended(self) -> bool:
        """Whether the process is gone, as one that waits may be when memory is short."""
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(0))

    def interrupt(self) -> None:
        """Ask the program to stop: a TimeoutError is raised inside it."""
        self._signal(signal.SIGALRM)

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._signal(signal.SIGKILL)

    def disown(self) -> None:
        """Give the descriptors back and leave the process to itself, as a fork of the host must."""
        self.socket.close()
        os.close(self._pidfd)
        self._pidfd = -1

    def close(self) -> None:
        """End the process and give its descriptors back."""
        if self._pidfd < 0:
            return
        self.kill()
        self.disown()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)
