"""OpenAI Agents SDK: function tools as our tools, and ours as theirs."""

from __future__ import annotations

import copy
import json
import uuid
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

from ez_ptc.formats.content import as_json, as_text
from ez_ptc.integrations.frameworks import approving_exporter, import_framework
from ez_ptc.integrations.offers import (
    Hooks,
    Offer,
    OpenCalls,
    Outcome,
    ProgramOffer,
    ToolOffer,
    context_of,
    describe_call,
)
from ez_ptc.integrations.offers.checks import AskedChecks
from ez_ptc.integrations.openai_programs import make_program_tool, run_program, strict_parameters
from ez_ptc.messages import PendingCall
from ez_ptc.sandbox.protocol.events import CallEnded, CallStarted, ProgramEvent
from ez_ptc.schema.annotations.context import Context  # noqa: TC001 - annotations of tools are read at run time
from ez_ptc.schema.arguments.json_text import read_json
from ez_ptc.tools.tool import Tool

__all__ = ["export_tools", "import_tools", "question_of"]

_agents: Any = import_framework("agents", package="openai-agents")
_tools: Any = import_framework("agents.tool", package="openai-agents")
_contexts: Any = import_framework("agents.tool_context", package="openai-agents")

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
        text, call_id = json.dumps(absent | arguments), getattr(run, "tool_call_id", "program")
        made = _contexts.ToolContext(
            run.context, run.usage, tool_name=tool.name, tool_call_id=call_id, tool_arguments=text
        )
        return await tool.on_invoke_tool(made, text)

    schema: dict[str, Any] = tool.params_json_schema
    properties: dict[str, Any] = schema.get("properties", {})
    # The strict mode requires all parameters: of the optional ones, some have a default, and the others take null.
    required = [name for name in schema.get("required", ()) if "default" not in (properties.get(name) or {})]
    absent: dict[str, object] = {}
    if tool.strict_json_schema:
        absent = {name: None for name in required if _takes_null(properties.get(name))}
        required = [name for name in required if name not in absent]
    return [
        Tool.from_schema(
            tool.name,
            tool.description or tool.name,
            {**schema, "required": required},
            call,
            requires_approval=tool.needs_approval is not False,
        )
    ]


@approving_exporter
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as function tools: `Agent(..., tools=export_tools(toolkit))`.

    `Context` parameters get the run's context, unless there is another. A call that needs approval interrupts the run,
    unless there is an approver; in programs, this takes a toolkit with a journal.
    """
    return [_export_offer(offer) for offer in offers]


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    fields = cast("dict[str, Any]", schema)
    return "null" in (fields.get("type") or ()) or any(map(_takes_null, fields.get("anyOf") or ()))


def question_of(interruption: Any) -> dict[str, Any]:
    """Return what a person has to know of the call in an interruption: `question` is the text to show.

    Show it before `state.approve(interruption)`. The other keys are `id`, `digest`, `tool` and `arguments`.
    """
    try:
        arguments: Any = read_json(interruption.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {"arguments": interruption.arguments}
    call_id = str(interruption.call_id).partition("#")[0]
    return describe_call(PendingCall(call_id, str(interruption.name), cast("dict[str, Any]", arguments), ""))


def _export_offer(offer: Offer) -> Any:
    if isinstance(offer, ProgramOffer) and offer.is_undecided:
        tool = make_program_tool(offer)
        tool.on_invoke_tool = partial(_call_program, offer, tool.on_invoke_tool)
        return tool
    is_program = isinstance(offer, ProgramOffer)
    checks = AskedChecks()
    return _tools.FunctionTool(
        name=offer.name,
        description=offer.description,
        params_json_schema=strict_parameters(offer) if isinstance(offer, ProgramOffer) else offer.parameters,
        on_invoke_tool=partial(_call, offer, checks),
        needs_approval=not is_program and offer.is_undecided and partial(_needs_approval, offer, checks),
        strict_json_schema=is_program or offer.tool.strict is True,
    )


async def _needs_approval(
    offer: ToolOffer, checks: AskedChecks, run: Any, arguments: dict[str, Any], call_id: str
) -> bool:
    """Return whether a call waits for a person. The SDK calls it."""
    checked = await checks.check(offer, arguments, Hooks(context_of(run.context), id=call_id))
    return checked.call is not None


async def _call(offer: Offer, checks: AskedChecks, run: Any, text: str) -> str:
    """Run a call. The SDK calls it, after its approval if that was needed."""
    # The SDK has checked that the call is the one that was approved, with the same arguments.
    is_approved = bool(run.is_tool_approved(run.tool_name, run.tool_call_id))

    async def decide(calls: OpenCalls) -> dict[str, object]:
        return {call.id: True for call in calls.pending if is_approved}

    watch = _SpanMaker(_agents.get_current_span()).watch
    hooks = Hooks(context_of(run.context), id=uuid.uuid4().hex, was_asked=is_approved, decide=decide, watch=watch)
    call = partial(offer.acall, text, hooks)
    if isinstance(offer, ToolOffer) and not is_approved:
        call = partial(offer.acall, text, hooks, checks.take(offer, text, replace(hooks, id=run.tool_call_id)))
    token = _RUN.set(run)
    try:
        outcome = await call()
    finally:
        _RUN.reset(token)
    return _text_of(outcome)


async def _call_program(offer: ProgramOffer, invoke: Any, run: Any, text: str) -> str:
    """Run a program whose calls may wait. The SDK calls it again after their approval."""
    watch = _SpanMaker(_agents.get_current_span()).watch
    token = _RUN.set(run)
    try:
        outcome = await run_program(offer, invoke, run, text, context_of(run.context), watch)
    finally:
        _RUN.reset(token)
    if outcome is None:
        return ""  # the SDK does not look at it
    return _text_of(outcome)


def _text_of(outcome: Outcome) -> str:
    if outcome.error is not None:
        _agents.get_current_span().set_error({"message": "Error running tool", "data": {"error": outcome.error}})
    return outcome.text


class _SpanMaker:
    """Makes a function span of each call of a program, below that of the program."""

    def __init__(self, parent: Any) -> None:
        self._parent = parent
        self._spans: dict[str, Any] = {}

    def watch(self, event: ProgramEvent) -> None:
        """Start or finish the span of a call."""
        if isinstance(event, CallStarted):
            inputs = as_text([*event.args, event.kwargs])
            self._spans[event.id] = _agents.function_span(event.tool, input=inputs, parent=self._parent)
            self._spans[event.id].start()
        elif isinstance(event, CallEnded) and (span := self._spans.pop(event.id, None)) is not None:
            span.span_data.output = as_json(event.result)
            if event.error is not None:
                span.set_error({"message": event.error, "data": None})
            span.finish()
