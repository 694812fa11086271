"""The entry of a toolkit in the configuration of a desktop MCP client."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

__all__ = ["command_entry", "http_entry", "module_file"]

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
