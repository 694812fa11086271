"""LangChain and LangGraph: their tools as our tools, and ours as theirs."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, cast, get_origin, get_type_hints

from ez_ptc._sync import run_coroutine
from ez_ptc.errors import SchemaError
from ez_ptc.formats.content import as_json
from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.integrations.offers import Hooks, Offer, PausedRun, ProgramOffer, context_of, offers_of, run_id_of
from ez_ptc.sandbox.events import CallEnded, CallStarted, ProgramEvent
from ez_ptc.schema.annotations.context import NO_CONTEXT, Context
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.messages import PendingCall
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["export_tools", "import_tools"]

_tools: Any = import_framework("langchain_core.tools", package="langchain-core", version="1.0")
_callbacks: Any = import_framework("langchain_core.callbacks", package="langchain-core", version="1.0")
_types: Any = import_framework("langgraph.types", package="langgraph", version="1.0")
_errors: Any = import_framework("langgraph.errors", package="langgraph", version="1.0")
_ToolRuntime: Any = import_framework("langgraph.prebuilt", package="langgraph", version="1.0").ToolRuntime

# The runtime of an agent whose program calls LangChain's tools.
_RUNTIME: Final[ContextVar[Any]] = ContextVar("ez_ptc_langchain_runtime", default=None)


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tool of a LangChain `BaseTool`, or None for anything else.

    A parameter of type `ToolRuntime` gets that of the agent that runs the program, or else one with the call's context.
    """
    if not isinstance(thing, _tools.BaseTool):
        return None
    tool: Any = thing
    shape: Any = tool.tool_call_schema
    schema = cast("dict[str, Any]", shape if isinstance(shape, dict) else shape.model_json_schema())
    injected = _runtime_parameters(tool)

    async def call(context: Context[object] = None, **arguments: object) -> object:
        runtime = _RUNTIME.get()
        config: dict[str, Any] = {} if runtime is None else runtime.config
        if injected:
            made = runtime or _ToolRuntime(
                state={}, context=context, config=config, stream_writer=_ignore, tool_call_id=None, store=None
            )
            arguments = {**arguments, **dict.fromkeys(injected, made)}
        return await tool.ainvoke(arguments, config)

    parameters = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    return [Tool.from_schema(tool.name, tool.description or tool.name, parameters, call)]


def _runtime_parameters(tool: Any) -> list[str]:
    """Return the names of a tool's parameters for its runtime. Raises SchemaError for others that are injected."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run  # noqa: SLF001 - what people override
    hints = get_type_hints(function, include_extras=True)
    names = [name for name, hint in hints.items() if _ToolRuntime in (hint, get_origin(hint))]
    others: list[str] = sorted({*getattr(tool, "_injected_args_keys", ())} - {*names})
    if others:
        advice = "take it from a parameter runtime: ToolRuntime"
        message = f"{tool.name}: {others[0]} cannot be injected in a program: {advice}"
        raise SchemaError(message)
    return names


def _ignore(chunk: object) -> None:
    del chunk


def export_tools(tools: object, *, context: object = NO_CONTEXT, approve: "Approver | None" = None) -> list[Any]:
    """Return a toolkit, or tools and functions, as LangChain tools: `create_agent(model, tools=export_tools(toolkit))`.

    `Context` parameters get the runtime's context, unless there is another. A call that needs approval interrupts the
    graph with `interrupt`, unless there is an approver; in programs, this takes a toolkit with a journal.

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
    def call(ez_ptc_runtime: Any = None, **arguments: object) -> object:
        return run_coroutine(_call, offer, ez_ptc_runtime, arguments)

    async def acall(ez_ptc_runtime: Any = None, **arguments: object) -> object:
        return await _call(offer, ez_ptc_runtime, arguments)

    # The framework fills in what has this type, and does not show it to the model.
    for function in (call, acall):
        function.__annotations__["ez_ptc_runtime"] = _ToolRuntime

    return _tools.StructuredTool(
        name=offer.name,
        description=offer.description,
        args_schema=offer.parameters,
        func=call,
        coroutine=acall,
        handle_tool_error=True,
    )


async def _call(offer: Offer, runtime: Any, arguments: dict[str, object]) -> object:
    token = _RUNTIME.set(runtime)
    try:
        outcome = await offer.acall(arguments, _hooks(offer, runtime, arguments.get("code")))
    finally:
        _RUNTIME.reset(token)
    if outcome.error is not None:
        raise _tools.ToolException(outcome.error)
    return outcome.data


def _hooks(offer: Offer, runtime: Any, code: object) -> Hooks:
    context = context_of(getattr(runtime, "context", None))

    def approve(call: "PendingCall") -> object:
        return _types.interrupt({"tool": call.tool, "arguments": call.arguments})

    async def decide(paused: PausedRun) -> "Mapping[str, object]":
        # LangGraph numbers the interrupts of a node: when it runs again, the answers to the earlier ones come first.
        count = paused.pauses if paused.is_known else 1
        answers: list[Any] = [_types.interrupt(paused.as_json()) for _ in range(count)]
        ids = [call.id for call in paused.pending]
        answer = answers.pop()
        by_id = _as_dict(answer)
        return dict.fromkeys(ids, answer) if by_id.keys().isdisjoint(ids) else by_id

    reraise = (_errors.GraphBubbleUp,)
    if not isinstance(offer, ProgramOffer):
        return Hooks(context, approve, reraise)
    if runtime is None:
        return Hooks(context, reraise=reraise)
    message_ids = [message.id for message in _as_dict(runtime.state).get("messages", ())]
    thread = runtime.config.get("configurable", {}).get("thread_id")
    run_id = run_id_of("langgraph", thread, message_ids[-1:], runtime.tool_call_id, code)
    return Hooks(context, None, reraise, run_id, decide, report=_report)


def _as_dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


async def _report(event: ProgramEvent) -> None:
    if isinstance(event, CallStarted):
        data = {"id": event.id, "tool": event.tool, "args": event.args, "arguments": event.kwargs}
        await _callbacks.adispatch_custom_event("ez_ptc_call_started", as_json(data))
    elif isinstance(event, CallEnded):
        data = {"id": event.id, "tool": event.tool, "result": event.result, "error": event.error}
        await _callbacks.adispatch_custom_event("ez_ptc_call_ended", as_json(data))
