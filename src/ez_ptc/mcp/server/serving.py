"""A toolkit as an MCP server."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp.server.stdio import stdio_server

from ez_ptc._distribution import VERSION
from ez_ptc._sync import to_thread
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import EzPtcError
from ez_ptc.formats import mcp as mcp_format
from ez_ptc.formats.naming.names import names_of
from ez_ptc.formats.naming.resolution import Spellings
from ez_ptc.mcp.server.approvals import (
    AnswerNeeded,
    AskedCalls,
    OpenQuestions,
    ask_now,
    can_ask_later,
    can_ask_now,
    decision_of,
)
from ez_ptc.mcp.server.callers import caller_of, connection
from ez_ptc.mcp.server.http import HttpSettings, run_http
from ez_ptc.mcp.server.listing import describe_tool, program_tools
from ez_ptc.mcp.server.programs import ServedPrograms, no_open_question, text_argument
from ez_ptc.mcp.server.progress import RequestProgress
from ez_ptc.mcp.server.results import ServedResults
from ez_ptc.messages import ToolCall, exception_text
from ez_ptc.results.bounds import fit_text
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.call_spans import add_result, call_span
from ez_ptc.tools.decisions import Decision, Deny, Pause
from ez_ptc.tools.definitions.names import unknown_tool_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext

    from ez_ptc.mcp.server.admission import AllowList
    from ez_ptc.mcp.server.served import ServedToolkit, ServeSettings
    from ez_ptc.messages import PendingCall
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

    _Context = ServerRequestContext[Any, Any]
    _Handler = Callable[[_Context, types.CallToolRequestParams], Awaitable[types.CallToolResult]]

__all__ = ["McpServer"]

_CANNOT_ASK: Final = "this client cannot ask its user"
_DISMISSED: Final = "the user dismissed the question"


@explain_calls
class McpServer:
    """A toolkit as an MCP server: `run` serves it on standard input and output, `run_http` over HTTP.

    `server` is the SDK's server, for other transports and for clients in this process.
    """

    def __init__(self, toolkit: ServedToolkit, name: str, settings: ServeSettings, *, allowed: AllowList) -> None:
        self._toolkit = toolkit
        self._allowed = allowed
        self._settings = settings
        self._questions = OpenQuestions()
        self._results = ServedResults(toolkit, settings)
        mode = settings.mode
        tools = tuple(toolkit) if mode != "programs" else ()
        names = names_of(tools, mcp_format.NAMES)
        self._tools = {tool.name: tool for tool in tools}
        self._listed = [describe_tool(tool) for tool in tools]
        self._handlers: dict[str, _Handler] = {}
        if mode != "programs":  # which read kept results themselves
            readers = self._results.readers()
            self._listed += readers
            self._handlers = dict.fromkeys((reader.name for reader in readers), self._results.read)
        if mode != "tools":
            own_tools = program_tools(toolkit, settings.decide)
            programs = ServedPrograms(toolkit, settings, self._questions)
            clashes = {tool.name for tool in own_tools} & {tool.name for tool in self._listed}
            if clashes:
                message = (
                    f"the mode {mode!r} needs the name {safe_repr(min(clashes))}, which a tool has: rename the tool"
                )
                raise ValueError(message)
            self._listed += own_tools
            self._handlers |= {
                "execute_tools": programs.execute,
                "search_tools": self._search,
                "describe_tool": self._describe,
                "resume_program": programs.resume,
            }
        known = {**names.received, **{name: name for name in (*self._tools, *self._handlers)}}
        self._spellings = Spellings(known, mcp_format.NAMES)
        self.server: Server[Any] = Server(
            name, version=VERSION, lifespan=connection, on_list_tools=self._list_tools, on_call_tool=self._call_tool
        )

    def run(self) -> None:
        """Serve on standard input and output until the client closes them."""
        asyncio.run(self.arun())

    async def arun(self) -> None:
        """Same as `run`, but awaits."""
        async with stdio_server() as (reads, writes):
            await self.server.run(reads, writes, self.server.create_initialization_options())

    def run_http(
        self, *, host: str = "127.0.0.1", port: int = 8000, token: str | None = None, no_token: bool = False
    ) -> None:
        """Serve over streamable HTTP, at /mcp, until the process is interrupted.

        Requests need the header `Authorization: Bearer TOKEN`. All clients with the token have the same authority.

        Args:
            host: The address to bind.
            port: The port; 0 for any free one.
            token: The token, of at least 16 characters. By default one is made, and written to standard error.
            no_token: Serve every program of this machine, without a token; only on a loopback address.

        Raises:
            ValueError: The token is too short, or `no_token` is not possible: the address is not loopback, or
                `allow_host` or `allow_origin` was given.
            OSError: The address cannot be bound.
        """
        run_http(self.server, HttpSettings(host, port, token, no_token, self._allowed))

    # Requests ---------------------------------------------------------------------------------------------------------

    async def _list_tools(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(tools=self._listed)

    async def _call_tool(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        name = self._spellings.find(params.name)
        if name is None:
            text = unknown_tool_text(params.name, [listed.name for listed in self._listed])
            raise MCPError(types.INVALID_PARAMS, text)
        params = params.model_copy(update={"name": name})
        try:
            if (handler := self._handlers.get(name)) is not None:
                result = await handler(context, params)
            else:
                result = await self._call(context, params, self._tools[name])
        except AnswerNeeded as needed:
            return needed.result
        except EzPtcError as error:
            result = types.CallToolResult(content=[types.TextContent(text=exception_text(error))], is_error=True)
        most = self._results.text_limit(params)
        # The texts share one bound, within which nearly all results are already.
        for block in result.content:
            if isinstance(block, types.TextContent):
                block.text = fit_text(block.text, most)
                most -= len(block.text)
        return result

    async def _call(
        self, context: _Context, params: types.CallToolRequestParams, tool: Tool[..., Any]
    ) -> types.CallToolResult:
        call = ToolCall(str(context.request_id), tool.name, dict(params.arguments or {}))
        asker = _ToolAsker(self._settings, self._questions, context, params)
        if asker.is_late:
            return no_open_question()
        own_approver = self._toolkit.approve or tool.settings.approve
        approve = asker.approver() if own_approver is None else self._limit_time(own_approver)
        called = tool
        if asker.was_asked:
            # What a person was asked about needs their answer, whatever the tool's predicate says by now.
            called = tool.from_definition(replace(tool.definition, requires_approval=True), tool.settings)
        keeper = self._results.keeper(context, params)
        reraise, most = (AnswerNeeded,), self._results.text_limit(params)
        settings = CallSettings(self._toolkit.context, approve, reraise, most, keeper)
        with call_span(call) as notes, RequestProgress(context, is_program=False) as progress:
            result = await called.arun(call, settings)
            add_result(notes, result)
        await progress.sent()
        answer = self._results.answer(tool, call, result, keeper)
        return types.CallToolResult.model_validate(answer, by_name=False)

    def _limit_time(self, approve: Approver) -> Approver:
        """Return the toolkit's approver with its time limit, since a call outside of a program has none."""
        seconds = self._toolkit.limits.approval_timeout

        async def ask(call: PendingCall) -> object:
            with anyio.move_on_after(seconds):
                answer = await to_thread(approve, call)
                return await answer if inspect.isawaitable(answer) else answer
            return Deny(f"there was no answer within {seconds:g} s")

        return ask

    # Programs ---------------------------------------------------------------------------------------------------------

    async def _search(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        del context
        query = text_argument(params, "query")
        return _success(await to_thread(self._toolkit.search_tools, query))  # the first search reads all tools

    async def _describe(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        del context
        return _success(self._toolkit.describe_tool(text_argument(params, "name")))


class _ToolAsker:
    """Asks the client's user about the call of a tool, now or with a result."""

    def __init__(
        self, settings: ServeSettings, questions: OpenQuestions, context: _Context, params: types.CallToolRequestParams
    ) -> None:
        self._seconds = settings.question_timeout
        self._questions = questions
        self._context = context
        self._params = params
        self._caller = caller_of(context, settings.principal)
        self._asked: AskedCalls | None = None
        self.is_late = self.was_asked = False
        if params.request_state is not None or params.input_responses:
            self._asked = questions.take(params.request_state or "", self._caller, params.name)
            self.was_asked = self._asked is not None
            self.is_late = not self.was_asked

    def approver(self) -> Approver:
        """Return the approver: the client's user, or a refusal if they cannot be asked."""
        if can_ask_now(self._context):
            return self._ask_now
        return self._recall if can_ask_later(self._context) else lambda _: Deny(_CANNOT_ASK)

    async def _ask_now(self, call: PendingCall) -> Decision:
        answer = await ask_now(self._context, call, self._seconds)
        if isinstance(answer, Pause):
            return Deny(_DISMISSED)
        return Deny(answer) if isinstance(answer, str) else answer

    async def _recall(self, call: PendingCall) -> Decision:
        """Return the answer that came with the request, if it is about this very call. Raises AnswerNeeded."""
        asked, answers = self._asked, self._params.input_responses or {}
        for question, digest in asked.digests.items() if asked is not None else ():
            if question in answers and digest == call.digest:
                decision = decision_of(answers[question])
                return Deny(_DISMISSED) if isinstance(decision, Pause) else decision
        raise AnswerNeeded(self._questions.ask_about_tool(self._caller, self._params.name, call))


def _success(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])
