"""A toolkit as an MCP server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp.server.stdio import stdio_server

from ez_ptc._distribution import VERSION
from ez_ptc.errors import EzPtcError
from ez_ptc.formats import mcp as mcp_format
from ez_ptc.formats.naming.names import names_of
from ez_ptc.mcp.server.approvals import AnswerNeeded, ApprovalDesk, can_ask, decision_of, questions_about
from ez_ptc.mcp.server.http import HttpSettings, run_http
from ez_ptc.mcp.server.listing import WRAPPED, describe_tool, describe_tools, is_wrapped, program_tools, search_tools
from ez_ptc.messages import ToolCall, ToolResult
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.decisions import Approve, Deny
from ez_ptc.tools.definitions.names import unknown_tool_text
from ez_ptc.tools.failures import error_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext

    from ez_ptc.mcp.server.admission import AllowList
    from ez_ptc.mcp.server.served import ServedToolkit, ServeMode
    from ez_ptc.sandbox.execution import ExecutionResult
    from ez_ptc.tools.tool import Tool

    _Context = ServerRequestContext[Any, Any]
    _Handler = Callable[[_Context, types.CallToolRequestParams], Awaitable[types.CallToolResult]]

__all__ = ["McpServer"]

_CANNOT_ASK: Final = "; this client cannot ask its user"


class McpServer:
    """A toolkit as an MCP server: `run` serves it on standard input and output, `run_http` over HTTP.

    `server` is the SDK's server, for other transports and for clients in this process.
    """

    def __init__(self, toolkit: ServedToolkit, name: str, mode: ServeMode, *, allowed: AllowList) -> None:
        self._toolkit = toolkit
        self._allowed = allowed
        self._desk = ApprovalDesk()
        tools = tuple(toolkit) if mode != "programs" else ()
        self._names = names_of(tools, mcp_format.NAMES)
        self._tools = {tool.name: tool for tool in tools}
        self._listed = [describe_tool(tool) for tool in tools]
        self._handlers: dict[str, _Handler] = {}
        if mode != "tools":
            own = program_tools(toolkit)
            clashes = {tool.name for tool in own} & {tool.name for tool in self._listed}
            if clashes:
                message = (
                    f"the mode {mode!r} needs the name {safe_repr(min(clashes))}, which a tool has: rename the tool"
                )
                raise ValueError(message)
            self._listed += own
            self._handlers = {
                "execute_tools": self._execute,
                "search_tools": self._search,
                "describe_tools": self._describe,
                "resume_program": self._resume,
            }
        self.server: Server[Any] = Server(
            name, version=VERSION, on_list_tools=self._list_tools, on_call_tool=self._call_tool
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
        handler = self._handlers.get(params.name)
        try:
            if handler is not None:
                return await handler(context, params)
            tool = self._tools.get(self._names.to_tool(params.name))
            if tool is None:
                text = unknown_tool_text(params.name, [listed.name for listed in self._listed])
                raise MCPError(types.INVALID_PARAMS, text)
            return await self._call(context, params, tool)
        except AnswerNeeded as needed:
            return needed.result
        except EzPtcError as error:
            return types.CallToolResult(content=[types.TextContent(text=error_text(error))], is_error=True)

    async def _call(
        self, context: _Context, params: types.CallToolRequestParams, tool: Tool[..., Any]
    ) -> types.CallToolResult:
        approve = self._toolkit.approve or self._desk.approver(context, params)
        settings = CallSettings(self._toolkit.context, approve, (AnswerNeeded,))
        call = ToolCall(str(context.request_id), tool.name, dict(params.arguments or {}))
        result = await tool.arun(call, settings)
        (answer,) = mcp_format.results([(call, result)])
        # Clients check structured content against the declared schema, which is that of the wrapper.
        if result.success and is_wrapped(tool) and not answer["isError"]:
            (wrapped,) = mcp_format.results([(call, replace(result, output={WRAPPED: result.output}))])
            answer = {**answer, "structuredContent": wrapped["structuredContent"]}
        if answer["isError"] and approve is None and tool.requires_approval:
            answer["content"][0]["text"] += _CANNOT_ASK
        return types.CallToolResult.model_validate(answer, by_name=False)

    # Programs ---------------------------------------------------------------------------------------------------------

    async def _execute(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        code = _text_argument(params, "code")
        if isinstance(params.request_state, str) and params.input_responses:
            decisions = {call: decision_of(answer) for call, answer in params.input_responses.items()}
            result = await self._toolkit.aresume(params.request_state, decisions)
        else:
            approve = None if self._toolkit.approve else self._desk.approver(context, None)
            loop, calls = asyncio.get_running_loop(), 0
            # The loop refers to tasks only weakly.
            tasks: set[asyncio.Task[None]] = set()

            def report(record: dict[str, Any]) -> None:
                nonlocal calls
                calls += 1
                progress = context.session.report_progress(calls, None, f"called {record['name']}")
                loop.call_soon_threadsafe(lambda: tasks.add(loop.create_task(progress)))

            result = await self._toolkit.aexecute(code, approve=approve, on_tool_call=report)
            # The client must hear of the calls before it hears of the end.
            if tasks:
                await asyncio.wait(tasks)
        return self._answer(context, code, result)

    async def _resume(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = params.arguments or {}
        decisions: dict[str, object] = {call: Approve() for call in _names_in(arguments, "approve")}
        decisions |= {call: Deny("the user did not approve it") for call in _names_in(arguments, "deny")}
        result = await self._toolkit.aresume(_text_argument(params, "run_id"), decisions)
        return self._answer(context, "", result)

    def _answer(self, context: _Context, code: str, result: ExecutionResult) -> types.CallToolResult:
        """Return a program's result. Raises AnswerNeeded if it waits, and the client can ask its user."""
        if result.status == "paused":
            if can_ask(context) and result.run_id is not None:
                questions = questions_about(tuple(result.pending))
                raise AnswerNeeded(types.InputRequiredResult(input_requests=questions, request_state=result.run_id))
            calls = [f"{call.id}: {call.tool}({call.arguments})" for call in result.pending]
            text = (
                f"The program waits for a person's decision about {len(calls)} calls. Ask the person; then call "
                f"resume_program with run_id {result.run_id!r} and the ids of the calls to approve or deny.\n"
            )
            return types.CallToolResult(content=[types.TextContent(text=text + "\n".join(calls))])
        content: list[types.ContentBlock] = [types.TextContent(text=self._toolkit.answer(code, result))]
        for image in result.images:
            (answer,) = mcp_format.results([(ToolCall("", "image", {}), ToolResult(success=True, output=image))])
            content += types.CallToolResult.model_validate(answer, by_name=False).content
        return types.CallToolResult(content=content, is_error=not result.success)

    async def _search(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        del context
        return _success(search_tools(self._toolkit, _text_argument(params, "query")))

    async def _describe(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        del context
        names = _names_in(params.arguments or {}, "names")
        return _success(describe_tools(self._toolkit, names))


def _text_argument(params: types.CallToolRequestParams, name: str) -> str:
    value = (params.arguments or {}).get(name)
    if not isinstance(value, str):
        raise MCPError(types.INVALID_PARAMS, f"{params.name}: expected {name} to be a string")
    return value


def _names_in(arguments: dict[str, Any], key: str) -> list[str]:
    names: object = arguments.get(key) or []
    if isinstance(names, str):
        return [names]
    return [str(name) for name in cast("list[object]", names)] if isinstance(names, list) else []


def _success(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])
