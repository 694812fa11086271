"""`ez-ptc serve`: a toolkit as an MCP server."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.cli.chat import data_folder
from ez_ptc.cli.run import CommandError, json_text, load_toolkit
from ez_ptc.cli.serving.tokens import keep_token, token_path

if TYPE_CHECKING:
    from ez_ptc.mcp.server.served import ServeMode

__all__ = ["HttpOptions", "command_entry", "http_entry", "module_file", "print_configuration", "serve_toolkit"]

_TOKEN_VARIABLE: Final = "${EZ_PTC_MCP_TOKEN}"  # noqa: S105 - the name of a variable, in the clients' own notation


def command_entry(tools: str, mode: str | None, folder: Path) -> dict[str, Any]:
    """Return the entry for a server that the client starts itself, from any folder, with this interpreter.

    `folder` is the one that was searched for the module.
    """
    arguments = ["-P", "-m", "ez_ptc.cli", "serve", tools]
    folder = folder.absolute()
    if module_file(tools).is_relative_to(folder):
        arguments += ["--folder", str(folder)]
    if mode is not None:
        arguments += ["--mode", mode]
    return _entry(tools, {"command": sys.executable, "args": arguments})


def http_entry(tools: str, url: str, token: str | None, *, needs_token: bool) -> dict[str, Any]:
    """Return the entry for a server that runs; without its `token`, the entry names a variable of the client."""
    entry: dict[str, Any] = {"type": "http", "url": url}
    if needs_token:
        entry["headers"] = {"Authorization": f"Bearer {token or _TOKEN_VARIABLE}"}
    return _entry(tools, entry)


def module_file(tools: str) -> Path:
    """Return the file of a loaded toolkit's module, or its name if it has no file."""
    module = tools.partition(":")[0]
    return Path(getattr(sys.modules[module], "__file__", None) or module)


def _entry(tools: str, server: dict[str, Any]) -> dict[str, Any]:
    module, _, name = tools.partition(":")
    if name != "toolkit":  # a module may have more than one, which are servers of their own in the client's file
        module = f"{module}-{name}"
    return {"mcpServers": {module: server}}


_PORTS: Final = range(1, 1 << 16)
_ALL_ADDRESSES: Final = ("0.0.0.0", "::")  # noqa: S104 - they are recognized here, not bound


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """The command's options for HTTP; without a port, a toolkit is served on standard input and output."""

    host: str
    port: int | None
    token: str | None = field(repr=False)
    no_token: bool = False
    show_token: bool = False
    allow_host: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise CommandError for options of HTTP without a port, and for an empty address."""
        if not self.host.strip():
            message = "expected --host to be an address, got an empty one: write --host 127.0.0.1, or leave it out"
            raise CommandError(message)
        if self.port is None and (self.no_token or self.show_token or self.allow_host or self.allow_origin):
            message = "--no-token, --show-token, --allow-host and --allow-origin are about HTTP: add --http PORT"
            raise CommandError(message)

    def token_for(self, tools: str) -> str | None:
        """Return the token that clients of a loaded toolkit send, or None, and say on standard error where it is.

        Without one of the user's, it is kept in a file. Raises CommandError if that cannot be used.
        """
        if self.no_token or self.token is not None:
            return self.token
        folder = data_folder() / "tokens"
        path = token_path(folder, tools, str(module_file(tools)), f"{self.host}:{self.port}")
        token = keep_token(path)
        hint = f"clients send the token in {path} (--show-token prints it)"
        if self.show_token:
            hint = f"clients send the header Authorization: Bearer {token}"
        print(hint, file=sys.stderr, flush=True)
        return token


def serve_toolkit(tools: str, mode: ServeMode | None, options: HttpOptions, folder: Path | None = None) -> int:
    """Serve a toolkit until the client goes or the process is interrupted, and return 0.

    `folder` is searched for the module instead of the current one.

    Raises:
        CommandError: The toolkit is missing, or it cannot be served at that address or in that way.
        MissingExtraError: The extra `mcp` is not installed.
    """
    options.check()
    with load_toolkit(tools, folder) as toolkit:
        name = tools.partition(":")[0]
        try:
            server = toolkit.as_mcp_server(
                name, mode=mode, allow_host=options.allow_host, allow_origin=options.allow_origin
            )
            if options.port is not None:
                token = options.token_for(tools)
                server.run_http(host=options.host, port=options.port, token=token, no_token=options.no_token)
        except (ValueError, OSError) as error:
            message = f"cannot serve {tools}: {error}"
            raise CommandError(message) from error
        if options.port is None:
            server.run()
    return 0


def print_configuration(tools: str, mode: ServeMode | None, options: HttpOptions, folder: Path | None = None) -> int:
    """Print the entry of a toolkit for the configuration of a desktop client as JSON, and return 0.

    It starts the server or, with a port, connects to it; then the token is printed only if that is chosen. Raises
    CommandError if the toolkit is missing, the port is not fixed, or the token cannot be kept.
    """
    options.check()
    if options.port is not None and options.port not in _PORTS:
        message = "--print-config needs the port that clients connect to: write --http 8000"
        raise CommandError(message)
    with load_toolkit(tools, folder):
        if options.port is None:
            entry = command_entry(tools, mode, folder or Path.cwd())
        else:
            token = options.token_for(tools)
            host = "127.0.0.1" if options.host in _ALL_ADDRESSES else options.host
            host = f"[{host}]" if ":" in host else host
            url = f"http://{host}:{options.port}/mcp"
            shown = token if options.show_token else None
            entry = http_entry(tools, url, shown, needs_token=not options.no_token)
    print(json_text(entry))
    return 0
