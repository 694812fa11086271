"""What users write for a server: a command, a URL, the `mcpServers` JSON of desktop clients, an object of the SDK."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.redaction.redactor import Redactor
from ez_ptc.redaction.sources import (
    secrets_in_command,
    secrets_in_headers,
    secrets_in_url,
    secrets_in_variables,
    visible_url,
)
from ez_ptc.schema.safe_repr import safe_names, safe_repr

if TYPE_CHECKING:
    from mcp import ClientSession, StdioServerParameters

    McpServer = str | Path | Sequence[Any] | Mapping[str, Any] | StdioServerParameters | ClientSession | object

__all__ = ["ServerAddress", "read_servers"]

# In a text without a scheme, the first word is a program.
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
# As VS Code and Claude Code write them; a variable without a default must be set.
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")
_NO_SERVERS: Final = frozenset({type(None), bool, int, float, bytes, set})
# What starts a server is not its name, nor is what every script is called.
_RUNNERS: Final = frozenset({"uvx", "uv", "npx", "node", "run", "env", "docker"})
_PLAIN_NAMES: Final = frozenset({"index", "main", "server", "cli", "dist", "build", "src", "bin"})
_WHAT: Final = "a command, a URL, mcpServers JSON or its file, a ClientSession, or an MCP server object"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """One server: exactly one of `command`, `url`, and `target`, an object of the SDK, is set.

    Attributes:
        name: What it is called in messages and prefixes.
        command: The program and its arguments, of a server on standard input and output.
        env: Further environment variables of the command.
        cwd: The folder it is started in.
        url: The address of a server over streamable HTTP.
        headers: Further headers of each HTTP request.
        target: A `ClientSession`, a transport, or a server of this process.
    """

    name: str
    command: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    target: object = None

    def redactor(self, headers: Mapping[str, str]) -> Redactor:
        """Return what removes the server's credentials, and those of further headers, from its messages."""
        secrets = {*secrets_in_command(self.command), *secrets_in_variables(self.env), *secrets_in_url(self.url or "")}
        return Redactor(secrets.union(secrets_in_headers([*self.headers.items(), *headers.items()])))


def read_servers(server: object) -> list[ServerAddress]:
    """Return the servers that a user names: one, or those of a list or of an `mcpServers` object.

    Raises TypeError or ValueError for anything else; the message says what is expected.
    """
    if isinstance(server, ServerAddress):
        return [server]
    if isinstance(server, Mapping):
        return _of_json(cast("Mapping[str, Any]", server))
    if isinstance(server, Path) or (isinstance(server, str) and server.endswith(".json") and " " not in server.strip()):
        return _of_file(Path(server))
    if isinstance(server, str):
        return [_of_text(server)]
    if isinstance(server, list | tuple):
        return _of_list(cast("Sequence[object]", server))
    return [_of_object(server)]


def _of_list(items: Sequence[object]) -> list[ServerAddress]:
    """Return the server of a command's words, or the servers of a list of them."""
    if items and all(isinstance(item, str) for item in items) and not any(map(_is_url, items)):
        return [_of_command(cast("Sequence[str]", items))]
    if not items:
        message = f"expected {_WHAT}, got an empty list"
        raise ValueError(message)
    counts: dict[str, int] = {}
    addresses: list[ServerAddress] = []
    for item in items:
        for address in read_servers(item):
            counts[address.name] = number = counts.get(address.name, 0) + 1
            addresses.append(address if number == 1 else replace(address, name=f"{address.name}_{number}"))
    return addresses


def _is_url(text: object) -> bool:
    return isinstance(text, str) and _URL.match(text) is not None


def _of_text(text: str) -> ServerAddress:
    if _is_url(text):
        from urllib.parse import urlsplit

        return ServerAddress(urlsplit(text).hostname or "server", url=text)
    if "://" in text:
        shown = safe_repr(visible_url(text))
        message = f"expected the URL of an MCP server to begin with http:// or https://, got {shown}"
        raise ValueError(message)
    try:
        words = shlex.split(text)
    except ValueError as error:
        shown = safe_repr(Redactor(secrets_in_command(text.split())).text(text))
        message = f"expected a command, got {shown}: {error}; pass its words as a list"
        raise ValueError(message) from None
    return _of_command(words)


def _of_command(words: Sequence[str]) -> ServerAddress:
    if not words or not words[0].strip():
        message = f"expected {_WHAT}, got an empty command"
        raise ValueError(message)
    return ServerAddress(_name_of_command(words), command=tuple(words))


