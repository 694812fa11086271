"""One server: its session, and its end.

Theory of operation. Everything here runs on the background loop, so there are no locks but the one for connecting. A
task of its own holds the SDK's client open (`_hold`), because its scopes must be left by the task that entered them;
calls use the client from other tasks. One method changes the state, as this table says, and refuses what it has not:

    state   | open    | opened | end   | bury | close
    IDLE    | OPENING |        |       |      | CLOSED
    OPENING |         | OPEN   | IDLE  |      | CLOSED
    OPEN    |         |        | ENDED |      | CLOSED
    ENDED   |         |        |       | IDLE | CLOSED
    CLOSED  |         |        |       |      | CLOSED

- IDLE: the next request opens a session, with a server that may have to be started.
- OPENING: that request waits for the server, and others wait for it. If this fails, or is cancelled, it has ended.
- OPEN: requests use the session. It ends with its transport (`watch.is_ended`), or when a request finds it closed,
  which the next look at the state notices. A request that was under way fails, and is not repeated: it may have taken
  effect.
- ENDED: the next request counts the death and gives its session back (bury). Deaths in a row without a successful
  request delay the next attempt, twice as long each time; requests in between fail at once.
- CLOSED: no session is opened. One that was being opened is ended as soon as it is open.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, cast

import anyio
import mcp_types as types
from mcp import MCPError
from pydantic_core import PydanticSerializationError

from ez_ptc.errors import McpServerError, ToolError, ToolTimeoutError
from ez_ptc.mcp.client.callbacks import ServerCallbacks
from ez_ptc.mcp.client.texts import error_line
from ez_ptc.mcp.client.transports.opening import open_transport
from ez_ptc.mcp.client.transports.watch import ConnectionWatch, invalid_text
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from mcp.client import Client

    from ez_ptc.mcp.client.dropped_tools import DroppedTools
    from ez_ptc.mcp.client.settings import McpSettings
    from ez_ptc.mcp.client.transports.processes import ServerProcess

__all__ = ["CHANGES", "ConnectionChange", "ConnectionState", "ServerConnection"]

R = TypeVar("R")

# A program should not wait longer than a person would.
_MAX_DELAY_SECONDS: Final = 30.0
_SESSION_ENDED: Final = "Session terminated"
_CLOSED: Final = "Connection closed"
_log = logging.getLogger("ez_ptc.mcp")


ConnectionChange: TypeAlias = Literal["open", "opened", "end", "bury", "close"]


class ConnectionState(StrEnum):
    """A state of a connection; the module describes each."""

    IDLE = "idle"
    OPENING = "opening"
    OPEN = "open"
    ENDED = "ended"
    CLOSED = "closed"


CHANGES: Final[Mapping[ConnectionState, Mapping[ConnectionChange, ConnectionState]]] = {
    ConnectionState.IDLE: {"open": ConnectionState.OPENING, "close": ConnectionState.CLOSED},
    ConnectionState.OPENING: {
        "opened": ConnectionState.OPEN,
        "end": ConnectionState.IDLE,
        "close": ConnectionState.CLOSED,
    },
    ConnectionState.OPEN: {"end": ConnectionState.ENDED, "close": ConnectionState.CLOSED},
    ConnectionState.ENDED: {"bury": ConnectionState.IDLE, "close": ConnectionState.CLOSED},
    ConnectionState.CLOSED: {"close": ConnectionState.CLOSED},
}


class _Live:
    """An open session: its client, what is known of its server, and the event that ends it."""

    def __init__(self, watch: ConnectionWatch) -> None:
        self.watch = watch
        self.closing = asyncio.Event()
        self.opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        return self.opened.result()


class ServerConnection:
    """The connection to one server; all methods are called on the background loop."""

    def __init__(
        self,
        process: ServerProcess,
        settings: McpSettings,
        on_list_changed: Callable[[], object],
        dropped: DroppedTools,
    ) -> None:
        self._address = address = process.address
        self._process = process
        self.name = address.name
        self._settings = settings
        self._redactor = address.redactor(settings.headers)
        self._dropped = dropped
        self.callbacks = ServerCallbacks(address.name, settings, on_list_changed)
        self.generation = 0
        """How many sessions there have been."""
        self._live: _Live | None = None
        self._connecting = asyncio.Lock()
        self._state = ConnectionState.IDLE
        self._deaths = 0
        self._retry_at = 0.0

    def change(self, change: ConnectionChange) -> bool:
        """Change the state, if the table has this change; return whether it does."""
        state = CHANGES[self.state].get(change)
        if state is None:
            return False
        self._state = state
        return True

    @property
    def state(self) -> ConnectionState:
        """What the connection is doing."""
        if self._state is ConnectionState.OPEN and self._live is not None and self._live.watch.is_ended:
            self._state = CHANGES[self._state]["end"]
        return self._state

    async def client(self) -> Client:
        """Return the client of the open session, connecting if there is none. Raises McpServerError."""
        if self.state is ConnectionState.OPEN and self._live is not None:
            return self._live.client
        async with self._connecting:
            live = self._live
            if self.state is ConnectionState.OPEN and live is not None:
                return live.client
            # The end was noticed between two requests: nothing was under way, so the next session can take this one.
            if self.change("bury") and live is not None:
                self._count_death()
                await self._end(live)
            seconds = self._retry_at - time.monotonic()
            if seconds > 0 and self.state is not ConnectionState.CLOSED:
                message = (
                    f"the MCP server {self.name} is not available: it ended {self._deaths} times in a row; the next "
                    f"attempt is in {math.ceil(seconds)} s"
                )
                raise McpServerError(message)
            return await self._connect()

    async def request(self, send: Callable[[Client], Awaitable[R]], *, subject: str, seconds: float | None) -> R:
        """Send a request, connecting if necessary, and return its result.

        Raises:
            McpServerError: The server cannot be reached.
            ToolError: The server ended, answered with an error, or took too long; `subject` says in what.
        """
        for is_last in (False, True):
            client = await self.client()
            live = self._live
            try:
                result = await send(client)
            except MCPError as error:
                is_session_lost = error.code == types.INVALID_REQUEST and error.message == _SESSION_ENDED
                if live is not None and (_is_closed(error) or is_session_lost):
                    live.watch.is_ended = True
                if is_session_lost and not is_last:  # nothing was done
                    continue
                # Its message is all that the SDK's error says, which the log would have again with two tracebacks.
                raise self._error_of(error, live, subject, seconds) from None
            except PydanticSerializationError as error:
                message = f"{subject}: the arguments cannot be sent: {error_line(str(error))}"
                raise ToolError(message) from error
            except ValueError as error:  # pydantic's, of an answer that the protocol does not allow
                message = f"{subject}: the MCP server {self.name} sent an invalid answer: {invalid_text(error)}"
                raise ToolError(message) from error
            except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
                if live is not None:
                    live.watch.is_ended = True
                raise self._death(live, subject) from error
            return result
        raise AssertionError  # the loop returns or raises

    def confirm(self) -> None:
        """Take note of a request that the server has answered: it is alive and well."""
        self._deaths = 0

    async def close(self) -> None:
        """End the session. Requests under way fail."""
        self.change("close")
        async with self._connecting:
            if self._live is not None:
                await self._end(self._live)
        await self._process.discard()

    # Opening and ending -----------------------------------------------------------------------------------------------

    async def _connect(self) -> Client:
        if not self.change("open"):
            message = f"the connection to the MCP server {self.name} is closed: connect again"
            raise McpServerError(message)
        live = _Live(ConnectionWatch(self._dropped, self._redactor))
        live.task = asyncio.get_running_loop().create_task(self._hold(live))
        try:
            client = await asyncio.shield(live.opened)
        except BaseException as error:
            await self._end(live)
            self.change("end")
            if isinstance(error, asyncio.CancelledError):
                raise
            self._count_death()
            raise self._connect_error(error, live.watch) from self._redactor.cause(error)
        self._live = live
        self.change("opened")
        self.generation += 1
        return client

    async def _hold(self, live: _Live) -> None:
        seconds = self._settings.connect_timeout
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + seconds) as scope:
                async with self._open_client(live.watch) as client:
                    scope.deadline = math.inf
                    live.opened.set_result(client)
                    async with self.callbacks.listening(client):
                        await live.closing.wait()
        except BaseException as error:  # noqa: BLE001 - of a foreign server and library; the first request raises it
            if not live.opened.done():
                live.opened.set_exception(_leaf(error))
        finally:
            live.watch.is_ended = True
            if not live.opened.done():
                live.opened.set_exception(TimeoutError(f"it did not answer within {seconds:g} s"))

    def _open_client(self, watch: ConnectionWatch) -> AbstractAsyncContextManager[Client]:
        target = self._address.target
        if hasattr(target, "connect_session"):
            return cast("AbstractAsyncContextManager[Client]", self.callbacks.session(target))
        if target is None:
            target = open_transport(self._process, watch, self._settings)
        return self.callbacks.client(target)

    async def _end(self, live: _Live) -> None:
        live.closing.set()
        if live.task is not None:
            if not live.opened.done():
                live.task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.shield(asyncio.wait([live.task]))
        if live.opened.done() and not live.opened.cancelled():
            live.opened.exception()  # otherwise, asyncio would log that no one has asked for it

    # Errors -----------------------------------------------------------------------------------------------------------

    def _count_death(self) -> None:
        self._live = None
        self._deaths += 1
        # A first death costs no time: servers are restarted, and laptops sleep.
        delay = 0.0 if self._deaths == 1 else min(0.5 * 2 ** (self._deaths - 2), _MAX_DELAY_SECONDS)
        self._retry_at = time.monotonic() + delay

    def _connect_error(self, error: BaseException, watch: ConnectionWatch) -> McpServerError:
        if isinstance(error, FileNotFoundError):
            reason = f"there is no command {safe_repr(self._address.command[0])}"
        elif isinstance(error, MCPError) and _is_closed(error):
            reason = "it ended before it answered" if self._address.command else "the connection was closed"
        else:
            reason = invalid_text(error) if isinstance(error, ValueError) else error_line(str(error))
            reason = reason or type(error).__name__
        verb = "start" if self._address.command else "connect to"
        text = f"cannot {verb} the MCP server {self.name}: {reason}{watch.explain()}"
        return McpServerError(self._redactor.text(text))

    def _error_of(self, error: MCPError, live: _Live | None, subject: str, seconds: float | None) -> ToolError:
        if _is_closed(error):
            return self._death(live, subject)
        if error.code == types.REQUEST_TIMEOUT and seconds is not None:
            message = (
                f"{subject} took longer than {seconds:g} s and was cancelled: ask for less, or continue without it"
            )
            return ToolTimeoutError(message)
        text = error.message
        if error.data:
            text += f" ({json.dumps(error.data, ensure_ascii=False)})"
        return ToolError(f"{subject}: {error_line(text)}")

    def _death(self, live: _Live | None, subject: str) -> ToolError:
        explanation = live.watch.explain() if live is not None else ""
        return ToolError(
            f"{subject} failed: the MCP server {self.name} ended during the call, which may have taken effect"
            f"{explanation}; a further call starts the server again"
        )


def _is_closed(error: MCPError) -> bool:
    """Return whether the SDK says that the connection is closed; servers use the same code for errors of theirs."""
    return error.code == types.CONNECTION_CLOSED and error.message == _CLOSED


def _leaf(error: BaseException) -> BaseException:
    """Return the first exception in groups, which task groups make of one failure."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of any type
    return error  # pyright: ignore[reportUnknownVariableType] - of any type
