"""The worker's end of the wire: length-prefixed frames over one inherited socket.

Every frame is four bytes of length, big-endian, and a JSON object. Any thread may call; whoever waits first reads for
all (there is no reader thread, so a program that starts none has only its own).
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, cast

from . import values

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HostGoneError", "Link", "Pending", "TooLargeError"]

_HEADER = 4
_CHUNK = 1 << 16
_NUMBER = 32
"""Bytes that a call's number adds to its frame, at most."""


class TooLargeError(ValueError):
    """A frame is larger than the host takes; ``size`` says how large."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class HostGoneError(ConnectionError):
    """The host closed the socket: nobody waits for this program any more."""


class Pending:
    """A call that was sent and whose answer has not been taken yet."""

    __slots__ = ("_link", "reply")

    def __init__(self, link: Link) -> None:
        self._link = link
        self.reply: dict[str, object] | None = None

    def wait(self) -> dict[str, object]:
        """Return the reply frame; read for everybody while nobody else does."""
        return self._link.wait(self)


class Link:
    """Frames in and out over two descriptors (one socket, or a private pair during warm-up)."""

    def __init__(self, receive_fd: int, send_fd: int, read_reply: Callable[[bytes], object]) -> None:
        """Take two descriptors, and what makes a reply frame of its bytes."""
        self._receive_fd = receive_fd
        self._send_fd = send_fd
        self._read_reply = read_reply
        self.outstanding = 0  # how many calls are unanswered
        self.room = 1  # how many may be
        self.most = 1 << 20  # how many bytes a frame may have
        self._buffer = bytearray()
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._sleepers = 0
        self._reading = False
        self._writing = threading.Lock()
        self._waiting: dict[int, Pending] = {}
        self._calls = 0

    @property
    def mid_frame(self) -> bool:
        """Whether a frame is being written right now, so that an interruption would tear it."""
        return self._writing.locked()

    def receive(self) -> dict[str, object]:
        """Read one frame that is no reply."""
        return cast("dict[str, object]", values.loads(self._body()))

    def _body(self) -> bytes:
        self._fill(_HEADER)
        end = _HEADER + int.from_bytes(self._buffer[:_HEADER], "big")
        self._fill(end)
        body = bytes(self._buffer[_HEADER:end])
        del self._buffer[:end]
        return body

    def _fill(self, size: int) -> None:
        while len(self._buffer) < size:
            data = os.read(self._receive_fd, max(_CHUNK, min(size, 1 << 20)))
            if not data:
                raise HostGoneError
            self._buffer += data

    def send(self, frame: dict[str, object]) -> None:
        """Write one frame; its values are encoded already."""
        self.send_body(values.dumps(frame))

    def send_body(self, body: bytes) -> None:
        """Write one frame whose body is encoded already."""
        with self._writing:
            self._write(body)

    def _write(self, body: bytes) -> None:
        data = memoryview(len(body).to_bytes(_HEADER, "big") + body)
        while data:
            data = data[os.write(self._send_fd, data) :]

    def start(self, frame: dict[str, object]) -> Pending:
        """Send a call; the answer is taken with :meth:`Pending.wait`. Waits while too many are unanswered.

        Raises:
            TooLargeError: The host would not take a frame of this size.
        """
        body = values.dumps(frame)
        if len(body) + _NUMBER > self.most:
            raise TooLargeError(len(body))
        self._until(self._admitted)
        pending = Pending(self)
        with self._writing:
            # Numbered where it is written: the host wants the calls of all threads in one row.
            self._calls += 1
            self._waiting[self._calls] = pending
            self._write(b'{"id":%d,%b' % (self._calls, body[1:]))
        return pending

    def _admitted(self) -> bool:
        if self.outstanding >= self.room:
            return False
        self.outstanding += 1
        return True

    def wait(self, pending: Pending) -> dict[str, object]:
        """Return the reply to ``pending``; replies to others that come first are handed to them."""
        self._until(lambda: pending.reply is not None)
        return cast("dict[str, object]", pending.reply)

    def _until(self, ready: Callable[[], bool]) -> None:
        """Return once ``ready()``; until then read replies, or wait for whoever reads them."""
        while True:
            with self._lock:
                while not ready():
                    if not self._reading:
                        self._reading = True
                        break
                    self._sleep()
                else:
                    return
            try:
                frame = cast("dict[str, object]", self._read_reply(self._body()))
                self._waiting.pop(cast("int", frame["id"])).reply = frame
                self.outstanding -= 1
            finally:
                with self._lock:
                    self._reading = False
                    if self._sleepers:
                        self._turn.notify_all()

    def _sleep(self) -> None:
        self._sleepers += 1
        try:
            self._turn.wait()
        finally:
            self._sleepers -= 1