def _of_object(server: object) -> ServerAddress:
    if type(server) in _NO_SERVERS:
        message = f"expected {_WHAT}, got {safe_repr(server)}"
        raise TypeError(message)
    transport = getattr(server, "transport", None)
    if hasattr(transport, "connect_session"):  # FastMCP's client
        return _of_object(transport)
    if hasattr(server, "command") and hasattr(server, "args"):  # StdioServerParameters, or FastMCP's transport
        parameters = cast("StdioServerParameters", server)
        words = (parameters.command, *parameters.args)
        cwd = None if parameters.cwd is None else os.fspath(parameters.cwd)
        return ServerAddress(_name_of_command(words), command=words, env=parameters.env or {}, cwd=cwd)
    name = getattr(server, "name", None)
    return ServerAddress(name if isinstance(name, str) and name else "server", target=server)


# The JSON of desktop clients -----------------------------------------------------------------------------------------


def _of_file(path: Path) -> list[ServerAddress]:
    try:
        content = json.loads(path.expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"cannot read the MCP servers of {path}: {error}"
        raise ValueError(message) from error
    if not isinstance(content, dict):
        message = f"expected {path} to hold {{'mcpServers': {{...}}}}, got {type(content).__name__}"
        raise ValueError(message)  # noqa: TRY004 - the file's content is wrong, not an argument's type
    return _of_json(cast("dict[str, Any]", content))


def _of_json(content: Mapping[str, Any]) -> list[ServerAddress]:
    entries = content
    for key in ("mcpServers", "servers"):
        if isinstance(content.get(key), Mapping):
            entries = content[key]
    if "command" in entries or "url" in entries:
        return [_of_entry("server", entries)]
    servers = [_of_entry(name, entry) for name, entry in entries.items() if not _is_disabled(entry)]
    if not servers:
        message = "expected {'mcpServers': {name: {...}}} with at least one server, got none"
        raise ValueError(message)
    return servers


def _is_disabled(entry: object) -> bool:
    return isinstance(entry, Mapping) and cast("Mapping[str, Any]", entry).get("disabled") is True


def _of_entry(name: str, entry: object) -> ServerAddress:
    if not isinstance(entry, Mapping):
        message = f"MCP server {safe_repr(name)}: expected an object with a command or a url, got {safe_repr(entry)}"
        raise ValueError(message)  # noqa: TRY004 - the JSON's content is wrong, not an argument's type
    fields = cast("Mapping[str, Any]", entry)
    url = fields.get("url", fields.get("serverUrl"))
    command, arguments = fields.get("command"), fields.get("args", [])
    if isinstance(url, str) and command is None:
        if fields.get("type") == "sse":
            message = (
                f"MCP server {safe_repr(name)}: the SSE transport is obsolete; expected streamable HTTP (type http)"
            )
            raise ValueError(message)
        return ServerAddress(name, url=_expand(name, url), headers=_texts(name, fields, "headers"))
    if not (isinstance(command, str) and isinstance(arguments, list)):
        message = (
            f"MCP server {safe_repr(name)}: expected a url, or a command with a list args; got {safe_names(fields)}"
        )
        raise ValueError(message)  # noqa: TRY004 - the JSON's content is wrong, not an argument's type
    words = [command, *(str(argument) for argument in cast("list[object]", arguments))]
    cwd = fields.get("cwd")
    return ServerAddress(
        name,
        command=tuple(_expand(name, word) for word in words),
        env=_texts(name, fields, "env"),
        cwd=cwd if isinstance(cwd, str) else None,
    )


def _texts(name: str, fields: Mapping[str, Any], key: str) -> dict[str, str]:
    texts: object = fields.get(key) or {}
    if not isinstance(texts, Mapping):
        message = f"MCP server {safe_repr(name)}: expected {key} to be an object, got {safe_repr(texts)}"
        raise ValueError(message)  # noqa: TRY004 - the JSON's content is wrong, not an argument's type
    return {str(word): _expand(name, str(text)) for word, text in cast("Mapping[object, object]", texts).items()}


def _expand(name: str, text: str) -> str:
    """Return a text with `${VARIABLE}` and `${VARIABLE:-default}` replaced, as desktop clients do."""

    def value(match: re.Match[str]) -> str:
        default: str | None = match[2]
        setting = os.environ.get(match[1], default)
        if setting is None:
            message = f"MCP server {safe_repr(name)}: the environment variable {match[1]} is not set"
            raise ValueError(message)
        return setting

    return _VARIABLE.sub(value, text)


# Names ---------------------------------------------------------------------------------------------------------------


def _name_of_command(words: Sequence[str]) -> str:
    """Return the nearest to a server's name in its command: `mcp-server-git` of `uvx mcp-server-git --repository .`."""
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1]
    secrets = Redactor(secrets_in_command(words))
    for word in words:
        if "=" in word or "://" in word or secrets.is_in(word):
            continue
        if word.startswith("-") or Path(word).name in _RUNNERS or re.fullmatch(r"python[\d.]*", Path(word).name):
            continue
        # A script of Node's is often `server-memory/dist/index.js`.
        parts = [segment for segment in Path(word).parts if Path(segment).stem not in _PLAIN_NAMES]
        return parts[-1] if parts else word
    return words[0]
