"""A session that the user has opened and will close: used as it is, on its own event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from mcp import ClientSession
from mcp.client import Client

from ez_ptc.errors import McpServerError, ToolError
from ez_ptc.mcp.client.connection import ServerConnection
from ez_ptc.mcp.client.loops.background import await_in_loop
from ez_ptc.mcp.client.session_client import SessionClient

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from ez_ptc.mcp.client.dropped_tools import DroppedTools
    from ez_ptc.mcp.client.settings import McpSettings
    from ez_ptc.mcp.client.transports.processes import ServerProcess

__all__ = ["OpenSession", "SessionLoop", "is_open_session"]

R = TypeVar("R")

# How long the loop of a session may be busy before we say that it is blocked.
_MAX_BLOCKED_SECONDS: Final = 10.0


def is_open_session(target: object) -> bool:
    """Return whether an object is a `ClientSession`, or a `Client` that is connected."""
    if isinstance(target, Client):
        try:
            _ = target.session
        except RuntimeError:
            return False
        return True
    return isinstance(target, ClientSession)


class SessionLoop:
    """The event loop of open sessions, which is the running one; the counterpart of `BackgroundLoop`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def arun(self, function: Callable[..., Coroutine[Any, Any, R]], *arguments: object) -> R:
        """Call an asynchronous function in the loop and await its result, from any loop."""
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:  # another library's loop runs here
            here = None
        if here is self._loop:
            return await function(*arguments)
        # A blocking call in the thread of the session would wait for itself.
        await self._require_free()
        return await await_in_loop(self._loop, function, *arguments)

    async def _require_free(self) -> None:
        from anyio import move_on_after

        async def answer() -> bool:
            return True

        with move_on_after(_MAX_BLOCKED_SECONDS):
            await await_in_loop(self._loop, answer)
            return
        message = (
            "the event loop of the open MCP session is blocked: await toolkit.aexecute(...) instead of execute(...)"
        )
        raise ToolError(message)


class OpenSession(ServerConnection):
    """The connection of an open session; it is neither opened, nor opened again, nor closed here."""

    def __init__(
        self,
        process: ServerProcess,
        settings: McpSettings,
        on_list_changed: Callable[[], object],
        dropped: DroppedTools,
    ) -> None:
        super().__init__(process, settings, on_list_changed, dropped)
        target = process.address.target
        self._client = target if isinstance(target, Client) else SessionClient(cast("ClientSession", target))

    async def client(self) -> Client:
        """Return the client. Raises McpServerError if the session is not initialized."""
        if isinstance(self._client, SessionClient) and self._client.session.server_capabilities is None:
            message = f"the session of {self.name} is not initialized: await session.initialize() first"
            raise McpServerError(message)
        return cast("Client", self._client)

    async def close(self) -> None:
        """Leave the session open: its owner closes it."""
