"""What we offer an agent framework: a tool, or a toolkit as the one tool that runs programs.

A framework's module describes an offer in the framework's terms and calls it. Checking, approval, context and the
durable pauses of programs are the same for all of them, and are here.
"""

from __future__ import annotations

import copy
import itertools
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ez_ptc._sync import run_coroutine, to_thread
from ez_ptc.errors import ArgumentsError, JournalError
from ez_ptc.formats.content import as_json, as_text
from ez_ptc.messages import PendingCall, ToolCall
from ez_ptc.sandbox.events import EventSink, ProgramEvent
from ez_ptc.sandbox.execution import ExecutionResult
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.safe_repr import safe_repr_with_type
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.approvals.approval import needs_approval
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

__all__ = [
    "NO_HOOKS",
    "Hooks",
    "Offer",
    "Outcome",
    "PausedRun",
    "ProgramOffer",
    "ToolOffer",
    "context_of",
    "offers_of",
    "pending_text",
    "run_id_of",
]

Decider: TypeAlias = Callable[["PausedRun"], Awaitable[Mapping[str, object] | None]]


@dataclass(frozen=True, slots=True)
class PausedRun:
    """A program that waits for decisions.

    Attributes:
        id: The id of its run in the journal.
        pending: The calls that wait.
        is_known: Whether it waited before this call of the framework, so that a person may have seen what waits.
        pauses: How often it has paused by now.
    """

    id: str
    pending: tuple[PendingCall, ...]
    is_known: bool
    pauses: int

    def as_json(self) -> dict[str, Any]:
        """Return what a person has to know for a decision, as JSON."""
        calls = [{"id": call.id, "tool": call.tool, "arguments": call.arguments} for call in self.pending]
        return {"run_id": self.id, "pending": calls}


@dataclass(frozen=True, slots=True)
class Hooks:
    """A framework's part in one call.

    Attributes:
        context: The value of `Context` parameters, where the developer has given none.
        approve: The approver, where the developer has given none.
        reraise: The framework's control-flow exceptions, which are no failures of a tool.
        run_id: The id of the program's run, the same each time the framework repeats the call.
        decide: Returns decisions about the calls that a paused program waits for; returns None, or raises, to leave
            them for later.
        watch: Receives a program's events at once.
        report: Receives them a little later, and is awaited.
    """

    context: object = NO_CONTEXT
    approve: Approver | None = None
    reraise: tuple[type[BaseException], ...] = ()
    run_id: str | None = None
    decide: Decider | None = None
    watch: Callable[[ProgramEvent], object] | None = None
    report: Callable[[ProgramEvent], Awaitable[object]] | None = None


NO_HOOKS: Final = Hooks()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call returned, or the `error` for the model. `pending` are the calls that a paused program waits for."""

    value: object = None
    error: str | None = None
    pending: tuple[PendingCall, ...] = ()

    @property
    def text(self) -> str:
        """The result or the error as text for a model."""
        if self.error is None:
            return as_text(self.value)
        return self.error

    @property
    def data(self) -> Any:
        """The result as JSON."""
        return as_json(self.value)


@dataclass(frozen=True)
class ToolOffer:
    """A tool, with the developer's settings for its calls."""

    tool: Tool[..., Any]
    settings: CallSettings
    name: str = field(init=False)
    description: str = field(init=False)
    parameters: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        # Some frameworks change the schemas they get.
        parameters = copy.deepcopy(dict(self.tool.parameters))
        vars(self).update(name=self.tool.name, description=self.tool.prose, parameters=parameters)

    @property
    def is_undecided(self) -> bool:
        """Whether calls need approval, and the developer has given no approver."""
        return bool(self.tool.requires_approval) and self.settings.over(self.tool.settings).approve is None

    def needs_approval(self, arguments: dict[str, object] | str, context: object = NO_CONTEXT) -> bool:
        """Return whether a call of a model waits for a person; not if its arguments are wrong, so that it will fail."""
        if not self.is_undecided:
            return False
        definition = self.tool.definition
        settings = self.settings.over(self.tool.settings).over(CallSettings(context))
        try:
            parsed = definition.parse(arguments)
            return needs_approval(definition, definition.binder.bind((), parsed, context=settings.context))
        except ArgumentsError:
            return False

    async def acall(self, arguments: dict[str, object] | str, hooks: Hooks = NO_HOOKS) -> Outcome:
        """Run a call of a model; only exceptions in `hooks.reraise` are raised."""
        settings = self.settings.over(self.tool.settings).over(CallSettings(hooks.context, hooks.approve))
        call = ToolCall("", self.name, arguments)
        settings = CallSettings(settings.context, settings.approve, (*settings.reraise, *hooks.reraise))
        # Never `tool(...)`: that would skip the checks of tools without approval or context.
        result = await self.tool.arun(call, settings)
        return Outcome(result.output, None if result.success else result.error or f"{self.name} failed")

    def call(self, arguments: dict[str, object] | str, hooks: Hooks = NO_HOOKS) -> Outcome:
        """Same as `acall`, but blocks."""
        return run_coroutine(self.acall, arguments, hooks)


