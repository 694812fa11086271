"""The tools of MCP servers, and who owns their connections.

The SDK is imported when a server is connected: `McpTools` is a public name even where the extra is not installed.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ez_ptc._closing import AsyncClosable
from ez_ptc._sync import to_thread
from ez_ptc._warnings import warn_caller
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import ToolError, ToolNotFoundError
from ez_ptc.mcp.client.definitions import ListedTool, distinct_names, make_tool
from ez_ptc.mcp.client.loops.background import BackgroundLoop
from ez_ptc.mcp.client.servers import read_servers
from ez_ptc.mcp.client.texts import clean_text
from ez_ptc.mcp.client.transports.processes import ServerProcess
from ez_ptc.schema.safe_repr import safe_name
from ez_ptc.tools.definitions.names import unknown_tool_text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from ez_ptc.mcp.client.catalog import ServerCatalog
    from ez_ptc.mcp.client.settings import McpSettings
    from ez_ptc.messages import Message
    from ez_ptc.tools.tool import Tool

__all__ = ["McpPrompt", "McpTools", "connect", "connect_and_wait"]

_log = logging.getLogger("ez_ptc.mcp")


class _Loop(Protocol):
    async def arun(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: object) -> Any: ...  # noqa: ANN401 - whatever the function returns


@dataclass(frozen=True, slots=True)
class McpPrompt:
    """A prompt of a server: its name, description, and parameters by name, with whether each is required."""

    server: str
    name: str
    description: str
    parameters: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class _Offer:
    """A tool before it has its name: `function` takes the arguments as a dict."""

    catalog: ServerCatalog
    listed: ListedTool
    function: Callable[[dict[str, object]], Coroutine[Any, Any, object]]


@explain_calls
class McpTools(AsyncClosable):
    """The tools of one or more MCP servers, and their connections.

    Iterating yields the tools as the servers list them now, for `Toolkit([*tools, ...])`. Close it, or use it as a
    context manager; else the connections end with its last tool, or with the process. A connection that breaks is
    opened again by the next call.
    """

    def __init__(self, server: object, settings: McpSettings) -> None:
        self._addresses = read_servers(server)
        self._settings = settings
        self._background: BackgroundLoop | None = None
        self._loop: _Loop
        if any(_is_open_session(address.target) for address in self._addresses):
            from ez_ptc.mcp.client.sessions import SessionLoop

            self._loop = SessionLoop()
        else:
            self._loop = self._background = BackgroundLoop()
        self._catalogs: list[ServerCatalog] = []
        # By the position of the server, the name, and the fingerprint.
        self._made: dict[tuple[int, str, str], Tool[..., Any] | None] = {}

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools as the servers list them now."""
        return tuple(self._current().values())

    @property
    def fingerprints(self) -> dict[str, str]:
        """A digest of each tool's description, schemas and hints, by name; `pins` compares them in later processes."""
        names = self._names(offers := self._offers())
        return {name: offer.listed.fingerprint for name, offer in zip(names, offers, strict=True)}

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __getitem__(self, name: str) -> Tool[..., Any]:
        tools = self._current()
        if name not in tools:
            raise ToolNotFoundError(unknown_tool_text(name, tools))
        return tools[name]

    def __repr__(self) -> str:
        return f"McpTools({', '.join(address.name for address in self._addresses)})"

    # Prompts ----------------------------------------------------------------------------------------------------------

    def prompts(self) -> list[McpPrompt]:
        """Return the prompts of the servers. Raises ToolError."""
        return self._require_background().run(self._prompts)

    async def aprompts(self) -> list[McpPrompt]:
        """Same as `prompts`, but awaits."""
        return await self._loop.arun(self._prompts)

    def prompt(self, name: str, /, **arguments: str) -> list[Message]:
        """Return the messages of a prompt, with its arguments filled in. Raises ToolError."""
        return self._require_background().run(self._prompt, name, arguments)

    async def aprompt(self, name: str, /, **arguments: str) -> list[Message]:
        """Same as `prompt`, but awaits."""
        return await self._loop.arun(self._prompt, name, arguments)

    async def _prompts(self) -> list[McpPrompt]:
        prompts: list[McpPrompt] = []
        for catalog in self._catalogs:
            for prompt in await catalog.list_prompts():
                parameters = {argument.name: argument.required is True for argument in prompt.arguments or ()}
                prompts.append(McpPrompt(catalog.name, prompt.name, clean_text(prompt.description), parameters))
        return prompts

    async def _prompt(self, name: str, arguments: Mapping[str, str]) -> list[Message]:
        from ez_ptc.mcp.client.results import prompt_messages

        names: list[str] = []
        offering: list[ServerCatalog] = []
        for catalog in self._catalogs:
            listed = [prompt.name for prompt in await catalog.list_prompts()]
            names += listed
            offering += [catalog] * (name in listed)
        if not offering:
            raise ToolNotFoundError(unknown_tool_text(name, names).replace("unknown tool", "unknown prompt", 1))
        if len(offering) > 1:
            servers = ", ".join(catalog.name for catalog in offering)
            message = f"the prompt {safe_name(name)} is one of {servers}: connect to one of these servers alone"
            raise ToolError(message)
        return prompt_messages((await offering[0].get_prompt(name, arguments)).messages)

    # Connections ------------------------------------------------------------------------------------------------------

    async def _load(self) -> None:
        """Connect to all servers at once, and close all connections if one fails."""
        processes = [ServerProcess(address) for address in self._addresses]
        for process in processes:
            process.start()
            if self._background is not None:
                self._background.on_close(process.discard)
        # Meanwhile, and without keeping a caller's loop from its other work.
        make_catalog = await asyncio.to_thread(_import_catalog)
        self._catalogs = [make_catalog(process, self._settings) for process in processes]
        if self._background is not None:
            for catalog in self._catalogs:
                self._background.on_close(catalog.close)
        # At once, because each may take seconds to start.
        tasks = [asyncio.ensure_future(catalog.load()) for catalog in self._catalogs]
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(catalog.close() for catalog in self._catalogs))
            raise
        # A mistyped name would leave out a tool, or let one run without the approval that was meant for it.
        offers, settings = self._offers(), self._settings
        known = {*self._names(offers), *(offer.listed.name for offer in offers)}
        known.update(*(catalog.dropped.names for catalog in self._catalogs))
        options = {"only": settings.only, "exclude": settings.exclude, "tool_options": settings.tool_options}
        for option, names in (options | {"pins": settings.pins}).items():
            for name in names or ():
                if name not in known:
                    _log.warning("%s of %r: %s", option, self, unknown_tool_text(name, known))

    def close(self) -> None:
        """End the connections, and the processes of servers; closing twice is harmless. Open sessions stay open."""
        if self._background is not None:
            self._background.close()

    def _require_background(self) -> BackgroundLoop:
        if self._background is None:
            message = "an open session belongs to a running event loop: await the method with the a, as in aprompts()"
            raise TypeError(message)
        return self._background

    async def aopen(self) -> None:
        """Same as `open`, but awaits."""
        await self._loop.arun(self._load)
        await to_thread(self._make_tools)
        self._warn_of_dropped()

    def open(self) -> None:
        """Connect and list the tools; `mcp_tools` has done it. Raises McpServerError."""
        background = self._require_background()
        try:
            background.run(self._load)
            self._current()
        except BaseException:
            self.close()
            raise

    # Tools ------------------------------------------------------------------------------------------------------------

    def _current(self) -> dict[str, Tool[..., Any]]:
        """Return the tools by name, and warn of those dropped since the last time."""
        tools = self._make_tools()
        self._warn_of_dropped()
        return tools

    def _make_tools(self) -> dict[str, Tool[..., Any]]:
        """Return the tools by name. One whose definition has not changed is the same object each time."""
        offers = self._offers()
        names = self._names(offers)
        # A server may call a tool as one of another server is called after its prefix.
        prefixed = {name for name, offer in zip(names, offers, strict=True) if name != offer.listed.name}
        made: dict[tuple[int, str, str], Tool[..., Any] | None] = {}
        for name, offer in zip(names, offers, strict=True):
            own_names = [name] if offer.listed.name in prefixed else [offer.listed.name, name]
            if not self._is_wanted(own_names, offer):
                continue
            # Two servers may offer equal tools, and a name may go from one to the other.
            key = (self._catalogs.index(offer.catalog), name, offer.listed.fingerprint)
            if key in self._made:
                made[key] = self._made[key]
                continue
            function = _as_function(self._loop, offer.function)
            made[key] = make_tool(own_names, offer.listed, function, self._settings.tool_options, offer.catalog.dropped)
        self._made = made
        return {name: tool for (_, name, _), tool in made.items() if tool is not None}

    def _warn_of_dropped(self) -> None:
        """Warn of each unusable tool, unless the options leave it out anyway."""
        for catalog in self._catalogs:
            for name, message in catalog.dropped.take_new():
                if name is None or self._is_selected({name, *distinct_names([name], [self._prefix(catalog)])}):
                    warn_caller(message)

    def _offers(self) -> list[_Offer]:
        offers: list[_Offer] = []
        for catalog in self._catalogs:
            offers += [_Offer(catalog, tool, partial(catalog.call, tool)) for tool in catalog.tools.values()]
            offers += [_Offer(catalog, listed, function) for listed, function in catalog.resource_tools]
        return offers

    def _names(self, offers: list[_Offer]) -> list[str]:
        prefixes = [self._prefix(offer.catalog) for offer in offers]
        return distinct_names([offer.listed.name for offer in offers], prefixes)

    def _prefix(self, catalog: ServerCatalog) -> str:
        prefix = self._settings.prefix
        if isinstance(prefix, str):
            return prefix
        if prefix is True or (prefix is None and len(self._catalogs) > 1):
            return f"{catalog.name}_"
        return ""

    def _is_selected(self, names: set[str]) -> bool:
        """Return whether the options leave in a tool with these names, its own and its server's."""
        only, exclude = self._settings.only, self._settings.exclude
        return (only is None or not names.isdisjoint(only)) and names.isdisjoint(exclude)

    def _is_wanted(self, own_names: list[str], offer: _Offer) -> bool:
        settings, name = self._settings, own_names[-1]
        if not self._is_selected({*own_names}) or offer.listed.name in settings.exclude:
            return False
        if settings.pins is None or settings.pins.get(name) == offer.listed.fingerprint:
            return True
        reason = "it has no pin" if name not in settings.pins else "its description or schema is not the pinned one"
        offer.catalog.dropped.add(offer.listed.name, reason)
        return False


