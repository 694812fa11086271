"""OpenAI Agents SDK: function tools as our tools, and ours as theirs."""

from __future__ import annotations

import copy
import json
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._sync import to_thread
from ez_ptc.formats.content import as_json, as_text
from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.integrations.offers import Hooks, Offer, Outcome, PausedRun, ProgramOffer, context_of, offers_of
from ez_ptc.sandbox.events import CallEnded, CallStarted, ProgramEvent
from ez_ptc.schema.annotations.context import NO_CONTEXT, Context
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from ez_ptc.messages import PendingCall
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["export_tools", "import_tools"]

_agents: Any = import_framework("agents", package="openai-agents", version="0.20")
_tools: Any = import_framework("agents.tool", package="openai-agents", version="0.20")
_contexts: Any = import_framework("agents.tool_context", package="openai-agents", version="0.20")

# The run of an agent whose program calls function tools of the SDK.
_RUN: Final[ContextVar[Any]] = ContextVar("ez_ptc_openai_agents_run", default=None)


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tool of a `FunctionTool`, or None for anything else.

    It gets the context of the agent that runs the program, or else the call's. One with a function that decides about
    approval requires approval for each call.
    """
    if not isinstance(thing, _tools.FunctionTool):
        return None
    tool: Any = copy.copy(thing)
    # Its failures are errors of the program, not texts that pass for results.
    _tools.set_function_tool_failure_error_function(tool, None)

    async def call(context: Context[object] = None, **arguments: object) -> object:
        run = _RUN.get() or _agents.RunContextWrapper(context)
        text, call_id = json.dumps(arguments), getattr(run, "tool_call_id", "program")
        made = _contexts.ToolContext(
            run.context, run.usage, tool_name=tool.name, tool_call_id=call_id, tool_arguments=text
        )
        return await tool.on_invoke_tool(made, text)

    schema: dict[str, Any] = tool.params_json_schema
    properties: dict[str, Any] = schema.get("properties", {})
    # Parameters with a default may be omitted, although the strict mode requires them all.
    required = [name for name in schema.get("required", ()) if "default" not in (properties.get(name) or {})]
    return [
        Tool.from_schema(
            tool.name,
            tool.description or tool.name,
            {**schema, "required": required},
            call,
            requires_approval=tool.needs_approval is not False,
        )
    ]


def export_tools(tools: object, *, context: object = NO_CONTEXT, approve: Approver | None = None) -> list[Any]:
    """Return a toolkit, or tools and functions, as function tools: `Agent(..., tools=export_tools(toolkit))`.

    `Context` parameters get the run's context, unless there is another. A call that needs approval interrupts the run,
    unless there is an approver; in programs, this takes a toolkit with a journal.

    Args:
        tools: A `Toolkit`, which becomes the tool that runs programs; or a tool, a function, or a list of them.
        context: The value of `Context` parameters.
        approve: The approver.

    Raises:
        TypeError: It is neither a toolkit nor tools.
        ValueError: There are no tools, or no one could approve the calls of a program.
    """
    return [_export_offer(offer) for offer in offers_of(tools, context=context, approve=approve)]


def _export_offer(offer: Offer) -> Any:
    caller = _Caller(offer)
    is_program = isinstance(offer, ProgramOffer)
    return _tools.FunctionTool(
        name=offer.name,
        description=offer.description,
        params_json_schema=offer.parameters,
        on_invoke_tool=caller.call,
        needs_approval=offer.is_undecided and caller.needs_approval,
        strict_json_schema=is_program or offer.tool.strict is True,
    )


class _Caller:
    """Calls an offer. A program runs up to its first pause when the SDK asks whether it needs approval."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._finished: dict[tuple[str, str], Outcome] = {}

    async def needs_approval(self, run: Any, arguments: dict[str, Any], call_id: str) -> bool:
        """Return whether a call waits for a person. The SDK calls it."""
        offer, context = self._offer, context_of(run.context)
        if not isinstance(offer, ProgramOffer):
            return await to_thread(offer.needs_approval, arguments, context)
        parts = ("openai_agents", call_id, arguments.get("code"))
        run_id = await to_thread(offer.new_run_id, *parts)
        outcome = await offer.acall(arguments, Hooks(context, run_id=run_id))
        if not outcome.pending:
            self._finished[call_id, str(arguments.get("code"))] = outcome
        return bool(outcome.pending)

    async def call(self, run: Any, text: str) -> str:
        """Run a call. The SDK calls it, after its approval if that was needed."""
        token = _RUN.set(run)
        try:
            outcome = await self._run(run, text)
        finally:
            _RUN.reset(token)
        if outcome.error is not None:
            _agents.get_current_span().set_error({"message": "Error running tool", "data": {"error": outcome.error}})
        return outcome.text

    async def _run(self, run: Any, text: str) -> Outcome:
        offer, context = self._offer, context_of(run.context)
        is_approved = bool(run.is_tool_approved(run.tool_name, run.tool_call_id))

        def approve(call: PendingCall) -> bool:
            del call
            return is_approved

        async def decide(paused: PausedRun) -> dict[str, object] | None:
            # The SDK asks once for a call: a program that comes to another approval ends with what it has done.
            return {call.id: True for call in paused.pending} if paused.is_known and is_approved else None

        if not isinstance(offer, ProgramOffer):
            return await offer.acall(text, Hooks(context, approve))
        watch = _SpanMaker().watch
        code = _code_of(text)
        if (outcome := self._finished.pop((run.tool_call_id, str(code)), None)) is not None:
            return outcome
        run_id = None
        if offer.is_durable:
            parts = ("openai_agents", run.tool_call_id, code)
            run_id = await to_thread(offer.paused_run_id, *parts) or await to_thread(offer.new_run_id, *parts)
        return await offer.acall(text, Hooks(context, run_id=run_id, decide=decide, watch=watch))


def _code_of(text: str) -> object:
    try:
        arguments: Any = json.loads(text)
    except ValueError:
        return None
    return arguments.get("code") if isinstance(arguments, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON


class _SpanMaker:
    """Makes a function span of each call of a program."""

    def __init__(self) -> None:
        self._spans: dict[str, Any] = {}

    def watch(self, event: ProgramEvent) -> None:
        """Start or finish the span of a call."""
        if isinstance(event, CallStarted):
            inputs = as_text([*event.args, event.kwargs])
            self._spans[event.id] = _agents.function_span(event.tool, input=inputs)
            self._spans[event.id].start()
        elif isinstance(event, CallEnded) and (span := self._spans.pop(event.id, None)) is not None:
            span.span_data.output = as_json(event.result)
            if event.error is not None:
                span.set_error({"message": event.error, "data": None})
            span.finish()
