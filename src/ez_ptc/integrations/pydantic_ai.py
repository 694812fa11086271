"""Pydantic AI: toolsets as our tools, and ours as theirs."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._sync import run_coroutine
from ez_ptc.errors import ToolError
from ez_ptc.formats.content import as_json
from ez_ptc.integrations.frameworks import approving_exporter, import_framework
from ez_ptc.integrations.offers import (
    Hooks,
    Offer,
    OpenCalls,
    ProgramOffer,
    ToolOffer,
    call_id_of,
    context_of,
    find_decisions,
    find_problem,
    tool_of,
)
from ez_ptc.sandbox.protocol.events import CallEnded, CallProgress, CallStarted, ProgramEvent
from ez_ptc.schema.annotations.context import Context  # noqa: TC001 - annotations of tools are read at run time
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.decisions import Approve
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ez_ptc.tools.decisions import Decision

    _Function = Callable[[Any, dict[str, object]], Awaitable[object]]

__all__ = [
    "CallProgressed",
    "ProgramCallEnded",
    "ProgramCallStarted",
    "call_offer",
    "export_tools",
    "import_tools",
    "make_tool",
]

_ai: Any = import_framework("pydantic_ai", package="pydantic-ai-slim")
_toolsets: Any = import_framework("pydantic_ai.toolsets", package="pydantic-ai-slim")

# The attribute of an exported tool's function that has its offer.
_OFFER: Final = "__ez_ptc_offer__"
# The run of an agent whose program calls tools that came from Pydantic AI.
_RUN: Final[ContextVar[Any]] = ContextVar("ez_ptc_pydantic_ai_run", default=None)


@dataclass(kw_only=True)
class ProgramCallStarted(_ai.CustomEvent):
    """A program has called a tool. `arguments` are those passed by name, `args` those passed by position."""

    id: str
    tool: str
    args: list[Any]
    arguments: dict[str, Any]


@dataclass(kw_only=True)
class CallProgressed(_ai.CustomEvent):
    """A tool has reported how far its call is: `done` of `total`, or of an unknown total if it is None.

    The call is one of a program, or the model's own.
    """

    id: str
    tool: str
    done: float
    total: float | None
    message: str | None


@dataclass(kw_only=True)
class ProgramCallEnded(_ai.CustomEvent):
    """A program's call has ended, with a `result` or an `error`."""

    id: str
    tool: str
    result: Any
    error: str | None
    duration_ms: float


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tools of a Pydantic AI `Tool` or toolset, or None for anything else.

    They get the `RunContext` of the agent that runs the program, or else one with the call's context as its `deps`.
    """
    if isinstance(thing, _ai.Tool):
        offer = getattr(cast("Any", thing).function, _OFFER, None)
        if isinstance(offer, ToolOffer | ProgramOffer):
            return [tool_of(offer)]
        thing = _toolsets.FunctionToolset([thing])
    if not isinstance(thing, _toolsets.AbstractToolset):
        return None
    tools: dict[str, Any] = run_coroutine(_list_tools, thing)
    return [_import_tool(thing, tool) for tool in tools.values()]


async def _list_tools(toolset: Any) -> dict[str, Any]:
    async with toolset:
        return await toolset.get_tools(_make_run_context(None))


def _make_run_context(deps: object) -> Any:
    test: Any = import_framework("pydantic_ai.models.test", package="pydantic-ai-slim")
    return _ai.RunContext(deps=deps, model=test.TestModel(), usage=_ai.RunUsage())


def _import_tool(toolset: Any, tool: Any) -> Tool[..., Any]:
    async def call(run: Any, arguments: dict[str, object]) -> object:
        # Our approver has been asked by now, if the tool requires approval.
        run = replace(run, tool_name=tool.tool_def.name, retry=0, tool_call_approved=True)
        values = tool.args_validator.validate_python(arguments)
        if tool.args_validator_func is not None:
            await tool.args_validator_func(run, **values)
        # A toolset may be a connection; entering it again while it is open costs nothing.
        async with toolset:
            return await toolset.call_tool(tool.tool_def.name, values, run, tool)

    return make_tool(tool.tool_def, call)


def make_tool(definition: Any, function: _Function) -> Tool[..., Any]:
    """Return a tool that calls `function(run_context, arguments)`."""

    async def call(context: Context[object] = None, **arguments: object) -> object:
        # Deferring would end the program, and running it again would repeat its effects.
        try:
            result: Any = await function(_RUN.get() or _make_run_context(context), arguments)
        except (_ai.ApprovalRequired, _ai.CallDeferred) as error:
            message = f"{definition.name} cannot be deferred within a program: declare it with requires_approval=True"
            raise ToolError(message) from error
        return result.return_value if isinstance(result, _ai.ToolReturn) else result

    return Tool.from_schema(
        definition.name,
        definition.description or definition.name,
        definition.parameters_json_schema,
        call,
        requires_approval=definition.kind == "unapproved",
        return_schema=definition.return_schema,
    )


@approving_exporter
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as Pydantic AI tools: `Agent(..., tools=export_tools(toolkit))`.

    `Context` parameters get `deps`, unless there is another context. A call that needs approval is deferred as
    `DeferredToolRequests` unless there is an approver; in programs, this takes a toolkit with a journal.
    """
    return [_export_offer(offer) for offer in offers]


