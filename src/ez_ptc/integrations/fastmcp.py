"""FastMCP: the tools of its clients and servers as our tools."""

from typing import Any

from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.mcp.client.connect import mcp_tools
from ez_ptc.tools.tool import Tool

__all__ = ["import_tools"]

_fastmcp: Any = import_framework("fastmcp", package="fastmcp")
_transports: Any = import_framework("fastmcp.client.transports", package="fastmcp")


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tools of a client, a transport or a server, or None for anything else.

    The tools have their own connection, opened as the client would open it, and ending with the last of them. The
    client's callbacks are not used: `mcp_tools(client, elicit=...)` takes others, and options.

    Raises:
        McpServerError: The server cannot be started, reached or understood.
        MissingExtraError: The extra `mcp` is not installed.
    """
    if isinstance(thing, _fastmcp.FastMCP):
        return list(mcp_tools(_transports.FastMCPTransport(thing)))
    return list(mcp_tools(thing)) if isinstance(thing, _fastmcp.Client | _transports.ClientTransport) else None
