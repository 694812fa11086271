"""The messages of a running program on their way to its caller."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from ez_ptc._sync import from_other_threads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Outbox"]

# Messages, and their bytes, beyond which a program waits for its caller.
_MAX_WAITING: Final = 64
_MAX_WAITING_BYTES: Final = 4 << 20


class Outbox:
    """Messages between the thread of a program and those of its caller's questions."""

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._writers: list[Callable[[], object]] = []
        self._has_ended = False

    def put(self, message: bytes) -> None:
        """Add a message; from any thread."""
        with self._changed:
            self._messages.append(message)
            self._bytes += len(message)
            self._changed.notify_all()

    def end(self, last: bytes) -> None:
        """Add the last message."""
        with self._changed:
            self._messages.append(last)
            self._bytes += len(last)
            self._has_ended = True
            self._changed.notify_all()

    @property
    def is_over(self) -> bool:
        """Whether the caller has every message, the last included."""
        return self._has_ended and not self._messages

    async def room(self) -> None:
        """Wait while the caller is behind."""
        from anyio import Event

        while self._is_full():
            freed = Event()
            wake = from_other_threads(freed.set)
            with self._changed:
                if not self._is_full():
                    return
                self._writers.append(wake)
            await freed.wait()

    def _is_full(self) -> bool:
        return len(self._messages) > _MAX_WAITING or self._bytes > _MAX_WAITING_BYTES

    def take(self, seconds: float) -> list[bytes]:
        """Return the waiting messages, after at most so many seconds; none after the end or the time."""
        with self._changed:
            self._changed.wait_for(lambda: self._messages or self._has_ended, seconds)
            messages = list[bytes]()
            size = 0
            while self._messages and (not messages or size + len(self._messages[0]) <= _MAX_WAITING_BYTES):
                messages.append(self._messages.popleft())
                size += len(messages[-1])
            self._bytes -= size
            writers, self._writers = self._writers, []
        for wake in writers:
            with contextlib.suppress(RuntimeError):  # the event loop is closed, so no one waits
                wake()
        return messages