def _export_offer(offer: Offer) -> Any:
    async def call(run: Any, /, **arguments: object) -> object:
        return await call_offer(offer, run, arguments)

    setattr(call, _OFFER, offer)
    return _ai.Tool.from_schema(call, offer.name, offer.description, offer.parameters, takes_ctx=True)


async def call_offer(offer: Offer, run: Any, arguments: dict[str, object]) -> object:
    """Call an offer in an agent's run, with its `RunContext`. Raises the framework's exceptions."""
    asked = _AskedCall.of(run)
    if asked is None and offer.is_undecided:
        call_id = safe_repr(run.tool_call_id)
        message = f"not run: no other call of a message may have the id {call_id}; make one call at a time"
        raise _ai.ToolFailed(message)
    hooks = Hooks(context_of(run.deps), (_ai.ApprovalRequired,), report=partial(_report, run))
    if asked is not None:
        edits = None
        if run.tool_call_approved and arguments != asked.arguments:
            edits, asked = arguments, asked.edited(offer, arguments)
        arguments = asked.arguments
        decide = partial(_decide, run, edits)
        hooks = replace(hooks, id=asked.id, was_asked=run.tool_call_approved, decide=decide)
    token = _RUN.set(run)
    try:
        outcome = await offer.acall(arguments, hooks)
    finally:
        _RUN.reset(token)
    if outcome.error is not None:
        raise _ai.ToolFailed(outcome.error)
    return outcome.data


@dataclass(frozen=True)
class _AskedCall:
    """A call as the model made it.

    A model's servers may number their calls alike, but no two answers of a model are the same.
    """

    id: str
    arguments: dict[str, object]

    @classmethod
    def of(cls, run: Any) -> _AskedCall | None:
        """Return the call of a run's context, or None if it cannot be told from others."""
        answer = next((message for message in reversed(run.messages) if message.kind == "response"), None)
        if answer is None:
            return None
        calls = [call for call in answer.tool_calls if call.tool_call_id == run.tool_call_id]
        if len(calls) != 1:
            return None
        id_ = call_id_of(
            "pydantic_ai",
            conversation=str(answer.conversation_id),
            run=str(answer.run_id),
            time=answer.timestamp.isoformat(),
            call=str(run.tool_call_id),
        )
        return cls(id_, calls[0].args_as_dict())

    def edited(self, offer: Offer, arguments: dict[str, object]) -> _AskedCall:
        """Return the call that was approved with other arguments."""
        if isinstance(offer, ProgramOffer):
            # Another program is another run, about whose calls no one was asked.
            return _AskedCall(call_id_of("pydantic_ai", call=self.id, program=str(arguments.get("code"))), arguments)
        return self


async def _decide(run: Any, edits: dict[str, object] | None, calls: OpenCalls) -> dict[str, Decision]:
    """Return the decisions that an agent's run was continued with. Raises ApprovalRequired without them."""
    if not run.tool_call_approved:
        raise _ai.ApprovalRequired(calls.as_json())
    decisions = find_decisions(calls.pending, run.tool_call_metadata, default=True)
    if not decisions:
        problem = find_problem(calls.pending, run.tool_call_metadata)
        advice = "continue with DeferredToolResults(approvals=..., metadata=requests.metadata)"
        raise _ai.ApprovalRequired(calls.as_json(f"{problem}; {advice}"))
    if edits is not None and calls.run_id is None:
        return {id_: Approve(edits) for id_ in decisions}
    return decisions


async def _report(run: Any, event: ProgramEvent) -> None:
    if isinstance(event, CallStarted):
        args, kwargs = as_json(event.args), as_json(event.kwargs)
        await run.emit(ProgramCallStarted(id=event.id, tool=event.tool, args=args, arguments=kwargs))
    elif isinstance(event, CallProgress):
        done, total, message = event.done, event.total, event.message
        await run.emit(CallProgressed(id=event.id, tool=event.tool, done=done, total=total, message=message))
    elif isinstance(event, CallEnded):
        result, error, duration = as_json(event.result), event.error, event.duration_ms
        await run.emit(ProgramCallEnded(id=event.id, tool=event.tool, result=result, error=error, duration_ms=duration))
