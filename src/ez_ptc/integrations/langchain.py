"""LangChain and LangGraph: their tools as our tools, and ours as theirs."""

import threading
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast, get_origin, get_type_hints

from ez_ptc._sync import run_coroutine
from ez_ptc.errors import SchemaError
from ez_ptc.formats.content import as_json
from ez_ptc.integrations.frameworks import approving_exporter, import_framework
from ez_ptc.integrations.offers import (
    Hooks,
    Offer,
    OpenCalls,
    ProgramOffer,
    ToolOffer,
    answer,
    call_id_of,
    context_of,
    find_decisions,
    find_problem,
)
from ez_ptc.integrations.offers.checks import SharedChecks
from ez_ptc.sandbox.protocol.events import CallEnded, CallProgress, CallStarted, ProgramEvent
from ez_ptc.schema.annotations.context import Context
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ez_ptc.messages import PendingCall

__all__ = ["answer", "export_tools", "import_tools"]

_tools: Any = import_framework("langchain_core.tools", package="langchain-core")
_callbacks: Any = import_framework("langchain_core.callbacks", package="langchain-core")
_config: Any = import_framework("langgraph.config", package="langgraph")
_types: Any = import_framework("langgraph.types", package="langgraph")
_errors: Any = import_framework("langgraph.errors", package="langgraph")
_ToolRuntime: Any = import_framework("langgraph.prebuilt", package="langgraph").ToolRuntime

# The runtime of an agent whose program calls LangChain's tools.
_RUNTIME: Final[ContextVar[Any]] = ContextVar("ez_ptc_langchain_runtime", default=None)

# LangGraph hands a node's answers to its calls in order of arrival; two threads must not take them at once.
_taking_answers = threading.Lock()

# Where LangGraph keeps the answers of a task, and what saves its threads.
_SCRATCHPAD: Final = "__pregel_scratchpad"
_CHECKPOINTER: Final = "__pregel_checkpointer"


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


