"""Serving over streamable HTTP: on loopback by default, elsewhere only with a bearer token."""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from mcp.server import Server

    _Scope = MutableMapping[str, Any]
    _Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    _Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    _App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]

__all__ = ["http_app", "run_http"]

_MIN_TOKEN: Final = 16


def run_http(server: Server[Any], *, host: str, port: int, token: str | None) -> None:
    """Serve until the process is interrupted. Raises ValueError if the host needs a token, or the token is short."""
    import uvicorn

    uvicorn.run(http_app(server, host=host, token=token), host=host, port=port, log_level="warning")


def http_app(server: Server[Any], *, host: str, token: str | None) -> _App:
    """Return the ASGI application. Raises as `run_http` does."""
    if token is None and not _is_loopback(host):
        message = f"cannot serve on {host} without a token: others could call the tools; pass token=..., or 127.0.0.1"
        raise ValueError(message)
    if token is not None and len(token) < _MIN_TOKEN:
        message = f"expected a token of at least {_MIN_TOKEN} characters, got {len(token)}"
        raise ValueError(message)
    # On loopback, the SDK also checks the Host header, so that no web page can call the tools.
    app: _App = server.streamable_http_app(host=host)
    return app if token is None else _with_token(app, token)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def _with_token(app: _App, token: str) -> _App:
    """Return an application that answers requests without the token with 401."""
    # Compared in constant time, so that the token cannot be guessed byte by byte.
    expected = f"Bearer {token}".encode()

    async def check(scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        headers: list[tuple[bytes, bytes]] = scope.get("headers", [])
        received = [value for name, value in headers if name == b"authorization"]
        if len(received) == 1 and hmac.compare_digest(received[0], expected):
            await app(scope, receive, send)
            return
        challenge = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 401, "headers": challenge})
        await send({"type": "http.response.body", "body": b""})

    return check
