"""What a server asks of us and tells us: elicitation, roots, logging, progress, changed listings."""

from __future__ import annotations

import asyncio
import inspect
import logging
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types
from mcp import MCPError
from mcp.client import Client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

from ez_ptc._distribution import VERSION
from ez_ptc._sync import to_thread
from ez_ptc.mcp.client.session_client import SessionClient
from ez_ptc.mcp.client.settings import Elicitation, McpLog, McpProgress
from ez_ptc.mcp.client.texts import clean_schema, clean_text, error_line
from ez_ptc.schema.annotations.progress import MAX_PROGRESS
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.approvals.visible_text import visible_lines

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from typing import Self

    from mcp.client import ClientRequestContext, IncomingMessage

    from ez_ptc.mcp.client.settings import McpSettings

__all__ = ["ServerCallbacks"]

_log = logging.getLogger("ez_ptc.mcp")
# Waiting for the user's functions; of more, a person or a program would see nothing for long.
_MAX_QUESTIONS: Final = 8
_MAX_QUESTION: Final = 8_000
_MAX_EVENTS: Final = 500
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}


class ServerCallbacks:
    """The client's side of one server's requests and notifications."""

    def __init__(self, server: str, settings: McpSettings, on_list_changed: Callable[[], object]) -> None:
        self._server = server
        self._settings = settings
        self._on_list_changed = on_list_changed
        self._asking = asyncio.Lock()
        self._questions = 0
        self._events = 0
        self._floods: set[str] = set()

    def client(self, target: Any) -> Client:  # noqa: ANN401 - any of the SDK's kinds of servers
        """Return the SDK's client of a server, which is not connected yet."""
        # A cached listing would hide a change.
        return _Client(target, cache=None, **self._session_options())

    @asynccontextmanager
    async def session(self, transport: Any) -> AsyncGenerator[SessionClient]:  # noqa: ANN401 - of FastMCP, or alike
        """Open a session by a transport that makes sessions instead of streams."""
        async with transport.connect_session(**self._session_options()) as session:
            if session.server_capabilities is None:
                await session.initialize()
            session.validate_tool_result = _accept
            yield SessionClient(session)

    def _session_options(self) -> dict[str, Any]:
        settings = self._settings
        return {
            "client_info": types.Implementation(name="ez-ptc", version=VERSION),
            "elicitation_callback": None if settings.elicit is None else self._elicit,
            "list_roots_callback": self._list_roots if settings.roots else None,
            "logging_callback": self._take_log,
            "log_level": None if settings.on_log is None else "debug",
            "message_handler": self._take_message,
        }

    @asynccontextmanager
    async def listening(self, client: Client) -> AsyncGenerator[None]:
        """Listen for changed listings while the context lasts, where the protocol's version needs it."""
        tools = client.server_capabilities.tools
        task: asyncio.Task[None] | None = None
        if tools is not None and tools.list_changed and client.session.discover_result is not None:
            task = asyncio.get_running_loop().create_task(self._listen(client))
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])

    async def _listen(self, client: Client) -> None:
        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._on_list_changed()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError) as error:
            _log.debug("%s: no news of changed tools: %s", self._server, error_line(str(error)))

    async def take_progress(
        self, tool: str, report: Callable[..., None] | None, progress: float, total: float | None, message: str | None
    ) -> None:
        """Pass progress of a call on, also to the reporter of the call, if it has one."""
        text = None if message is None else clean_text(message)
        if report is not None:
            if total is not None and not 0 <= total <= MAX_PROGRESS:
                total = None
            with suppress(ValueError):  # a server may send any number
                report(progress, total, text)
        if self._settings.on_progress is not None:
            await self._notify_unless_busy(
                self._settings.on_progress, McpProgress(self._server, tool, progress, total, text)
            )

    async def _take_message(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._on_list_changed()

    async def _take_log(self, params: types.LoggingMessageNotificationParams) -> None:
        data: object = params.data
        if isinstance(data, str):
            data = clean_text(data)
        if self._settings.on_log is None:
            level = _LEVELS.get(params.level, logging.ERROR)
            text = error_line(data) if isinstance(data, str) else safe_repr(data)
            _log.log(level, "%s: %s", self._server, text)
            return
        logger = None if params.logger is None else clean_text(params.logger)
        await self._notify_unless_busy(self._settings.on_log, McpLog(self._server, params.level, logger, data))

    async def _list_roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        del context
        uris = [root if isinstance(root, str) and "://" in root else _uri(root) for root in self._settings.roots]
        return types.ListRootsResult(roots=[types.Root.model_validate({"uri": uri}) for uri in uris])

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        del context
        elicit = self._settings.elicit
        if elicit is None:
            return types.ElicitResult(action="decline")
        if isinstance(params, types.ElicitRequestURLParams):
            question = Elicitation(self._server, _question_text(params.message), url=_question_text(params.url))
        else:
            schema = clean_schema(dict(params.requested_schema))
            question = Elicitation(self._server, _question_text(params.message), schema)
        if self._questions >= _MAX_QUESTIONS:
            self._warn_of_flood("questions")
            return types.ElicitResult(action="cancel")
        self._questions += 1
        try:
            async with self._asking:  # a person can answer one at a time
                answer = await _ask(elicit, question)
        finally:
            self._questions -= 1
        # Only an answer that the callback gave counts as one of the person.
        if answer is None or answer is False:
            return types.ElicitResult(action="decline")
        reply = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        if question.schema is None:
            return types.ElicitResult(action="accept")
        properties = cast("dict[str, object]", question.schema.get("properties", {}))
        fields = {name: cast("dict[str, Any]", field) for name, field in properties.items() if isinstance(field, dict)}
        defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
        return types.ElicitResult(action="accept", content={**defaults, **reply})

    async def notify(self, callback: Callable[[Any], object], event: object) -> None:
        """Call a user's function with an event; its failure is logged."""
        try:
            await _ask(callback, event)
        except Exception:  # noqa: BLE001 - foreign code, whose failure must not end the session; it is logged
            _log.exception("a callback for messages of the MCP server %s failed", self._server)

    async def _notify_unless_busy(self, callback: Callable[[Any], object], event: object) -> None:
        if self._events >= _MAX_EVENTS:
            self._warn_of_flood("messages")
            return
        self._events += 1
        try:
            await self.notify(callback, event)
        finally:
            self._events -= 1

    def _warn_of_flood(self, what: str) -> None:
        if what not in self._floods:
            self._floods.add(what)
            _log.warning("%s sends more %s than are read; some are left out", self._server, what)


class _Client(Client):
    """The SDK's client without its check of results: ours takes linear time for any schema a server may send."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        setattr(self.session, "validate_tool_result", _accept)  # noqa: B010 - a method of this instance
        return self


async def _accept(name: str, result: types.CallToolResult) -> None:
    del name, result


def _question_text(text: str) -> str:
    """Return a server's text for a person who decides by it: bounded, with everything in it visible."""
    if len(text) > _MAX_QUESTION:
        text = f"{text[:_MAX_QUESTION]}… ({len(text) - _MAX_QUESTION:,} more characters)"
    return visible_lines(text)


async def _ask(callback: Callable[[Any], object], question: object) -> object:
    """Call a user's function, which may be asynchronous; a blocking one runs in a thread, since people are slow."""
    if inspect.iscoroutinefunction(callback):
        answer = callback(question)
    else:
        answer = await to_thread(callback, question)
    if inspect.isawaitable(answer):
        return await answer
    return answer


def _uri(root: str | Path) -> str:
    return Path(root).expanduser().resolve().as_uri()
