"""The pipe of a worker in WebAssembly: one function of the host, `turn`, sends, waits and receives.

What is written is only collected. It leaves with the next wait, so calls that are started side by side reach the host
as one batch. The first character of what `turn` returns tells what came: data, the request to stop, the end, or nothing
in time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TurnPipe"]

_FOREVER = -1.0
_DATA = "d"
_STOP = "s"
_END = "e"
# Collected bytes are sent without a wait beyond this many, so that output takes no memory of the program.
_MAX_COLLECTED = 1 << 18


class TurnPipe:
    """Bytes to the host and from it. They travel as characters of the same number, which the host copies fastest."""

    def __init__(self, turn: Callable[[str, float], str]) -> None:
        """Use the host's function `turn(sent, seconds)`."""
        self.spin_seconds = 0.0
        self.stop: Callable[[], None] | None = None
        self._turn = turn
        self._collected: list[bytes] = []
        self._size = 0
        self._is_muted = False
        self._inbox = b""
        self._is_over = False

    def read(self, size: int) -> bytes:
        """Wait for the next bytes; none if the host is gone. They may be more than `size`."""
        del size
        while not self._is_over:
            data = self.wait(_FOREVER)
            if data:
                return data
        return b""

    def has_data(self, seconds: float) -> bool:
        """Wait for bytes for at most so many seconds; return whether there are any."""
        self._inbox = self.wait(seconds)
        return bool(self._inbox)

    def wait(self, seconds: float) -> bytes:
        """Send what was collected, and wait for bytes for at most so many seconds; none if none came in time.

        Raises what the program is stopped with, if the host asks for that meanwhile.
        """
        if self._inbox:
            data, self._inbox = self._inbox, b""
            return data
        answer = self._send(seconds)
        what = answer[:1]
        if what == _DATA:
            return answer[1:].encode("latin-1")
        if what == _END:
            self._is_over = True
        elif what == _STOP and self.stop is not None:
            self.stop()
        return b""

    def _send(self, seconds: float) -> str:
        sent = b"".join(self._collected)
        self._collected.clear()
        self._size = 0
        return self._turn(sent.decode("latin-1"), seconds)

    def write(self, data: bytes) -> None:
        """Collect `data`."""
        if self._is_muted:
            return
        self._collected.append(data)
        self._size += len(data)
        if self._size > _MAX_COLLECTED:
            answer = self._send(0.0)
            # Nothing may be raised while a frame is being written: what came is looked at by the next wait.
            if answer[:1] == _DATA:
                self._inbox += answer[1:].encode("latin-1")

    def feed(self, data: bytes) -> None:
        """Have `data` read next: for warm-up, before there is a host."""
        self._inbox += data

    def mute(self) -> None:
        """Discard what is written, until `unmute`."""
        self._is_muted = True

    def unmute(self) -> None:
        """Write to the host again."""
        self._is_muted = False
