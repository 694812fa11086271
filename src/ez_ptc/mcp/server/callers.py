"""The caller of a request: runs are bound to it, and so are open questions.

In order: the user named by the SDK's authorization; the server's own `principal`; the session of HTTP's older protocol
versions; the connection, where each client has one. Requests over HTTP without a session and without a user are all of
one caller, with nothing but the unguessable ids of its runs to tell them apart.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp.server import Server
    from mcp.server.context import ServerRequestContext

__all__ = ["ClientConnection", "caller_of", "connection"]

_SESSION_HEADER: Final = "mcp-session-id"


@dataclass(frozen=True, slots=True)
class ClientConnection:
    """One connection of standard streams or of a process, or all of HTTP."""

    id: str


@asynccontextmanager
async def connection(server: Server[Any]) -> AsyncGenerator[ClientConnection]:
    """Name the connection while it lasts: the SDK enters this once for each."""
    del server
    yield ClientConnection(secrets.token_hex(16))


def caller_of(context: ServerRequestContext[Any, Any], principal: str | None) -> str:
    """Return whom a request is from, as a text that the journal may keep: it is no credential."""
    token = get_access_token()
    if token is not None:
        return f"mcp-user:{_digest(json.dumps([principal, *principal_components(token)]))}"
    if principal is not None:
        return principal
    if context.request is None:
        return f"mcp-connection:{context.lifespan_context.id}"
    # The SDK has looked up a session's id only in these versions, and only where a handshake began it.
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS and context.session.client_capabilities is not None:
        session = context.request.headers.get(_SESSION_HEADER)
        if session is not None:
            return f"mcp-session:{_digest(session)}"
    return "mcp-http"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
