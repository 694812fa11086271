"""Results of single calls for clients: within the bound, and kept for their caller beyond it.

A client checks structured content against a tool's declared schema, and refuses a result without it. A part of the data
may fit the schema too, and a program would take it for the whole. So with a declared schema, a result beyond the bound
is an error: the tool has run, and the text has a sketch and the name of the whole for `read_result`. Clients with
programs, such as this package's, ask for whole results. A result that does not fit the declared schema, such as an
infinite number, is an error with its text: the client's own check would raise, and lose it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types

from ez_ptc.formats import mcp as mcp_format
from ez_ptc.formats.content import MAX_TEXT
from ez_ptc.mcp.sdk import WHOLE
from ez_ptc.mcp.server.callers import caller_of
from ez_ptc.mcp.server.listing import WRAPPED, describe_tool, is_wrapped, result_schema
from ez_ptc.messages import ToolCall
from ez_ptc.results.notes import note
from ez_ptc.schema.imported.parameters import check_result_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

    from ez_ptc.mcp.server.served import CallerResults, CallKeeper, ServedToolkit, ServeSettings
    from ez_ptc.messages import ToolResult
    from ez_ptc.tools.tool import Tool

    _Context = ServerRequestContext[Any, Any]

__all__ = ["ServedResults"]

_DOES_NOT_FIT: Final = (
    "{tool} has run, and is not to be called again for its result, which does not fit the schema it declares: {problem}"
)
# Parts of a schema with values, with schemas by the user's names, and with regular expressions.
_VALUES: Final = frozenset({"const", "default", "enum", "examples"})
_WITH_NAMES: Final = frozenset({"$defs", "definitions", "properties"})
_PATTERNS: Final = frozenset({"pattern", "patternProperties"})
_HAS_RUN: Final = "{tool} has run, and is not to be called again for its result, which exceeds {most:,} characters"


class ServedResults:
    """The results of a toolkit's single calls, for the callers of its server."""

    def __init__(self, toolkit: ServedToolkit, settings: ServeSettings) -> None:
        self._toolkit = toolkit
        self._settings = settings
        self._checks: dict[str, Callable[[object], str | None]] = {}

    def readers(self) -> list[types.Tool]:
        """Return the tools for kept results, as clients list them."""
        readers = self._toolkit.results_of().readers(self._toolkit.limits.text)
        # What they return may exceed the bound as JSON, and a sketch of it fits no schema.
        return [describe_tool(tool).model_copy(update={"output_schema": None}) for tool in readers.values()]

    async def read(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Answer a call of a tool for kept results, with those of the request's caller."""
        tool = self._of_caller(context).readers(self._toolkit.limits.text)[params.name]
        call = ToolCall(str(context.request_id), params.name, dict(params.arguments or {}))
        (answer,) = mcp_format.results([(call, await tool.arun(call))])
        return types.CallToolResult.model_validate(answer, by_name=False)

    def text_limit(self, params: types.CallToolRequestParams) -> int:
        """Return the maximum characters of the texts in a call's result."""
        return MAX_TEXT if _asks_for_whole(params) else self._toolkit.limits.text

    def keeper(self, context: _Context, params: types.CallToolRequestParams) -> CallKeeper | None:
        """Return the keeper of a call's result; None if the result is whole."""
        return None if _asks_for_whole(params) else self._of_caller(context).keeper()

    def answer(
        self, tool: Tool[..., Any], call: ToolCall, result: ToolResult, keeper: CallKeeper | None
    ) -> dict[str, Any]:
        """Return a call's result as a `CallToolResult`."""
        (answer,) = mcp_format.results([(call, result)])
        if answer["isError"] or result_schema(tool) is None:
            return answer
        if keeper is None or not keeper.has_shortened:
            output = {WRAPPED: result.output} if is_wrapped(tool) else result.output
            fields = mcp_format.structured_content(tool.name, output)
            problem = None if "isError" in fields else self._check_of(tool)(fields.get("structuredContent"))
            if problem is None:
                return {**answer, **fields}
            heading = note(_DOES_NOT_FIT.format(tool=tool.name, problem=problem))
            return {"content": [{"type": "text", "text": heading}, *answer["content"]], "isError": True}
        most = self._toolkit.limits.text
        heading = note(_HAS_RUN.format(tool=tool.name, most=most))
        (answer,) = mcp_format.results([(call, replace(result, max_text=max(most - len(heading) - 1, 1)))])
        return {"content": [{"type": "text", "text": heading}, *answer["content"]], "isError": True}

    def _check_of(self, tool: Tool[..., Any]) -> Callable[[object], str | None]:
        """Return the check that a client makes of a tool's structured content, which raises there."""
        if tool.name not in self._checks:
            schema = cast("dict[str, Any]", _without_patterns(describe_tool(tool).output_schema or {}))
            self._checks[tool.name] = check_result_schema(tool.name, schema)
        return self._checks[tool.name]

    def _of_caller(self, context: _Context) -> CallerResults:
        return self._toolkit.results_of(caller_of(context, self._settings.principal))


def _asks_for_whole(params: types.CallToolRequestParams) -> bool:
    """Return whether a client passes the result of a call to a program, which is to get the whole."""
    return params.meta is not None and params.meta.get(WHOLE) is True


def _without_patterns(schema: object, *, has_names: bool = False) -> object:
    """Return a schema without its patterns: a client may read them by other rules, as for letters beyond ASCII."""
    if isinstance(schema, list):
        return [_without_patterns(inner) for inner in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        name: inner
        if name in _VALUES and not has_names
        else _without_patterns(inner, has_names=name in _WITH_NAMES and not has_names)
        for name, inner in cast("dict[str, object]", schema).items()
        if has_names or name not in _PATTERNS
    }
