"""The worker's end of the connection: length-prefixed frames over a pipe.

A frame is four bytes of length, big-endian, and a JSON object, perhaps with attachments. A reply, which only the host
sends, has its kind and its call's number before its payload instead. Any thread may call. The first thread that waits
reads for all: there is no reader thread, so a program without threads has none.

A call whose recorded reply came with the program does not wait for the host. Its frame is sent later, with others:
before any frame that the host should get at once, and at the end.

If the threads of a program take turns, a `CallOrder` sends its calls, and waits for all.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...protocol.values import codec as values
from ...protocol.values.attachments import join
from ..schedule import Schedule
from .call_paths import count_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "CallOrder",
    "HostGoneError",
    "Link",
    "Pending",
    "Pipe",
    "TooLargeError",
    "read_frame",
    "reply_ahead",
    "reply_body",
]

_scan: Callable[[str, int], tuple[dict[str, Any], int]] = vars(json.JSONDecoder())["scan_once"]
_HEADER = 4
_REPLY_HEADER = 5
_CHUNK = 1 << 14
# The maximum bytes that a call's number and attachments' lengths add to its frame.
_NUMBER = 32
# Bytes; more are sent even if no frame must be.
_MAX_HELD = 1 << 13


class TooLargeError(ValueError):
    """A frame is larger than the host accepts; `size` is its length."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class HostGoneError(ConnectionError):
    """The host closed the socket: no one waits for this program's result."""


class Pipe(Protocol):
    """Two streams of bytes, to the host and from it; each kind of worker has one of its own.

    One thread reads at a time, and one writes.
    """

    spin_seconds: float
    """How many seconds a reader may poll before it sleeps; 0 where nothing sleeps."""

    def read(self, size: int) -> bytes:
        """Wait for bytes and return at most `size` of them; none if no more will come."""
        ...

    def has_data(self, seconds: float) -> bool:
        """Wait for bytes for at most so many seconds; return whether there are any."""
        ...

    def write(self, data: bytes) -> None:
        """Write all of `data`, at the latest before the next `read` waits."""
        ...

    def mute(self) -> None:
        """Discard what is written, until `unmute`."""
        ...

    def unmute(self) -> None:
        """Write to the host again."""
        ...


class Pending:
    """A call that was sent and whose reply has not been taken yet."""

    __slots__ = ("_link", "notify", "reply", "size", "tool_name")

    def __init__(self, link: Link) -> None:
        self._link = link
        self.tool_name = ""
        self.reply: bytes | None = None
        self.size = 0  # of a reply that has been taken
        self.notify: Callable[[], object] | None = None  # called when the reply comes, if threads take turns

    def wait(self) -> tuple[str, bytes]:
        """Return the kind and payload of the reply; meanwhile, read for all threads if no other does."""
        reply = self.reply or self._link.wait(self)
        self.size = len(reply)
        return chr(reply[0]), reply[_REPLY_HEADER:]


class CallOrder(Protocol):
    """Sends the calls of a program with threads taking turns, and waits for the replies."""

    def begin(self) -> None:
        """Begin a program, with the schedule of the link."""
        ...

    def start(self, body: bytes, path: str, attached: Sequence[bytes]) -> Pending:
        """Send a call: its frame without its opening brace and its number, and the pieces of its attachments."""
        ...

    def wait(self, pending: Pending) -> None:
        """Return once a call has its reply."""
        ...


