"""Google ADK: its tools and toolsets as our tools, and ours as its tools."""

from __future__ import annotations

import copy
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._sync import run_coroutine, to_thread
from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.integrations.offers import Hooks, Offer, Outcome, PausedRun, ProgramOffer, ToolOffer, offers_of
from ez_ptc.schema.annotations.context import NO_CONTEXT, Context
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from ez_ptc.messages import PendingCall
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["export_tools", "import_tools"]

_tools: Any = import_framework("google.adk.tools.base_tool", package="google-adk", version="2.0")
_toolsets: Any = import_framework("google.adk.tools.base_toolset", package="google-adk", version="2.0")
_types: Any = import_framework("google.genai.types", package="google-adk", version="2.0")

# The context of the agent's call whose program calls tools of ADK.
_CALL: Final[ContextVar[Any]] = ContextVar("ez_ptc_google_adk_call", default=None)


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tools of a tool or toolset, or None for anything else.

    They get the `ToolContext` of the agent running the program, or else the call's context. If one requires
    confirmation, always or sometimes, it requires approval.
    """
    if isinstance(thing, _toolsets.BaseToolset):
        return [_import_tool(tool) for tool in run_coroutine(cast("Any", thing).get_tools)]
    return [_import_tool(thing)] if isinstance(thing, _tools.BaseTool) else None


def _import_tool(thing: Any) -> Tool[..., Any]:
    tool = copy.copy(thing)
    needs_confirmation = getattr(tool, "_require_confirmation", False)
    if needs_confirmation:
        tool._require_confirmation = False  # noqa: SLF001 - our approver is asked instead
    declaration = tool._get_declaration()  # noqa: SLF001 - what its agents read

    async def call(context: Context[object] = None, **arguments: object) -> object:
        result = await tool.run_async(args=arguments, tool_context=_CALL.get() or context)
        if isinstance(result, dict) and result.keys() == {"error"}:
            raise ToolError(str(cast("dict[str, object]", result)["error"]))
        return cast("object", result)

    return Tool.from_schema(
        tool.name,
        tool.description or tool.name,
        _schema_of(declaration),
        call,
        requires_approval=needs_confirmation is not False,
    )


def _schema_of(declaration: Any) -> dict[str, Any]:
    if declaration is not None and declaration.parameters_json_schema is not None:
        return declaration.parameters_json_schema
    if declaration is None or declaration.parameters is None:
        return {"type": "object", "properties": {}}
    return declaration.parameters.json_schema.model_dump(mode="json", by_alias=True, exclude_none=True)


def export_tools(tools: object, *, context: object = NO_CONTEXT, approve: Approver | None = None) -> list[Any]:
    """Return a toolkit, or tools and functions, as ADK's tools: `LlmAgent(..., tools=export_tools(toolkit))`.

    `Context` parameters get the call's `ToolContext`, unless there is another. A call that needs approval asks for
    ADK's tool confirmation, unless there is an approver; in programs, this takes a toolkit with a journal.

    Args:
        tools: A `Toolkit`, which becomes the tool that runs programs; or a tool, a function, or a list of them.
        context: The value of `Context` parameters.
        approve: The approver.

    Raises:
        TypeError: It is neither a toolkit nor tools.
        ValueError: There are no tools, or no one could approve the calls of a program.
    """
    return [_OfferTool(offer) for offer in offers_of(tools, context=context, approve=approve)]


class _OfferTool(_tools.BaseTool):
    def __init__(self, offer: Offer) -> None:
        super().__init__(name=offer.name, description=offer.description)  # pyright: ignore[reportUnknownMemberType] - of a base that is Any
        self._offer = offer

    def _get_declaration(self) -> Any:
        offer = self._offer
        return _types.FunctionDeclaration(
            name=offer.name, description=offer.description, parameters_json_schema=offer.parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        token = _CALL.set(tool_context)
        try:
            if isinstance(self._offer, ProgramOffer):
                outcome = await _run_program(self._offer, args, tool_context)
            else:
                outcome = await _run_tool(self._offer, args, tool_context)
        finally:
            _CALL.reset(token)
        if outcome.pending and tool_context.tool_confirmation is not None:
            # ADK asks once about a call.
            return {"error": f"{outcome.error}; run the same program again, and it goes on from there"}
        if outcome.pending:
            _ask(tool_context, {"pending": [{"tool": c.tool, "arguments": c.arguments} for c in outcome.pending]})
        return {"result": outcome.data} if outcome.error is None else {"error": outcome.error}


async def _run_tool(offer: ToolOffer, arguments: dict[str, Any], call: Any) -> Outcome:
    confirmation = call.tool_confirmation
    if confirmation is None and await to_thread(offer.needs_approval, arguments, call):
        _ask(call, {"tool": offer.name, "arguments": arguments})
        return Outcome(error="not finished: it waits for a person's confirmation")

    def approve(_: PendingCall) -> bool:
        return confirmation is not None and confirmation.confirmed

    return await offer.acall(arguments, Hooks(call, approve))


async def _run_program(offer: ProgramOffer, arguments: dict[str, Any], call: Any) -> Outcome:
    confirmation, run_id = call.tool_confirmation, None

    async def decide(paused: PausedRun) -> dict[str, object] | None:
        # A person has not seen the calls of a later pause.
        if confirmation is None or not paused.is_known:
            return None
        return {pending.id: confirmation.confirmed for pending in paused.pending}

    if offer.is_durable:
        parts = ("google_adk", call.session.id, arguments.get("code"))
        run_id = await to_thread(offer.paused_run_id, *parts) or await to_thread(offer.new_run_id, *parts)
    return await offer.acall(arguments, Hooks(call, run_id=run_id, decide=decide))


def _ask(call: Any, payload: dict[str, Any]) -> None:
    """Ask for ADK's confirmation of a call; ADK repeats the call with the answer."""
    call.request_confirmation(hint="Approve these calls?", payload=payload)
    call.actions.skip_summarization = True
