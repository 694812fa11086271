"""A server on loopback that answers as the test says, or breaks as the test says; for the providers' real SDKs."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["NOWHERE", "Fault", "LoopbackServer", "Reply", "Request", "Response", "broken_replies", "sse"]

# Nobody listens there: the system gives such ports to those who ask for them, and never to those who take any.
NOWHERE: Final = "http://127.0.0.1:1"
# What lies between two bytes of a drip, in seconds.
_DRIP: Final = 0.02


class Fault(Enum):
    """What goes wrong while a body is on its way; `Reply.sent` says how far on.

    Attributes:
        RESET: The connection is reset.
        CLOSE: The connection is closed, though there should be more.
        STALL: Nothing more comes.
        DRIP: The rest comes byte by byte, 50 a second.
    """

    RESET = auto()
    CLOSE = auto()
    STALL = auto()
    DRIP = auto()


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came; `headers` have lower-case names."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A response as it goes out.

    Attributes:
        body: The whole body, or the pieces of one that is sent in chunks, as `sse` makes them; anything else is sent
            as JSON.
        headers: Further headers, or other values for those that are sent in any case.
        fault: What goes wrong, if anything.
        sent: How many bytes of the body, or how many pieces, are sent before that; None is half of it.
        raw: What is sent instead of all that.
    """

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    fault: Fault | None = None
    sent: int | None = None
    raw: bytes | None = None

    @property
    def pieces(self) -> list[bytes]:
        """The body as it goes out."""
        if isinstance(self.body, str | bytes):
            return [self.body.encode() if isinstance(self.body, str) else self.body]
        return [*self.body] if self.is_chunked else [json.dumps(self.body).encode()]

    @property
    def is_chunked(self) -> bool:
        """Whether the body is sent in chunks."""
        return isinstance(self.body, tuple)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def broken_replies(secret: bytes) -> dict[str, Reply]:
    """Return responses that repeat a secret where no client expects one, by what is broken."""
    return {
        name: Reply(raw=raw)
        for name, raw in {
            "status": b"HTTP/1.1 " + secret + b"\r\n\r\n",
            "reason": b"HTTP/1.1 401 " + secret + b"\r\nContent-Length: 0\r\n\r\n",
            "header": OK + secret + b"\r\n\r\n",
            "encoding": OK + b"Content-Encoding: " + secret + b"\r\nContent-Length: 2\r\n\r\n{}",
            "type": b"HTTP/1.1 200 OK\r\nContent-Type: " + secret + b"\r\nContent-Length: 2\r\n\r\n{}",
            "chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n" + secret + b"\r\n",
            "trailer": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + secret + b"\r\n\r\n",
            "event": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + secret + b"\n\n",
            "location": b"HTTP/1.1 302 x\r\nLocation: " + secret + b"\r\nContent-Length: 0\r\n\r\n",
        }.items()
    }


def sse(*events: Mapping[str, Any] | str, named: bool = True) -> tuple[bytes, ...]:
    """Return server-sent events as the pieces of a body: JSON objects, or text that is sent as it is, as `[DONE]`.

    A `named` event has its `type` as its name, where it has one.
    """
    return tuple(_event(each, is_named=named).encode() for each in events)


Response = Reply | Callable[[Request], Reply]


class LoopbackServer:
    """Answers each request with the next reply, or with what a function makes of the request.

    The last function goes on answering when the replies are at an end; without one, a request too many is answered with
    404, which no SDK tries again. `requests` are all that came, in order; `url` has no slash at its end.
    """

    def __init__(self, *replies: Response) -> None:
        self.requests: list[Request] = []
        self.replies: Sequence[Response] = replies
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of all requests that came."""
        return [each.body for each in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply_to(self, request: Request) -> Reply:
        """Return the response to a request, and keep the request."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        reply: Response | None = self.replies[number] if number < len(self.replies) else None
        if reply is None and self.replies and callable(self.replies[-1]):
            reply = self.replies[-1]
        if reply is None:
            message = f"the test has no reply number {number + 1}"
            return Reply(status=404, body={"type": "error", "error": {"type": "not_found_error", "message": message}})
        return reply(request) if callable(reply) else reply


def _event(event: Mapping[str, Any] | str, *, is_named: bool) -> str:
    if isinstance(event, str):
        return f"data: {event}\n\n"
    name = f"event: {event['type']}\n" if is_named and "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


class _Server(ThreadingHTTPServer):
    # The threads end with their requests, and the test waits for them.
    daemon_threads = False

    def __init__(self, script: LoopbackServer) -> None:
        self.script = script
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A client that goes away unseen holds nobody up for longer.
    timeout = 60
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - the standard library's is never replaced

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, json.loads(body) if body else None)
        self.close_connection = True
        with suppress(OSError):  # the client may have gone
            self._send(self.server.script.reply_to(request))

    def _send(self, reply: Reply) -> None:
        if reply.raw is not None:
            self.wfile.write(reply.raw)
            return
        self._send_head(reply)
        parts: Sequence[bytes] = reply.pieces
        if reply.is_chunked:
            parts = [*map(_chunk, parts), b"0\r\n\r\n"]
        elif reply.fault is not None:
            parts = [bytes([byte]) for byte in parts[0]]
        until = len(parts) // 2 if reply.sent is None else reply.sent
        for part in parts if reply.fault is None else parts[:until]:
            self.wfile.write(part)
        if reply.fault is not None:
            self._break(reply.fault, b"".join(parts[until:]))

    def _send_head(self, reply: Reply) -> None:
        size = sum(map(len, reply.pieces))
        framing = {"Transfer-Encoding": "chunked"} if reply.is_chunked else {"Content-Length": str(size)}
        kind = "text/event-stream; charset=utf-8" if reply.is_chunked else "application/json"
        head = {"Content-Type": kind, "Connection": "close", **framing, **reply.headers}
        self.send_response(reply.status)
        for name, value in head.items():
            self.send_header(name, value)
        self.end_headers()

    def _break(self, fault: Fault, rest: bytes) -> None:
        if fault is Fault.RESET:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.rfile.close()
            self.connection.close()
        elif fault is Fault.STALL:
            self.rfile.read(1)  # until the client goes away
        elif fault is Fault.DRIP:
            for byte in rest:
                if self.server.script.closing.wait(_DRIP):
                    return
                self.wfile.write(bytes([byte]))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the standard library's name
        """Say nothing."""


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)
