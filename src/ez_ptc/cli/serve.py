"""`ez-ptc serve`: a toolkit as an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc.cli.run import CommandError, load_toolkit

if TYPE_CHECKING:
    from ez_ptc.mcp.server.served import ServeMode

__all__ = ["serve_toolkit"]


def serve_toolkit(tools: str, mode: ServeMode | None, *, host: str, port: int | None, token: str | None) -> int:
    """Serve a toolkit until the client goes or the process is interrupted, and return 0.

    Raises:
        CommandError: The toolkit is missing, or the address needs a token.
        MissingExtraError: The extra `mcp` is not installed.
    """
    with load_toolkit(tools) as toolkit:
        server = toolkit.as_mcp_server(tools.partition(":")[0], mode=mode)
        if port is None:
            server.run()
            return 0
        try:
            server.run_http(host=host, port=port, token=token)
        except ValueError as error:
            message = f"--host, --token: {error}"
            raise CommandError(message) from error
    return 0