@dataclass(frozen=True)
class ProgramOffer:
    """A toolkit as the tool that runs programs, with the developer's settings for their calls."""

    toolkit: Toolkit
    settings: CallSettings
    name: str = field(init=False)
    description: str = field(init=False)
    parameters: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        vars(self).update(self.toolkit.tool_schema("raw"))

    @property
    def is_undecided(self) -> bool:
        """Whether a program may call what needs approval, and the developer has given no approver."""
        if self.settings.approve or self.toolkit.approve:
            return False
        return any(tool.requires_approval and tool.settings.approve is None for tool in self.toolkit)

    @property
    def is_durable(self) -> bool:
        """Whether programs can pause."""
        return self.toolkit.journal is not None

    async def acall(self, arguments: dict[str, object] | str, hooks: Hooks = NO_HOOKS) -> Outcome:
        """Run a program of a model. Raises what `Toolkit.aexecute` raises, and exceptions in `hooks.reraise`."""
        try:
            code = self.program_of(arguments)
        except ArgumentsError as error:
            return Outcome(error=str(error))
        # Some frameworks repeat a whole call after a decision, or after a crash: its effects must not be repeated.
        earlier = await self._find(hooks)
        if isinstance(earlier, ExecutionResult):
            result = earlier
        else:
            result = await self._arun(code, hooks, resume=earlier)
        while result.status == "paused" and hooks.decide is not None:
            run_id = str(result.run_id)
            events = await to_thread(self.toolkit.open_journal().events, run_id)
            pauses = sum(event.kind == "pause" for event in events)
            decisions = await hooks.decide(PausedRun(run_id, result.pending, result is earlier, pauses))
            if decisions is None:
                break
            result = await self._arun(code, hooks, resume=result.run_id, decisions=decisions)
        if result.status == "paused":
            return Outcome(error=pending_text(result.pending), pending=result.pending)
        text = self.toolkit.answer(code, result)
        if result.success:
            return Outcome(text)
        return Outcome(error=text)

    def call(self, arguments: dict[str, object] | str, hooks: Hooks = NO_HOOKS) -> Outcome:
        """Same as `acall`, but blocks."""
        return run_coroutine(self.acall, arguments, hooks)

    def program_of(self, arguments: dict[str, object] | str) -> str:
        """Return the program in a model's arguments, a dict or JSON text. Raises ArgumentsError if there is none."""
        if isinstance(arguments, str):
            from ez_ptc.schema.arguments.json_text import parse_arguments

            arguments = parse_arguments(self.name, arguments)
        code = arguments.get("code")
        if isinstance(code, str):
            return code
        problem = f"expected the program as 'code', a str, got {safe_repr_with_type(code)}"
        message = f"{self.name}: {problem}"
        raise ArgumentsError(message, problems=[problem])

    async def _arun(
        self, code: str, hooks: Hooks, *, resume: str | None = None, decisions: Mapping[str, object] | None = None
    ) -> ExecutionResult:
        # The developer's come before the framework's.
        context, approve = self.settings.context, self.settings.approve
        if context is NO_CONTEXT and self.toolkit.context is NO_CONTEXT:
            context = hooks.context
        if approve is None and self.toolkit.approve is None:
            approve = hooks.approve
        if resume is None:
            run = partial(self.toolkit.aexecute, code, run_id=hooks.run_id if self.is_durable else None)
        else:
            run = partial(self.toolkit.aresume, resume, decisions)
        # A framework's context has no identity that could be compared; the id stands for the call of one conversation.
        run = partial(run, context=context, approve=approve, reraise=hooks.reraise, principal=hooks.run_id)
        if hooks.watch is None and hooks.report is None:
            return await run()
        events = _Events(hooks)
        result = await run(observe=events.observe)
        await events.deliver()
        return result

    def new_run_id(self, *parts: object) -> str:
        """Return the id of a new run of a call whose `parts` a framework may use again, in another conversation."""
        return next(run_id for run_id, state in self._runs_of(parts) if state is None)

    def paused_run_id(self, *parts: object) -> str | None:
        """Return the id of the latest run of such a call if it is not finished, or None."""
        states = itertools.takewhile(lambda run: run[1] is not None, self._runs_of(parts))
        unfinished = [run_id for run_id, state in states if state not in {"done", "failed"}]
        return unfinished[-1] if unfinished else None

    def _runs_of(self, parts: tuple[object, ...]) -> Iterator[tuple[str, str | None]]:
        """Yield the ids for such a call, each with the state of its run, or None if there is none."""
        for number in itertools.count():
            run_id = run_id_of(*parts, number)
            try:
                yield run_id, self.toolkit.open_journal().run(run_id).state
            except JournalError:
                yield run_id, None

    async def _find(self, hooks: Hooks) -> ExecutionResult | str | None:
        """Return the result of this call's earlier run, or its id if it has to go on, or None if there is none."""
        if hooks.run_id is None or not self.is_durable:
            return None
        try:
            run = await to_thread(self.toolkit.open_journal().run, hooks.run_id)
        except JournalError:
            # Unknown, or not readable; starting a run raises the error of a journal that cannot be used.
            return None
        if run.state == "paused":
            return ExecutionResult(success=False, status="paused", run_id=run.id, pending=run.pending)
        if run.state in {"done", "failed"} and run.result is not None:
            return run.result
        return run.id


