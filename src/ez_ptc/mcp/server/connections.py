"""Connections of the HTTP server: a client without a request keeps none for long, and none from a client with one.

Anyone who reaches the port can open connections, with or without the token, and each takes a descriptor of the process,
which also needs them for sandboxes. uvicorn waits for the first request without a limit, and for the rest of one after
its first byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["MAX_ACCEPTED", "MAX_WAITING", "HttpConnection"]

MAX_WAITING: Final = 256
"""With more connections than these, each new one ends one that waits for a request."""
MAX_ACCEPTED: Final = 128
"""Connections accepted at a time, before any of them can be ended."""


class HttpConnection(H11Protocol):
    """A connection that is closed if no request, or only a part of its head, has come in time."""

    seconds_for_a_head = 20.0
    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Make room if many connections wait."""
        if len(self.connections) >= MAX_WAITING:
            for connection in [*self.connections]:
                if isinstance(connection, HttpConnection) and connection.is_waiting:
                    connection.transport.abort()
                    break
        super().connection_made(transport)
        self._limit_wait()

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

    def _limit_wait(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
        self._closing = self.loop.call_later(self.seconds_for_a_head, self._close_if_waiting)

    def _close_if_waiting(self) -> None:
        if self.is_waiting:
            self.transport.abort()