def connect_and_wait(server: object, settings: McpSettings) -> McpTools:
    """Connect to servers, list their tools, and return them."""
    tools = McpTools(server, settings)
    tools.open()
    return tools


async def connect(server: object, settings: McpSettings) -> McpTools:
    """Same as `connect_and_wait`, but awaits."""
    tools = McpTools(server, settings)
    try:
        await tools.aopen()
    except BaseException:
        tools.close()
        raise
    return tools


def _is_open_session(target: object) -> bool:
    """Return whether an object is an open session; others do not need the SDK to know that they are none."""
    if target is None:
        return False
    from ez_ptc.mcp.client.sessions import is_open_session

    return is_open_session(target)


def _import_catalog() -> type[ServerCatalog]:
    """Import the SDK, and what tools are made with."""
    for module in ("ez_ptc.schema.imported.parameters", "ez_ptc.tools.definitions.definition"):
        import_module(module)
    from ez_ptc.mcp.client.catalog import ServerCatalog

    return ServerCatalog


def _as_function(
    loop: _Loop, call: Callable[[dict[str, object]], Coroutine[Any, Any, object]]
) -> Callable[..., Coroutine[Any, Any, object]]:
    async def call_tool(**arguments: object) -> object:
        return await loop.arun(call, arguments)

    return call_tool
