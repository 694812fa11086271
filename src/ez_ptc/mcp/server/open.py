"""Making a server of a toolkit; the SDK is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc.mcp.sdk import require_mcp
from ez_ptc.mcp.server.admission import AllowList

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.mcp.server.served import ServedToolkit, ServeSettings
    from ez_ptc.mcp.server.serving import McpServer

__all__ = ["make_server"]


def make_server(
    toolkit: ServedToolkit,
    name: str,
    *,
    settings: ServeSettings,
    allow_host: Iterable[str] | str,
    allow_origin: Iterable[str] | str,
) -> McpServer:
    """Return a toolkit as an MCP server. Raises as `Toolkit.as_mcp_server` does."""
    require_mcp()
    from ez_ptc.mcp.server.serving import McpServer

    return McpServer(toolkit, name, settings, allowed=AllowList.of(allow_host, allow_origin))
