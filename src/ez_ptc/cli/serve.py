"""`ez-ptc serve`: a toolkit as an MCP server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ez_ptc.cli.run import CommandError, load_toolkit

if TYPE_CHECKING:
    from ez_ptc.mcp.server.served import ServeMode

__all__ = ["HttpOptions", "serve_toolkit"]


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """The command's options for HTTP; without a port, a toolkit is served on standard input and output."""

    host: str
    port: int | None
    token: str | None = field(repr=False)
    no_token: bool = False
    allow_host: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()


def serve_toolkit(tools: str, mode: ServeMode | None, options: HttpOptions) -> int:
    """Serve a toolkit until the client goes or the process is interrupted, and return 0.

    Raises:
        CommandError: The toolkit is missing, or it cannot be served at that address or in that way.
        MissingExtraError: The extra `mcp` is not installed.
    """
    if options.port is None and (options.no_token or options.allow_host or options.allow_origin):
        message = "--no-token, --allow-host and --allow-origin are about HTTP: add --http PORT"
        raise CommandError(message)
    with load_toolkit(tools) as toolkit:
        name = tools.partition(":")[0]
        try:
            server = toolkit.as_mcp_server(
                name, mode=mode, allow_host=options.allow_host, allow_origin=options.allow_origin
            )
            if options.port is not None:
                server.run_http(host=options.host, port=options.port, token=options.token, no_token=options.no_token)
        except (ValueError, OSError) as error:
            message = f"cannot serve {tools}: {error}"
            raise CommandError(message) from error
        if options.port is None:
            server.run()
    return 0