class Link:
    """Frames over a pipe."""

    def __init__(self, pipe: Pipe) -> None:
        """Wrap a pipe."""
        self.pipe = pipe
        self.outstanding = 0  # the number of unanswered calls
        self.room = 1  # the maximum of that
        self.most = 1 << 20  # the maximum bytes of a frame
        self._buffer = bytearray()
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._sleepers = 0
        self._reading = False
        self.writing = threading.Lock()  # held from the numbering of a call on
        self._waiting: dict[int, Pending] = {}
        self.schedule = Schedule()
        self.ordered: CallOrder | None = None
        self.holds = False  # whether frames may be sent later
        self._held = bytearray()
        self._calls = 0

    @property
    def mid_frame(self) -> bool:
        """Whether a frame is being written, so that an interruption would tear it."""
        return self.writing.locked()

    def receive(self) -> dict[str, Any]:
        """Read one frame that is not a reply."""
        return read_frame(self._body())

    def _body(self) -> bytes:
        buffer = self._buffer
        while True:
            end = _HEADER + int.from_bytes(buffer[:_HEADER], "big")
            if len(buffer) >= end > _HEADER:
                body = bytes(memoryview(buffer)[_HEADER:end])
                del buffer[:end]
                return body
            data = self.pipe.read(max(_CHUNK, min(end - len(buffer), 1 << 20)))
            if not data:
                raise HostGoneError
            if not buffer and len(data) == _HEADER + int.from_bytes(data[:_HEADER], "big"):
                # The usual case: one whole frame.
                return data[_HEADER:]
            buffer += data

    def expect(self, recorded: dict[str, Any] | None) -> None:
        """Start a program with what is recorded of it; `Schedule` documents that."""
        self.schedule = Schedule(recorded)
        if self.ordered is not None:
            self.ordered.begin()

    def restart(self) -> None:
        """Count the calls from 1 again."""
        self._calls = 0

    def end(self) -> None:
        """Hold no frame back any longer: the next one is sent at once, after those held back."""
        self.holds = False

    def send(self, frame: dict[str, object], attached: Sequence[bytes] = ()) -> None:
        """Write one frame, whose values are encoded already, with the pieces of its attachments."""
        self.send_body(values.dumps(frame), attached)

    def send_body(self, body: bytes, attached: Sequence[bytes] = ()) -> None:
        """Write one frame with an encoded body, and the pieces of its attachments."""
        with self.writing:
            self.write(body, attached)

    def write(self, body: bytes, attached: Sequence[bytes] = ()) -> None:
        """Write one frame, with the lock `writing`."""
        if attached:
            body = join(body, attached)
        data = len(body).to_bytes(_HEADER, "big") + body
        if self.holds or self._held:
            self._held += data
            if self.holds and len(self._held) < _MAX_HELD:
                return
            data, self._held = bytes(self._held), bytearray()
        self.pipe.write(data)

    def release(self) -> None:
        """Send the frames held back: this program is about to wait."""
        if self._held:
            with self.writing:
                data, self._held = bytes(self._held), bytearray()
                self.pipe.write(data)

    def start(self, call: str, path: str, attached: Sequence[bytes] = ()) -> Pending:
        """Send a call; :meth:`Pending.wait` returns its reply. Waits while too many calls are unanswered.

        Args:
            call: The frame as JSON, without its opening brace and its number.
            path: The call's path.
            attached: The pieces of the frame's attachments.

        Raises:
            TooLargeError: The host does not accept a frame of this size.
        """
        body = call.encode("utf-8", "surrogatepass")
        size = len(body) + sum(map(len, attached))
        if size + _NUMBER > self.most:
            raise TooLargeError(size)
        if self.ordered is not None:
            return self.ordered.start(body, path, attached)
        self._until(self._admit)
        pending = Pending(self)
        with self.writing:
            # Numbered when written: the host expects the calls of all threads in one sequence.
            number = self.next_number()
            reply = self.schedule.arrive(path)
            if reply:
                pending.reply = reply_ahead(reply)
                self.outstanding -= 1
            else:
                self._waiting[number] = pending
            self.holds = bool(reply) and self.schedule.has_ahead
            self.write(b'{"id":%d,%b' % (number, body), attached)
        return pending

    def next_number(self) -> int:
        """Return the number of the next call."""
        self._calls += 1
        return self._calls

    def _admit(self) -> bool:
        if self.outstanding >= self.room:
            return False
        self.outstanding += 1
        return True

    def wait(self, pending: Pending) -> bytes:
        """Return the reply to `pending`; replies to other calls are passed to them."""
        if self.ordered is not None:
            self.ordered.wait(pending)
            return cast("bytes", pending.reply)
        self._until(lambda: pending.reply is not None)
        return cast("bytes", pending.reply)

    def _until(self, ready: Callable[[], bool]) -> None:
        """Return once `ready()` is true; until then, read replies or wait for the thread that reads."""
        if not count_threads() and ready():
            return
        while True:
            with self._lock:
                while not ready():
                    if not self._reading:
                        self._reading = True
                        break
                    self._sleepers += 1
                    try:
                        self._turn.wait()
                    finally:
                        self._sleepers -= 1
                else:
                    return
            try:
                self._deliver(self._body())
            finally:
                with self._lock:
                    self._reading = False
                    if self._sleepers:
                        self._turn.notify_all()

    def has_reply(self, seconds: float) -> bool:
        """Wait for the bytes of a reply for at most so many seconds; return whether there are any."""
        # Several replies may have come at once.
        return len(self._buffer) > _HEADER or self.pipe.has_data(seconds)

    def receive_reply(self) -> tuple[int, bytes]:
        """Read the next reply; return the number of its call as well."""
        reply = self._body()
        return int.from_bytes(reply[1:_REPLY_HEADER], "big"), reply

    def _deliver(self, reply: bytes) -> None:
        pending = self._waiting.pop(int.from_bytes(reply[1:_REPLY_HEADER], "big"), None)
        if pending is not None:  # otherwise the call was answered by a reply that came with the program
            pending.reply = reply
            self.outstanding -= 1

    def take_replies(self, data: bytes) -> None:
        """Deliver the replies in bytes that were read elsewhere; the last one may be incomplete."""
        self._buffer += data
        while len(self._buffer) >= _HEADER + int.from_bytes(self._buffer[:_HEADER], "big") > _HEADER:
            self._deliver(self._body())


def read_frame(body: bytes) -> dict[str, Any]:
    """Return a frame of the host, which is trusted."""
    return _scan(body.decode("utf-8", "surrogatepass"), 0)[0]


def reply_ahead(reply: str) -> bytes:
    """Return a recorded reply as the host sends it, with the number of no call."""
    encoded = reply.encode("utf-8", "surrogatepass")
    return b"%b\0\0\0\0%b" % (encoded[:1], encoded[1:])


def reply_body(number: int, value: object) -> bytes:
    """Return the body of a reply as the host sends it, with a value as JSON."""
    return b"v" + number.to_bytes(4, "big") + values.dumps(value)