Offer: TypeAlias = ToolOffer | ProgramOffer


class _Events:
    """Delivers a program's events, without a task of its own: some frameworks run each call on a loop that ends."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._waiting: deque[ProgramEvent] = deque()

    def observe(self, program: str) -> EventSink:
        """Return the receiver of a program's events."""
        return EventSink(program, program, self._put, self._waiting.append, self.deliver)

    def _put(self, event: ProgramEvent) -> None:
        if self._hooks.watch is not None:
            self._hooks.watch(event)
        if self._hooks.report is not None:
            self._waiting.append(event)

    async def deliver(self) -> None:
        """Report what has happened. The program waits meanwhile."""
        while self._waiting and self._hooks.report is not None:
            await self._hooks.report(self._waiting.popleft())


def offers_of(
    tools: object, *, context: object = NO_CONTEXT, approve: Approver | None = None, framework: str | None = None
) -> list[Offer]:
    """Return what a developer's toolkit, tool, function, or list or registry of them offers a framework.

    Args:
        tools: The toolkit or the tools.
        context: Replaces the context of the toolkit or of the tools.
        approve: Replaces their approver.
        framework: The framework's name, if it has no approval of its own.

    Raises:
        TypeError: It is neither a toolkit nor tools.
        ValueError: There are no tools; or a tool requires approval, and there is no one to ask.
    """
    settings = CallSettings(context, approve)
    if isinstance(tools, Toolkit):
        offers: list[Offer] = [ProgramOffer(tools, settings)]
    else:
        offers = [ToolOffer(tool, settings) for tool in ToolRegistry([tools])]
    if not offers:
        message = "expected a toolkit or tools, got none: pass at least one function"
        raise ValueError(message)
    # At once, because the first to notice would otherwise be a model, which can do nothing about it.
    for offer in offers:
        if offer.is_undecided and (framework is not None or (isinstance(offer, ProgramOffer) and not offer.is_durable)):
            raise ValueError(_unanswerable_text(offer, framework))
    return offers


def pending_text(pending: Iterable[PendingCall]) -> str:
    """Return the text a model reads of calls that wait."""
    names = ", ".join(dict.fromkeys(call.tool for call in pending))
    return f"not finished: {names} waits for a person's decision"


def context_of(value: object) -> object:
    """Return a framework's context for `Hooks`; None counts as no context."""
    if value is None:
        return NO_CONTEXT
    return value


def run_id_of(*parts: object) -> str:
    """Return the id of the run of a call: the same for the same parts."""
    return uuid.uuid5(uuid.NAMESPACE_OID, "\0".join(map(str, parts))).hex


def _unanswerable_text(offer: Offer, framework: str | None) -> str:
    tools = offer.toolkit if isinstance(offer, ProgramOffer) else [offer.tool]
    names = ", ".join(tool.name for tool in tools if tool.requires_approval)
    if framework is not None:
        return f"expected an approver for {names}: {framework} has no approval of its own, pass approve=..."
    return f"expected an approver for {names}: pass approve=..., or a toolkit with a journal, whose programs can pause"
