"""Connections of the HTTP server: a client without a request keeps none for long, and none from a client with one.

Anyone who reaches the port can open connections, with or without the token, and each takes a descriptor of the process,
which also needs them for sandboxes. uvicorn waits for the first request without a limit, and for the rest of one after
its first byte.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["MAX_ACCEPTED", "MAX_WAITING", "HttpConnection"]

MAX_WAITING: Final = 256
"""When more connections than these wait for a request, each new one ends the one that has waited longest."""
MAX_ACCEPTED: Final = 64
"""Connections accepted at a time. A request on one is read three turns later: these must be fewer than may wait."""


class HttpConnection(H11Protocol):
    """A connection that is closed if no whole head of a request has come in time, or nothing is read of its answers."""

    seconds_for_a_head = 20.0
    _closing: asyncio.TimerHandle | None = None
    _unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Make room if many connections wait."""
        super().connection_made(transport)
        self._limit_wait()
        waiting = [item for item in self.connections if isinstance(item, HttpConnection) and item.is_waiting]
        if len(waiting) > MAX_WAITING:
            min(waiting, key=lambda item: item.moment_of_closing).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the wait."""
        if self._closing is not None:
            self._closing.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._limit_wait()
        super().on_response_complete()

    @property
    def is_waiting(self) -> bool:
        """Whether it is open, and no request is being answered."""
        cycle: Any = self.cycle
        return not self.transport.is_closing() and (cycle is None or cycle.response_complete)

    @property
    def moment_of_closing(self) -> float:
        """When its wait ends, by the clock of the loop; the earlier, the longer it has waited."""
        return math.inf if self._closing is None else self._closing.when()

    def _limit_wait(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
        self._closing = self.loop.call_later(self.seconds_for_a_head, self._close_if_waiting)

    def _close_if_waiting(self) -> None:
        unread, self._unread = self._unread, self.transport.get_write_buffer_size()
        if self.is_waiting or self._unread == unread > 0:
            self.transport.abort()
        elif self._unread:  # it may be closing, or about to answer a further request
            self._limit_wait()
