"""The pipe of a worker process: one inherited socket, or a private pair of descriptors during warm-up."""

from __future__ import annotations

import _thread
import math
import os
import select
from typing import TYPE_CHECKING

from ...protocol.both_ends.spinning import Spinner

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NOWHERE_FD", "DescriptorPipe"]

NOWHERE_FD = 1
# More milliseconds than this are no number to the kernel.
_MAX_SECONDS = 1e6
_count_threads: Callable[[], int] = vars(_thread)["_count"]


class DescriptorPipe:
    """Reads one descriptor and writes another.

    If the host allows it, a reader polls for bytes before it sleeps; see the module `spinning`.
    """

    def __init__(self, receive_fd: int, send_fd: int) -> None:
        """Wrap two descriptors, unused until the first read or write."""
        self.spin_seconds = 0.0
        self._receive_fd = receive_fd
        self._send_fd = self._far_fd = send_fd
        self._spinner = Spinner()
        poll = select.poll()
        poll.register(receive_fd, select.POLLIN)
        self._poll: Callable[[int], object] = poll.poll

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none if the other end is closed."""
        if self.spin_seconds and not _count_threads():
            self._spinner.wait(self.spin_seconds, self._poll)
        return os.read(self._receive_fd, size)

    def has_data(self, seconds: float) -> bool:
        """Wait for bytes for at most so many seconds; return whether there are any."""
        return bool(self._poll(math.ceil(min(seconds, _MAX_SECONDS) * 1e3)))

    def write(self, data: bytes) -> None:
        """Write all of `data`."""
        sent = os.write(self._send_fd, data)
        if sent < len(data):
            rest = memoryview(data)[sent:]
            while rest:
                rest = rest[os.write(self._send_fd, rest) :]

    def mute(self) -> None:
        """Discard what is written, until `unmute`."""
        self._send_fd = NOWHERE_FD

    def unmute(self) -> None:
        """Write to the other end again."""
        self._send_fd = self._far_fd
