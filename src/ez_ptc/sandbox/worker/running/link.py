"""The worker's end of the wire: length-prefixed frames over one inherited socket.

Every frame is four bytes of length, big-endian, and a JSON object; only a reply, which is the host's, has its kind and
its call's number before its payload. Any thread may call; whoever waits first reads for all (there is no reader
thread, so a program that starts none has only its own).

Where a core is free, who waits for a reply looks for it for some microseconds before it sleeps: waking up another core
takes longer than most tools do. Where looking does not help, because both ends share a core or the tool takes its time,
it is left off for a while.
"""

from __future__ import annotations

import _socket
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any, cast

from ..values import codec as values
from .call_paths import count_threads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HostGoneError", "Link", "Pending", "TooLargeError", "read_frame", "reply_body"]

_scan: Callable[[str, int], tuple[dict[str, Any], int]] = vars(json.JSONDecoder())["scan_once"]
_HEADER = 4
_REPLY_HEADER = 5
_CHUNK = 1 << 14
_MOST_MISSES = 3
"""So often may the host be looked for in vain; then who waits sleeps at once, and looks again now and then."""
_TRY_AGAIN = 50
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
        self.reply: bytes | None = None

    def wait(self) -> tuple[str, bytes]:
        """Return the kind and the payload of the reply; read for everybody while nobody else does."""
        reply = self._link.wait(self)
        return chr(reply[0]), reply[_REPLY_HEADER:]


class Link:
    """Frames in and out over two descriptors (one socket, or a private pair during warm-up)."""

    def __init__(self, receive_fd: int, send_fd: int) -> None:
        """Take two descriptors. Nothing is done with them before :meth:`open`."""
        self._receive_fd = receive_fd
        self.send_fd = send_fd
        self.outstanding = 0  # how many calls are unanswered
        self.room = 1  # how many may be
        self.most = 1 << 20  # how many bytes a frame may have
        self.patience = 0.0  # how many seconds to look for a reply before sleeping
        self._buffer = bytearray()
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._sleepers = 0
        self._reading = False
        self._writing = threading.Lock()
        self._waiting: dict[int, Pending] = {}
        self._calls = 0
        self._misses = 0
        self._look: Callable[[int, int], bytes] | None = None

    def open(self) -> None:
        """Get ready to look for replies without sleeping: the descriptor itself still blocks, as programs expect."""
        if self._look is None:
            self._look = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, self._receive_fd).recv

    @property
    def mid_frame(self) -> bool:
        """Whether a frame is being written right now, so that an interruption would tear it."""
        return self._writing.locked()

    def receive(self) -> dict[str, Any]:
        """Read one frame that is no reply."""
        return read_frame(self._body())

    def _body(self) -> bytes:
        buffer = self._buffer
        while True:
            end = _HEADER + int.from_bytes(buffer[:_HEADER], "big")
            if len(buffer) >= end > _HEADER:
                body = bytes(memoryview(buffer)[_HEADER:end])
                del buffer[:end]
                return body
            data = self._read(max(_CHUNK, min(end - len(buffer), 1 << 20)))
            if not buffer and len(data) == _HEADER + int.from_bytes(data[:_HEADER], "big"):
                # What nearly always comes: one frame, whole.
                return data[_HEADER:]
            buffer += data

    def _read(self, size: int) -> bytes:
        data: bytes | None = None
        if self._look is not None and self.patience and not count_threads() and self._looking_helps():
            data = self._poll_bytes(self._look, size)
        if data is None:
            data = os.read(self._receive_fd, size)
        if not data:
            raise HostGoneError
        return data

    def _looking_helps(self) -> bool:
        self._misses += 1
        if self._misses > _TRY_AGAIN:
            self._misses = _MOST_MISSES
        return self._misses <= _MOST_MISSES

    def _poll_bytes(self, look: Callable[[int, int], bytes], size: int) -> bytes | None:
        """Return what comes within some microseconds."""
        until = time.perf_counter() + self.patience
        while time.perf_counter() < until:
            try:
                data = look(size, _socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
            # Found so late, it was found by chance: somebody else had this core in between.
            self._misses = 0 if time.perf_counter() < until + self.patience else _MOST_MISSES
            return data
        return None

    def send(self, frame: dict[str, object]) -> None:
        """Write one frame; its values are encoded already."""
        self.send_body(values.dumps(frame))

    def send_body(self, body: bytes) -> None:
        """Write one frame whose body is encoded already."""
        with self._writing:
            self._write(body)

    def _write(self, body: bytes) -> None:
        data = len(body).to_bytes(_HEADER, "big") + body
        sent = os.write(self.send_fd, data)
        if sent < len(data):
            left = memoryview(data)[sent:]
            while left:
                left = left[os.write(self.send_fd, left) :]

    def start(self, call: str) -> Pending:
        """Send a call; the answer is taken with :meth:`Pending.wait`. Waits while too many are unanswered.

        Args:
            call: The frame as JSON, without its opening brace and its number.

        Raises:
            TooLargeError: The host would not take a frame of this size.
        """
        body = call.encode("utf-8", "surrogatepass")
        if len(body) + _NUMBER > self.most:
            raise TooLargeError(len(body))
        self._until(self._admit)
        pending = Pending(self)
        with self._writing:
            # Numbered where it is written: the host wants the calls of all threads in one row.
            self._calls += 1
            self._waiting[self._calls] = pending
            self._write(b'{"id":%d,%b' % (self._calls, body))
        return pending

    def _admit(self) -> bool:
        if self.outstanding >= self.room:
            return False
        self.outstanding += 1
        return True

    def wait(self, pending: Pending) -> bytes:
        """Return the reply to ``pending``; replies to others that come first are handed to them."""
        self._until(lambda: pending.reply is not None)
        return cast("bytes", pending.reply)

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
                reply = self._body()
                self._waiting.pop(int.from_bytes(reply[1:_REPLY_HEADER], "big")).reply = reply
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


def read_frame(body: bytes) -> dict[str, Any]:
    """Return a frame of the host's, which is taken as it is."""
    return _scan(body.decode("utf-8", "surrogatepass"), 0)[0]


def reply_body(number: int, value: object) -> bytes:
    """Return the body of a reply as the host sends it, with a value as it is in JSON."""
    return b"v" + number.to_bytes(4, "big") + values.dumps(value)
