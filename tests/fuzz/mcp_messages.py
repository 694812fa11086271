"""What the MCP server promises of any lines: it answers the next request, and writes nothing but messages."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncGenerator
from functools import cache
from pathlib import Path
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server

from ez_ptc import Journal, Limits, Toolkit, ez_tool
from ez_ptc.mcp.server.serving import McpServer

__all__ = ["survive"]

Id = str | int

_MAX_WAIT_SECONDS = 60
_CLIENT = '{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"f","version":"1"}}'
_START = (
    f'{{"jsonrpc":"2.0","id":"start","method":"initialize","params":{_CLIENT}}}',
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
)
_LAST = '{"jsonrpc":"2.0","id":"last","method":"ping"}'


@ez_tool(read_only=True)
def look(name: str, count: int = 1, options: dict[str, list[int]] | None = None) -> list[str]:
    """Look names up."""
    return [name] * min(count, 10)


@ez_tool
async def note(text: str) -> None:
    """Take a note."""


@ez_tool(requires_approval=True)
def transfer(to: str, amount: float) -> str:
    """Transfer money."""
    return f"{amount} to {to}"


@cache
def _server() -> McpServer:
    folder = tempfile.mkdtemp()
    limits = Limits(timeout=0.5, approval_timeout=0.5)
    toolkit = Toolkit([look, note, transfer], journal=Journal(Path(folder) / "runs.db"), limits=limits)
    return toolkit.as_mcp_server(mode="both", question_timeout=0.2)


def _requests(lines: list[str]) -> set[Id]:
    """Return the ids of requests that have no other fault than those of their method."""
    ids: list[Id] = []
    for line in lines:
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(message, dict):
            continue
        fields = cast("dict[str, Any]", message)
        if fields.get("method") == "notifications/cancelled":  # a cancelled request gets no answer
            return set()
        id_ = fields.get("id")
        is_named = fields.get("jsonrpc") == "2.0" and isinstance(fields.get("method"), str)
        is_whole = fields.keys() <= {"jsonrpc", "id", "method", "params"} and isinstance(fields.get("params", {}), dict)
        if is_named and is_whole and isinstance(id_, str | int) and not isinstance(id_, bool):
            ids.append(id_)
    return {id_ for id_ in ids if ids.count(id_) == 1}


class _Output:
    """What the server writes, a message a line."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._answered: dict[Id, anyio.Event] = {}

    def answered(self, id: Id) -> anyio.Event:  # noqa: A002 - the protocol's word
        return self._answered.setdefault(id, anyio.Event())

    async def write(self, text: str) -> None:
        message: dict[str, Any] = json.loads(text)
        assert text.count("\n") == 1
        assert message["jsonrpc"] == "2.0"
        self.messages.append(message)
        if "method" not in message and message.get("id") is not None:
            self.answered(message["id"]).set()

    async def flush(self) -> None:
        await anyio.lowlevel.checkpoint()


async def _serve(lines: list[str]) -> list[dict[str, Any]]:
    output, server = _Output(), _server().server

    async def feed() -> AsyncGenerator[str]:
        for line in (*_START, *lines, _LAST):
            yield line + "\n"
            if line is _START[0]:
                await output.answered("start").wait()
        await output.answered("last").wait()
        for id_ in _requests(lines):
            await output.answered(id_).wait()

    with anyio.fail_after(_MAX_WAIT_SECONDS):
        async with stdio_server(cast("Any", feed()), cast("Any", output)) as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())
    return output.messages


def survive(data: bytes) -> list[str]:
    """Return the kinds of the server's messages; raise for anything but answers."""
    lines = data.decode(errors="replace").split("\n")
    messages = anyio.run(_serve, lines)
    return [next((key for key in ("method", "error", "result") if key in message), "") for message in messages]