@approving_exporter
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as LangChain tools: `create_agent(model, tools=export_tools(toolkit))`.

    `Context` parameters get the runtime's context, unless there is another. A call that needs approval interrupts the
    graph with `interrupt`, unless there is an approver; in programs, this takes a toolkit with a journal.
    """
    exporter = _Exporter({offer.name: offer for offer in offers})
    return [exporter.export(offer) for offer in offers]


@dataclass(frozen=True, slots=True)
class _Exporter:
    """Calls the offers of one `export_tools`, which may be called together in one message.

    There are two cases. An agent of LangChain runs each call of a message in a task of its own. A `ToolNode` in a graph
    runs all of them in one task, which LangGraph repeats from its start when one of them interrupts: so no call has an
    effect before all questions about single calls of the message are answered, and a program goes on where it was.
    """

    offers: "Mapping[str, Offer]"
    checks: SharedChecks = field(default_factory=SharedChecks)

    def export(self, offer: Offer) -> Any:
        """Return an offer as a tool of LangChain."""

        def call(ez_ptc_runtime: Any = None, **arguments: object) -> object:
            return run_coroutine(self._call, offer, ez_ptc_runtime, arguments)

        async def acall(ez_ptc_runtime: Any = None, **arguments: object) -> object:
            return await self._call(offer, ez_ptc_runtime, arguments)

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

    async def _call(self, offer: Offer, runtime: Any, arguments: dict[str, object]) -> object:
        hooks = Hooks(context_of(getattr(runtime, "context", None)), (_errors.GraphBubbleUp,))
        task = _Task.of(runtime)
        if runtime is not None:
            hooks = replace(hooks, report=partial(_report, runtime.stream_writer))
        token = _RUNTIME.set(runtime)
        try:
            if task is not None:
                self.check_siblings(offer, task)
                was_asked = self.was_asked(offer, task)
                hooks = replace(hooks, id=task.id_of(task.call_id), was_asked=was_asked, decide=task.decide)
                await self.settle_siblings(task, hooks)
            call = partial(offer.acall, arguments, hooks)
            if task is not None and task.siblings and isinstance(offer, ToolOffer):
                call = partial(offer.acall, arguments, hooks, await self.checks.check(offer, arguments, hooks))
            outcome = await call()
        finally:
            _RUNTIME.reset(token)
        if outcome.error is not None:
            raise _tools.ToolException(outcome.error)
        return outcome.data

    def check_siblings(self, offer: Offer, task: "_Task") -> None:
        """Raise ToolException for a call that its message leaves ambiguous, or whose effect would be repeated."""
        names = Counter(call["id"] for call in task.siblings)
        if names[task.call_id] > 1 and (offer.is_undecided or isinstance(offer, ProgramOffer)):
            call_id = safe_repr(task.call_id)
            message = f"not run: two calls of one message have the id {call_id}; make one call at a time"
            raise _tools.ToolException(message)
        if isinstance(offer, ProgramOffer) and offer.is_durable:
            return
        if isinstance(offer, ToolOffer) and offer.tool.read_only:
            return
        others = [self.offers.get(call["name"]) for call in task.siblings if call["id"] != task.call_id]
        if any(isinstance(other, ProgramOffer) and other.is_undecided for other in others):
            message = f"not run: {offer.name} shares a message with a program that may wait; call it in another message"
            raise _tools.ToolException(message)

    def was_asked(self, offer: Offer, task: "_Task") -> bool:
        """Return whether a person was asked about the single calls of a task.

        LangGraph keeps the answers, but not which calls they left out. So a predicate is not asked again, but a person.
        """
        siblings = [self.offers.get(call["name"]) for call in task.siblings]
        tools = [item.tool for item in (offer, *siblings) if isinstance(item, ToolOffer) and item.is_undecided]
        if all(tool.definition.requires_approval is True for tool in tools):
            return False
        with _taking_answers:
            return bool(_take_answers())

    async def settle_siblings(self, task: "_Task", hooks: Hooks) -> None:
        """Interrupt the task if a single call in it waits for an answer."""
        waiting: list[PendingCall] = []
        for call in task.siblings:
            offer = self.offers.get(call["name"])
            if isinstance(offer, ToolOffer):
                checked = await self.checks.check(offer, call["args"], replace(hooks, id=task.id_of(call["id"])))
                if checked.call is not None:
                    waiting.append(checked.call)
        if waiting:
            await task.decide(OpenCalls(tuple(waiting)))


@dataclass(frozen=True, slots=True)
class _Task:
    """A task of a graph that runs tools.

    `siblings` are the calls that share it, if there are several. `key` identifies the task among all of a thread, and
    stays the same when LangGraph repeats it. `thread` is None if no one can answer.
    """

    key: str
    thread: str | None
    call_id: str
    siblings: "Sequence[dict[str, Any]]"

    @classmethod
    def of(cls, runtime: Any) -> "_Task | None":
        """Return the task of a tool's runtime, or None outside of a graph."""
        if runtime is None or not runtime.tool_call_id:
            return None
        settings: dict[str, Any] = runtime.config.get("configurable", {})
        key: str | None = settings.get("checkpoint_ns")
        if not key:
            return None
        thread: str | None = None
        if settings.get(_CHECKPOINTER) and settings.get("thread_id") is not None:
            thread = str(settings["thread_id"])
        siblings: list[dict[str, Any]] = []
        # An agent of LangChain "pushes" each call into a task of its own.
        if runtime.config.get("metadata", {}).get("langgraph_path", ("",))[0] == "__pregel_pull":
            messages: list[Any] = _field_of(runtime.state, "messages") or []
            answers = [message for message in messages if message.type == "ai"]
            if answers and len(answers[-1].tool_calls) > 1:
                siblings += answers[-1].tool_calls
        return cls(key, thread, runtime.tool_call_id, siblings)

    def id_of(self, call_id: str) -> str:
        """Return the id of a call in this task."""
        return call_id_of("langgraph", thread=str(self.thread), task=self.key, call=call_id)

    async def decide(self, calls: OpenCalls) -> "Mapping[str, object]":
        """Return decisions from the answers that the task has got; if calls are left, interrupt it with a question."""
        if self.thread is None:
            names = ", ".join(call.tool for call in calls.pending)
            message = (
                f"{names} waits for a person's decision, and this graph cannot wait: compile it with "
                "checkpointer=..., and pass config={'configurable': {'thread_id': ...}}"
            )
            raise ValueError(message)
        with _taking_answers:
            answers = _take_answers()
            decisions = find_decisions(calls.pending, answers)
            waiting = tuple(call for call in calls.pending if call.id not in decisions)
            # A program goes on with any decision; single calls of a message run once all of them are decided.
            if not waiting or (calls.run_id is not None and decisions):
                return decisions
            reason = self.problem_of(waiting, answers)
            if calls.run_id is None:
                waiting = waiting[:1]
            _types.interrupt(replace(calls, pending=waiting).as_json(reason))
        return {}

    def problem_of(self, calls: "Sequence[PendingCall]", answers: list[object]) -> str | None:
        """Return why the latest answer has decided nothing, or None if it was about another call of this task."""
        if not answers:
            return None
        about = _field_of(answers[-1], "id")
        ids = {self.id_of(call_id) for call_id in (self.call_id, *(call["id"] for call in self.siblings))}
        if isinstance(about, str) and about.partition(":")[0] in ids and about not in {call.id for call in calls}:
            return None
        return find_problem(calls, answers[-1])


def _field_of(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return cast("list[Any]", value)
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(name)
    return getattr(value, name, None)


def _take_answers() -> list[object]:
    """Return all answers that the running task has got.

    `interrupt` returns the next answer, whichever call takes it, and LangGraph keeps those that were taken. So all are
    taken here, and read from where LangGraph has them.
    """
    try:
        while True:
            _types.interrupt(None)
    except _errors.GraphInterrupt:
        return list(_config.get_config()["configurable"][_SCRATCHPAD].resume)


async def _report(write: "Callable[[Any], object]", event: ProgramEvent) -> None:
    if isinstance(event, CallStarted):
        data = {"id": event.id, "tool": event.tool, "args": event.args, "arguments": event.kwargs}
        await _callbacks.adispatch_custom_event("ez_ptc_call_started", as_json(data))
    elif isinstance(event, CallProgress):
        data = {"id": event.id, "tool": event.tool, "done": event.done, "total": event.total, "message": event.message}
        write({"ez_ptc_call_progress": data})
        await _callbacks.adispatch_custom_event("ez_ptc_call_progress", data)
    elif isinstance(event, CallEnded):
        data = {"id": event.id, "tool": event.tool, "result": event.result, "error": event.error}
        await _callbacks.adispatch_custom_event("ez_ptc_call_ended", as_json(data))
