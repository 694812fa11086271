"""A proxy before a server that cuts every connection at one message: the server is gone, and comes back."""

from __future__ import annotations

import contextlib
import itertools
import selectors
import socket
import threading
from typing import Final

__all__ = ["CuttingProxy"]


class CuttingProxy:
    """Forwards bytes between clients and a port of this machine, and counts what each side sends."""

    def __init__(self, port: int) -> None:
        """Forward to a port."""
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: Final[int] = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._waker, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._numbers = itertools.count(1)
        self._last = 0
        self.count = 0
        self._thread = threading.Thread(target=self._forward)
        self._thread.start()

    def cut_at(self, last: int) -> None:
        """Count from now on, and cut all connections at a message: before it is forwarded, or after it if odd."""
        self._numbers, self._last, self.count = itertools.count(1), last, 0

    def close(self) -> None:
        """End everything."""
        self._waker.send(b"x")
        self._thread.join(60)
        self._cut()
        for end in (self._listener, self._waker, self._woken):
            end.close()
        self._selector.close()

    def _cut(self) -> None:
        for end in [*self._pairs]:
            self._drop(end)

    def _drop(self, end: socket.socket) -> None:
        other = self._pairs.pop(end, None)
        if other is not None:
            self._pairs.pop(other, None)
            for side in (end, other):
                with contextlib.suppress(KeyError):
                    self._selector.unregister(side)
                side.close()

    def _forward(self) -> None:
        while True:
            for key, _ in self._selector.select(60):
                end = key.fileobj
                assert isinstance(end, socket.socket)
                if end is self._woken:
                    return
                if end is self._listener:
                    self._accept()
                elif end in self._pairs:
                    self._pass_on(end)

    def _accept(self) -> None:
        client = self._listener.accept()[0]
        try:
            server = socket.create_connection(("127.0.0.1", self._port), 10)
        except OSError:
            client.close()
            return
        for side, other in ((client, server), (server, client)):
            self._pairs[side] = other
            self._selector.register(side, selectors.EVENT_READ, None)

    def _pass_on(self, end: socket.socket) -> None:
        try:
            data = end.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            self._drop(end)
            return
        self.count = next(self._numbers)
        is_last = self.count == self._last
        if not is_last or self._last % 2:
            with contextlib.suppress(OSError):
                self._pairs[end].sendall(data)
        if is_last:
            self._cut()
