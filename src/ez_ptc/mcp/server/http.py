"""Serving over streamable HTTP: only to clients with the token, or, if that is chosen, to this machine's programs."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.mcp.server.admission import Admission, AllowList, is_loopback
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    import uvicorn
    from mcp.server import Server

    from ez_ptc.mcp.server.admission import Refusal

    _Scope = MutableMapping[str, Any]
    _Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    _Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    _App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]

__all__ = [
    "HttpSettings",
    "admission_of",
    "app_server",
    "base_url",
    "http_app",
    "http_server",
    "open_listeners",
    "run_http",
    "send_refusal",
]

_MIN_TOKEN: Final = 16
_TOKEN_BYTES: Final = 32
_BACKLOG: Final = 2048
_UNAVAILABLE: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
_POLICY_VIOLATION: Final = 1008


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Where a toolkit is served, and to whom.

    Attributes:
        host: The address to bind, or a name that resolves to it.
        port: The port; 0 for any free one.
        token: The token that clients send; by default one is made.
        no_token: Serve without a token, on loopback only.
        allowed: The hosts and origins in addition to those of the address itself.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = field(default=None, repr=False)
    no_token: bool = False
    allowed: AllowList = field(default_factory=AllowList)


def run_http(server: Server[Any], settings: HttpSettings) -> None:
    """Serve until the process is interrupted; the URL, and a token that is made here, are written to standard error.

    Raises ValueError for settings that are refused, OSError if the address cannot be bound.
    """
    listeners = open_listeners(settings)
    try:
        text = f"{base_url(listeners)}/mcp\n"
        if settings.token is None and not settings.no_token:
            settings = replace(settings, token=secrets.token_urlsafe(_TOKEN_BYTES))
            # The only place where a person can find it.
            text += f"clients send the header Authorization: Bearer {settings.token}\n"
        uvicorn_server = http_server(server, settings, listeners)
        sys.stderr.write(text)
        sys.stderr.flush()
        uvicorn_server.run(sockets=listeners)
    finally:
        for listener in listeners:
            listener.close()


def http_server(server: Server[Any], settings: HttpSettings, listeners: list[socket.socket]) -> uvicorn.Server:
    """Return the HTTP server for bound sockets. Raises ValueError as `run_http` does."""
    return app_server(http_app(server, settings, listeners))


def app_server(app: _App) -> uvicorn.Server:
    """Return the HTTP server of an ASGI application."""
    import uvicorn

    from ez_ptc.mcp.server.connections import MAX_ACCEPTED, HttpConnection

    # Its parser is always installed and leaves absolute request targets whole. No header of a request may say where it
    # came from.
    config = uvicorn.Config(
        app, http=HttpConnection, ws="none", proxy_headers=False, log_level="warning", backlog=MAX_ACCEPTED
    )
    return uvicorn.Server(config)


def open_listeners(settings: HttpSettings) -> list[socket.socket]:
    """Bind each address that the host resolves to. Raises as `run_http` does."""
    if not settings.host.strip():
        message = "expected an address to serve on, got none: pass host='127.0.0.1', or '0.0.0.0' for all interfaces"
        raise ValueError(message)
    try:
        resolved = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        message = f"cannot serve on {safe_repr(settings.host)}: {error}"
        raise OSError(message) from error
    listeners: list[socket.socket] = []
    problem: OSError | None = None
    port = settings.port
    for family, address in dict.fromkeys((entry[0], entry[4]) for entry in resolved):
        try:
            listener = _bind(family, (address[0], port, *address[2:]))
        except OSError as error:
            problem = error
            if error.errno in _UNAVAILABLE:
                continue  # such as the IPv6 address of localhost, where there is no IPv6
            for opened in listeners:
                opened.close()
            raise
        listeners.append(listener)
        port = listener.getsockname()[1]
    if not listeners:
        message = f"cannot serve on {safe_repr(settings.host)}: {problem}"
        raise OSError(message)
    return listeners


def http_app(server: Server[Any], settings: HttpSettings, listeners: list[socket.socket]) -> _App:
    """Return the ASGI application for bound sockets. Raises ValueError as `run_http` does."""
    return _with_admission(server, admission_of(settings, listeners))


def _bind(family: int, address: tuple[Any, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # An IPv4 address in IPv6 can only be bound by a socket for both.
            is_mapped = str(address[0]).startswith("::ffff:")
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not is_mapped)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def admission_of(settings: HttpSettings, listeners: list[socket.socket]) -> Admission:
    """Return the rule of admission for the bound addresses. Raises ValueError for refused settings."""
    is_literal = _is_literal(settings.host)
    token = settings.token
    if settings.no_token:
        problem = _problem_without_token(settings, is_literal=is_literal, listeners=listeners)
        if problem is not None:
            message = f"cannot serve without a token: {problem}"
            raise ValueError(message)
    elif token is None or len(token) < _MIN_TOKEN:
        message = f"expected a token of at least {_MIN_TOKEN} characters, got {len(token or '')}"
        raise ValueError(message)
    elif not (token.isascii() and token.isprintable() and " " not in token):
        message = "expected a token of printable ASCII characters without blanks: no header carries another"
        raise ValueError(message)
    return Admission(token, settings.allowed, None if is_literal else settings.host.strip().lower())


def _problem_without_token(settings: HttpSettings, *, is_literal: bool, listeners: list[socket.socket]) -> str | None:
    if settings.token is not None:
        return "one was passed, too"
    if settings.allowed:
        return "others than this machine's programs would reach the tools by the allowed hosts and origins"
    if not all(is_loopback(listener.getsockname()[0]) for listener in listeners):
        return f"others could reach the tools on {safe_repr(settings.host)}; serve on 127.0.0.1"
    if not is_literal and settings.host.strip().lower() != "localhost":
        return f"expected a loopback address, got the name {safe_repr(settings.host)}; serve on 127.0.0.1"
    return None


def _is_literal(host: str) -> bool:
    """Return whether a host is an address in any spelling that the system reads, not a name."""
    try:
        socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return False
    return True


def base_url(listeners: list[socket.socket]) -> str:
    """Return the URL of the first bound socket, without a path."""
    address, port = listeners[0].getsockname()[:2]
    if ":" in address:
        address = f"[{address}]"
    return f"http://{address}:{port}"


def _with_admission(server: Server[Any], admission: Admission) -> _App:
    """Return an application that answers no request but the admitted ones, whatever their path and method."""
    from mcp.server.transport_security import TransportSecuritySettings

    # The SDK checks Host only for three spellings of loopback, and Origin with any port.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: _App = server.streamable_http_app(transport_security=security)

    async def check(scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        refusal = admission.refuse(scope)
        if refusal is None:
            await app(scope, receive, send)
        else:
            await send_refusal(send, refusal)

    return check


async def send_refusal(send: _Send, refusal: Refusal) -> None:
    """Answer a request with why it is refused."""
    body = f"{refusal.text}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:  # noqa: PLR2004 - HTTP's status for a missing or wrong token
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
