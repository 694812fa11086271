"""What one server offers now: its tools, resources and prompts; and how that has changed since it was taken."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from pydantic import ValidationError

from ez_ptc.errors import McpServerError, ToolError
from ez_ptc.mcp.client.connection import ServerConnection
from ez_ptc.mcp.client.definitions import ListedTool, listed_tools, log_warning
from ez_ptc.mcp.client.dropped_tools import DroppedTools
from ez_ptc.mcp.client.resources import resource_tools
from ez_ptc.mcp.client.results import bare_result, value_of_result
from ez_ptc.mcp.client.sessions import OpenSession, is_open_session
from ez_ptc.mcp.client.settings import McpChange
from ez_ptc.mcp.sdk import WHOLE
from ez_ptc.schema.annotations.progress import REPORT
from ez_ptc.schema.safe_repr import safe_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import mcp_types as types
    from mcp.client import Client

    from ez_ptc.mcp.client.resources import ResourceFunction
    from ez_ptc.mcp.client.settings import McpSettings
    from ez_ptc.mcp.client.transports.processes import ServerProcess

__all__ = ["ServerCatalog"]

_log = logging.getLogger("ez_ptc.mcp")
# A thousand tools are a page or four.
_MAX_PAGES: Final = 200
_MAX_LISTED: Final = 20_000


class _Page(Protocol):
    next_cursor: str | None


P = TypeVar("P", bound=_Page)
T = TypeVar("T")


class ServerCatalog:
    """One server's offers; all methods but `accept` are called on the background loop.

    `tools` are those listed last. A call passes the fingerprint of the tool that its caller knows, and is refused if
    the server's tool is another by now: a description that was approved must not become a different one ("rug pull").
    """

    def __init__(self, process: ServerProcess, settings: McpSettings) -> None:
        self.name = process.address.name
        self.dropped = DroppedTools(self.name)
        self.tools: dict[str, ListedTool] = {}
        self.resource_tools: list[tuple[ListedTool, ResourceFunction]] = []
        self.has_prompts = False
        self._settings = settings
        connection = OpenSession if is_open_session(process.address.target) else ServerConnection
        self._connection = connection(process, settings, self._expire, self.dropped)
        self._generation = 0
        self._listing = asyncio.Lock()
        self._next_listing: asyncio.Task[None] | None = None
        self._listings: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def load(self) -> None:
        """Connect and list everything. Raises McpServerError if the server cannot be reached or does not list."""
        try:
            client = await self._connection.client()
            self._generation = self._connection.generation
            capabilities = client.server_capabilities
            self.has_prompts = capabilities.prompts is not None
            if capabilities.tools is not None:
                self.tools = await self._list_tools()
            if capabilities.resources is not None and self._settings.resources:
                self.resource_tools = await self._resource_tools()
            if not (self.tools or self.resource_tools or self.has_prompts):
                _log.warning("the MCP server %s offers no tools", self.name)
        except McpServerError:
            raise
        except ToolError as error:
            message = f"cannot use the MCP server {self.name}: {error}"
            raise McpServerError(message) from error

    async def close(self) -> None:
        """End the connection."""
        self._is_closed = True
        await self._connection.close()

    # Requests ---------------------------------------------------------------------------------------------------------

    async def call(self, tool: ListedTool, arguments: Mapping[str, object]) -> object:
        """Call a tool and return its value. Raises ToolError, also if the tool is not the one that the caller knows."""
        name = safe_name(tool.name)
        # Before the check, because connecting again may bring other tools.
        await self._connection.client()
        if self._connection.generation != self._generation:  # another process may offer other tools
            await asyncio.shield(self._expire())
        current = self.tools.get(tool.name)
        if current is None or current.fingerprint != tool.fingerprint:
            change = "no longer offers it" if current is None else "has changed its description or schema"
            message = (
                f"{name} was not run: the MCP server {self.name} {change} since its tools were taken; take its tools "
                "again, and look at them"
            )
            raise ToolError(message)
        timeout = self._settings.call_timeout
        take_progress, report = None, REPORT.get()
        if report is not None or self._settings.on_progress is not None:
            take_progress = partial(self._connection.callbacks.take_progress, tool.name, report)

        async def send(client: Client) -> types.CallToolResult:
            # The reader of the result is a program; what a model reads of it is bounded on this side.
            meta: types.RequestParamsMeta | None = {WHOLE: True} if tool.offers_whole else None
            try:
                return await client.call_tool(tool.name, dict(arguments), timeout, take_progress, meta=meta)
            except ValidationError as error:
                # The tool has run: an error would have the model call it again.
                if (result := bare_result(error)) is None:
                    raise
                return result

        result = await self._connection.request(send, subject=name, seconds=timeout)
        self._connection.confirm()
        return value_of_result(name, result, find_problem=tool.find_problem, is_wrapped=tool.is_wrapped)

    async def read_resource(self, uri: str) -> types.ReadResourceResult:
        """Read a resource. Raises ToolError."""
        return await self._request(f"reading {safe_name(uri)}", lambda client: client.read_resource(uri))

    async def list_resources(self) -> list[types.Resource]:
        """Return the server's resources. Raises ToolError."""
        return await self._list(
            "its resources", lambda client, cursor: client.list_resources(cursor=cursor), lambda page: page.resources
        )

    async def list_prompts(self) -> list[types.Prompt]:
        """Return the server's prompts. Raises ToolError."""
        if not self.has_prompts:
            return []
        return await self._list(
            "its prompts", lambda client, cursor: client.list_prompts(cursor=cursor), lambda page: page.prompts
        )

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
        """Return a prompt with its arguments filled in. Raises ToolError."""
        return await self._request(
            f"the prompt {safe_name(name)}", lambda client: client.get_prompt(name, dict(arguments))
        )

    async def _request(self, subject: str, send: Callable[[Client], Awaitable[T]], seconds: float | None = None) -> T:
        seconds = seconds or self._settings.call_timeout

        async def send_in_time(client: Client) -> T:
            async with asyncio.timeout(seconds):
                return await send(client)

        try:
            return await self._connection.request(send_in_time, subject=subject, seconds=seconds)
        except TimeoutError as error:
            if isinstance(error, ToolError):
                raise
            message = f"{subject} took longer than {seconds:g} s"
            raise ToolError(message) from None

    # Listings ---------------------------------------------------------------------------------------------------------

    async def _list_tools(self) -> dict[str, ListedTool]:
        tools = await self._list(
            "its tools", lambda client, cursor: client.list_tools(cursor=cursor), lambda page: page.tools
        )
        return await asyncio.to_thread(listed_tools, tools, self.dropped)

    async def _list(
        self, subject: str, fetch: Callable[[Client, str | None], Awaitable[P]], items_of: Callable[[P], list[T]]
    ) -> list[T]:
        """Return all pages of a listing, up to a limit: a server could send pages without end."""
        timeout = self._settings.connect_timeout
        items: list[T] = []
        cursors: set[str | None] = {None}
        cursor: str | None = None
        is_complete = False
        for _ in range(_MAX_PAGES):
            page = await self._request(f"listing {subject}", lambda client, at=cursor: fetch(client, at), timeout)
            items += items_of(page)
            cursor = page.next_cursor
            is_complete = not cursor or cursor in cursors
            if is_complete or len(items) > _MAX_LISTED:
                break
            cursors.add(cursor)
        if not is_complete or len(items) > _MAX_LISTED:
            self.dropped.add_rest(subject)
        return items[:_MAX_LISTED]

    async def _resource_tools(self) -> list[tuple[ListedTool, ResourceFunction]]:
        resources = await self._list_if_possible("its resources", self.list_resources)
        if not resources:
            return []

        async def list_templates() -> list[types.ResourceTemplate]:
            return await self._list(
                "its resource templates",
                lambda client, cursor: client.list_resource_templates(cursor=cursor),
                lambda page: page.resource_templates,
            )

        templates = await self._list_if_possible("its resource templates", list_templates)
        return list(resource_tools(self, templates))

    async def _list_if_possible(self, subject: str, fetch: Callable[[], Awaitable[list[T]]]) -> list[T]:
        """Return a listing, or an empty one with a warning: servers promise more than they have."""
        try:
            return await fetch()
        except McpServerError:
            raise
        except ToolError as error:
            _log.warning("the MCP server %s is used without %s: %s", self.name, subject, error)
            return []

    def _expire(self) -> asyncio.Task[None]:
        """Have the tools listed again, and return the task, which serves all changes until its listing begins.

        In a task, because a listing waits for the reader of messages, which reports the changes; and because no caller
        that gives up may end it for the others.
        """
        if self._next_listing is None:
            self._next_listing = asyncio.get_running_loop().create_task(self.relist())
            self._listings.add(self._next_listing)
            self._next_listing.add_done_callback(self._listings.discard)
        return self._next_listing

    async def relist(self) -> None:
        """List the tools again, and report what has changed."""
        async with self._listing:
            self._next_listing = None
            self._generation = self._connection.generation
            try:
                tools = await self._list_tools()
            except ToolError as error:
                if not self._is_closed:
                    _log.warning("the tools of the MCP server %s could not be listed again: %s", self.name, error)
                return
            before, self.tools = self.tools, tools
        for name in [*before, *(name for name in tools if name not in before)]:
            if name not in tools:
                await self._report(McpChange(self.name, name, "removed"))
            elif name not in before:
                await self._report(McpChange(self.name, name, "added"))
            elif before[name].fingerprint != tools[name].fingerprint:
                await self._report(McpChange(self.name, name, "changed"))

    async def _report(self, change: McpChange) -> None:
        if change.kind != "added":
            log_warning(change.server, change.tool, f"the server has {change.kind} it; calls of it are refused")
        if self._settings.on_change is not None:
            await self._connection.callbacks.notify(self._settings.on_change, change)
