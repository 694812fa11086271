"""The functions that users call; the SDK is imported when they do."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ez_ptc._wrong_calls import unknown_name
from ez_ptc.mcp.client.settings import McpSettings
from ez_ptc.mcp.sdk import require_mcp
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from typing import Unpack

    from ez_ptc.mcp.client.settings import McpOptions
    from ez_ptc.mcp.client.tools import McpTools

__all__ = ["amcp_tools", "mcp_tools", "split_options"]


def mcp_tools(server: Any, **options: Unpack[McpOptions]) -> McpTools:  # noqa: ANN401 - of many kinds, listed below
    """Connect to MCP servers and return their tools, with the connections: close it, or use it as a context manager.

    Args:
        server: A command ("uvx mcp-server-time", or a list of words), a URL of a server over streamable HTTP, the
            `mcpServers` JSON of desktop clients as a dict or its file, an object of the SDK's (`StdioServerParameters`,
            a transport, a server of this process), or a list of these. An open `ClientSession` needs `amcp_tools`.
        options: The connections' options:

            prefix: Text before each tool's name; True for the server's name, the default if there are several servers.
            only: The names of the tools to take; others are left out.
            exclude: The names of tools to leave out.
            tool_options: Options of tools by name, as of `Tool.from_schema`: they replace those that a server's hints
                set, such as `{"delete": {"requires_approval": False}}`.
            pins: `fingerprints` of an earlier connection: a tool without one, or that has changed, is left out.
            resources: Also make tools of resources and resource templates (default: True).
            call_timeout: The maximum seconds of a call (default: 60), or None.
            connect_timeout: The maximum seconds to start and to list (default: 30).
            headers: HTTP headers, such as `{"Authorization": "Bearer ..."}`.
            auth: The authentication of HTTP requests, such as the SDK's `OAuthClientProvider`.
            roots: Folders, or `file://` URIs, that servers may ask for.
            elicit: Answers a server's question, an `Elicitation`, with a dict, True for a page that was visited, or
                None to decline; it may be asynchronous. Without it, servers cannot ask.
            on_progress: Called with the `McpProgress` of calls.
            on_log: Called with each `McpLog` message; without it, they go to the logger "ez_ptc.mcp".
            on_change: Called with each `McpChange` of a server's tools.

    A `UserWarning` names each unusable tool with the reason; `only` or `exclude` silence it.

    A server's annotations are hints: `readOnlyHint` makes a tool read-only, `destructiveHint` lets it require approval,
    `idempotentHint` makes it idempotent.

    Raises:
        McpServerError: A server cannot be started, reached or understood.
        MissingExtraError: The extra `mcp` is not installed.
        TypeError: `server` is of no known kind, or an option is unknown.
        ValueError: A URL, command or file of servers is invalid.
    """
    settings = _settings(options)
    from ez_ptc.mcp.client.tools import connect_and_wait

    return connect_and_wait(server, settings)


async def amcp_tools(server: Any, **options: Unpack[McpOptions]) -> McpTools:  # noqa: ANN401 - as for `mcp_tools`
    """Same as `mcp_tools`, but awaits; `server` may also be an open `ClientSession`, which stays open.

    The tools of an open session run on its event loop.
    """
    settings = _settings(options)
    from ez_ptc.mcp.client.tools import connect

    return await connect(server, settings)


def split_options(options: dict[str, Any], owner: type[Any] | None) -> tuple[McpOptions, dict[str, Any]]:
    """Return the options of `mcp_tools`, and those of the dataclass `owner`. Raises TypeError for any further one."""
    others = [field.name for field in fields(owner) if field.init] if owner is not None else []
    names = [field.name for field in fields(McpSettings)]
    for name in options:
        if name not in names and name not in others:
            message = f"unknown option {safe_repr(name)}: {unknown_name(name, [*names, *others])}"
            raise TypeError(message)
    ours = {name: value for name, value in options.items() if name in names}
    return cast("McpOptions", ours), {name: value for name, value in options.items() if name not in names}


def _settings(options: McpOptions) -> McpSettings:
    # Not imported, because the server can start meanwhile.
    require_mcp()
    split_options({**options}, None)
    settings = McpSettings(**options)
    if isinstance(settings.roots, str | Path):
        message = f"expected roots to be a list of folders, got {safe_repr(settings.roots)}: pass [folder]"
        raise TypeError(message)
    for root in settings.roots:
        if isinstance(root, str) and "://" in root and not root.startswith("file://"):
            message = f"expected a folder or a file:// URI as a root, got {safe_repr(root)}: the protocol has no others"
            raise ValueError(message)
    return settings
