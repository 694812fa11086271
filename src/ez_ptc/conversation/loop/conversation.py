"""One question of a conversation: its tools, its first request, and the state of the calls of its current turn."""

from __future__ import annotations

from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio

from ez_ptc._sync import to_thread
from ez_ptc.conversation.loop.listener import CallListener, ListenerError
from ez_ptc.conversation.loop.pausing import ConversationCall, ProgramPaused, Resumption, waiting_text
from ez_ptc.conversation.saving.kept_results import kept_by_name
from ez_ptc.conversation.settings import OWN_OPTIONS, PROMPT_OPTIONS
from ez_ptc.errors import ArgumentsError, ContinuationError, JournalError, ProviderError, RunInProgressError, ToolError
from ez_ptc.formats.describable import is_strict
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import ImageMessage, Message, MessageRole, Paused, ProgramEnding, TextMessage, ToolResult
from ez_ptc.results.bounds import MAX_TEXT
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.telemetry.tracing import Notes
from ez_ptc.toolkit.execution.continuing import LastFailure
from ez_ptc.toolkit.execution.results.reading import RESULT_TOOLS
from ez_ptc.toolkit.execution.results.scopes import ShortNames
from ez_ptc.toolkit.prompting.written.program_text import note_changes
from ez_ptc.tools.call_lifetime import CallInterrupted
from ez_ptc.tools.registry import ToolRegistry
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.conversation.loop.goals import Goal
    from ez_ptc.conversation.loop.listener import EventForwarder
    from ez_ptc.conversation.loop.pausing import WaitingRun
    from ez_ptc.conversation.settings import BuilderSettings
    from ez_ptc.journal.journal import Journal
    from ez_ptc.messages import Entry, ToolCall
    from ez_ptc.results.store import KeptResult
    from ez_ptc.toolkit.execution.results.scopes import ValueKeeper
    from ez_ptc.toolkit.toolkit import Toolkit

__all__ = ["PROGRAM_ID", "Conversation", "names_of"]

PROGRAM_TOOL: Final = "execute_tools"

# The id of a turn's one program, among the ids of calls.
PROGRAM_ID: Final = ""

# The call that runs in this task, and the receiver of the events of its program.
_CALL: Final[ContextVar[tuple[str, EventForwarder | None]]] = ContextVar("ez_ptc_conversation_call")

_STARTED_ANEW: Final = (
    "[This program made all of its calls: the record of the failed program before it is of another toolkit or context, "
    "or was not in a journal.]"
)

# The maximum characters of a result for a program that the provider runs: no model reads it.
_MAX_HOSTED_TEXT: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Report:
    """What `execute_tools` returns: the text of a program that has succeeded, or with pictures a result of parts."""

    output: str | tuple[TextMessage | ImageMessage, ...]


class _ProgramFailedError(ToolError):
    """What `execute_tools` raises, with the text of a program that has failed."""


class Conversation:
    """One question, from its entries to the answer.

    Attributes:
        goal: What ends the conversation.
        limits: How far it may go.
        tools: The registry of all tools that the model may call.
        prompt: The first request.
        resumption: What it goes on with if it was paused; empty once it has gone on.
        listener: The caller's `on_tool_call` function.
        started: The ids of this turn's calls that have started.
        results: The results of this turn's calls that have ended, by id.
        paused: What waits for a decision in this turn's calls, by id.
        kept: The whole values of this turn's results shown in part, by the id of the call and their name.
        programs: How this turn's programs ended, by the id of the call.
        names: The names of all kept values of the conversation.
        notes: Those of its span, the parent of all its other spans.
    """

    notes = Notes()

    def __init__(
        self, entries: tuple[Entry, ...], settings: BuilderSettings, goal: Goal, resumption: Resumption | None = None
    ) -> None:
        self._settings: Final = settings
        self.resumption = resumption or Resumption()
        self._remembered: Final[set[str]] = set()
        self.paused: Final[dict[str, Paused]] = {}
        self.kept: Final[dict[str, dict[str, KeptResult]]] = {}
        self.programs: Final[dict[str, ProgramEnding]] = {}
        self.names: Final = names_of(settings, (*entries, *self.resumption.results))
        self.goal: Final = goal
        self.limits: Final = settings.limits
        self.started: Final[set[str]] = set()
        self.results: Final[dict[str, ToolResult]] = {}
        own_tools: list[Tool[..., Any]] = list(filter(None, [goal.tool]))
        if settings.toolkit is not None and settings.has_program_tool:
            own_tools.insert(0, self._program_tool(settings.toolkit))
        tools = (*settings.tools, *own_tools)
        self.tools: Final = ToolRegistry(
            tools, context=settings.tool_context, approve=settings.approve, max_text=settings.max_text
        )
        # The calls of a program are reported one by one, and giving the answer is not a call of the caller's tools.
        ignored = {*RESULT_TOOLS, *(tool.name for tool in own_tools)}.difference(tool.name for tool in settings.tools)
        self._last: Final = LastFailure(settings.failed or _find_failure(entries), is_noted=True)
        self._correcting: Final = anyio.Lock()
        self.listener: Final = CallListener(settings.on_tool_call, self.tools, ignored_tools=frozenset(ignored))
        self.max_result_text: Final = settings.max_text or MAX_TEXT
        if settings.toolkit is not None and settings.has_written_programs:
            entries = (TextMessage(settings.toolkit.prompt(), role=MessageRole.SYSTEM), *entries)
        self.prompt: Final = Prompt(
            model="",
            entries=(*entries, *self.goal.instructions),
            tools=tuple(self.tools),
            output_schema=self.goal.output_schema or settings.output_schema,
            hosted_tools=settings.hosted_tools,
            deferred_tools=settings.deferred_tools,
            cache_tools=settings.cache_tools,
            options={name: value for name, value in settings.options.items() if name not in OWN_OPTIONS},
            **{name: value for name, value in settings.options.items() if name in PROMPT_OPTIONS},
        )

    def begin_turn(self, prompt: Prompt) -> Prompt:
        """Forget the calls of the last turn, and return the request of the next one.

        Once a result is kept, the tools for it are in every request, at the end: providers can reuse their caches.
        """
        # Some servers reuse the ids of calls in each answer: results belong to one turn only.
        for calls in (self.started, self.results, self.paused, self.kept, self.programs):
            calls.clear()
        # Nor are the decisions of a resumed conversation about a call of a later answer.
        self.resumption = Resumption()
        if not self.names.names or not self._settings.tools:  # programs have them anyway
            return prompt
        readers = self.names.readers(self.max_result_text)
        added = [reader for name, reader in readers.items() if name not in self.tools]
        return replace(prompt, tools=(*prompt.tools, *added))

    def keeper_of(self, call: ToolCall) -> ValueKeeper | None:
        """Return the keeper of a call's result; None if the result is within the bound, as that of a program."""
        is_reader = call.name in RESULT_TOOLS and call.name not in self.tools
        if is_reader or call.id in self.kept:  # `execute_tools` has made a text within the bound
            return None
        keeper = self.names.keeper()
        self.kept[call.id] = keeper.kept
        return keeper

    def find_program(self, text: str) -> str | None:
        """Return the program in an answer's text, or None if there is none or the model writes none there."""
        toolkit = self._settings.toolkit
        if toolkit is None or not self._settings.has_written_programs:
            return None
        return toolkit.extract_code(text)

    @property
    def has_programs(self) -> bool:
        """Whether the model may write programs."""
        return self._settings.toolkit is not None

    @property
    def last_failure(self) -> ExecutionResult | None:
        """The result of the last program, if it has failed: the next one continues it."""
        return self._last.result

    async def run_program(self, program: str, watch: EventForwarder | None) -> TextMessage:
        """Run a program from an answer's text; return the message of its report."""
        try:
            report, _ = await self._execute(program, PROGRAM_ID, watch)
        except ProgramPaused as interruption:
            return TextMessage(waiting_text(interruption.paused.pending), paused=interruption.paused)
        except RunInProgressError as error:  # of another conversation that goes on from the same failed program
            return TextMessage(f"ERROR: {error}")
        except CallInterrupted as interruption:
            raise (interruption.error or interruption) from None
        return TextMessage(report, kept=self.kept[PROGRAM_ID] or None, program=self.programs.get(PROGRAM_ID))

    async def run_call(self, call: ToolCall, watch: EventForwarder | None) -> ToolResult:
        """Run a call of the model, and return its result; one that waits for a decision is in `paused`."""
        resumption = self.resumption
        if call.id in resumption.runs and call.name == PROGRAM_TOOL and self.has_programs:
            resumption = Resumption()  # the decisions are about the calls of its program, not about running it
        life = ConversationCall(call, resumption, self._remembered)
        token = _CALL.set((call.id, watch))
        try:
            if call.name in RESULT_TOOLS and call.name not in self.tools and self.names.names:
                return await self.names.readers(self.max_result_text)[call.name].arun(call, life=life)
            with nullcontext() if watch is None else watch.reporter(call, life):
                result = await self.tools.arun(self._with_program(call), life)
            # A program's report is within the bound already, and has notes of ours.
            if isinstance(result.output, _Report):
                return replace(result, output=result.output.output, max_text=None)
            if isinstance(result.exception, _ProgramFailedError):
                return replace(result, error=str(result.exception), max_text=None)
            if call.name in self.prompt.hosted_tools:
                # Anthropic leaves strict tools to the model.
                is_all_strict = self._settings.options.get("strict") is True
                if not is_strict(self.tools[call.name], is_all_strict):
                    return replace(result, max_text=_MAX_HOSTED_TEXT)
            return result
        except CallInterrupted as interruption:
            if interruption.error is not None:
                raise interruption.error from None
            if isinstance(interruption, ProgramPaused):
                paused = interruption.paused
            else:
                paused = Paused(() if life.pending is None else (life.pending,))
            self.paused[call.id] = paused
            return ToolResult(success=False, error=waiting_text(paused.pending))
        finally:
            _CALL.reset(token)

    async def _execute(self, program: str, call_id: str, watch: EventForwarder | None) -> tuple[str, ExecutionResult]:
        """Run a program, or continue the run of it that waits. Raises ProgramPaused if it waits (again)."""
        toolkit = self._settings.toolkit
        if toolkit is None:
            message = "expected a toolkit to run a program with, got none: give one with .toolkit(...)"
            raise ProviderError(message)
        settings: dict[str, Any] = {
            "results": self.names,
            "context": self._settings.tool_context,
            "approve": self._settings.approve,
            "on_tool_call": self.listener.notify_from_program,
            "observe": None if watch is None else partial(watch.observe, parent=call_id),
        }
        waiting = self.resumption.runs.get(call_id)
        after = self._last.result
        try:
            if waiting is None:
                result, continues = await self._run_after(after, toolkit, program, settings)
            else:
                result = await self._continue(toolkit, program, waiting, settings)
                continues = self._last.note(result, after)
        except ListenerError as error:
            raise error.failure from None
        except (JournalError, ArgumentsError) as error:
            if waiting is None:
                raise
            # The program still waits: its caller has to know, and not the model.
            raise CallInterrupted(error) from None
        if continues or self._last.result is None:
            self.programs[call_id] = ProgramEnding(continues, result.run_id if continues else None)
        if watch is not None:
            watch.report_end(call_id, result)
        if result.status == "paused":
            raise ProgramPaused(Paused(result.pending, result.run_id))
        result.max_text = self.max_result_text
        result.keeper = keeper = self.names.keeper()
        mode = "prompt" if call_id == PROGRAM_ID else "tool"
        report = toolkit.answer(program, result, mode=mode, continues=continues)
        self.kept[call_id] = keeper.kept
        return report, result

    async def _run_after(
        self, after: ExecutionResult | None, toolkit: Toolkit, program: str, settings: dict[str, Any]
    ) -> tuple[ExecutionResult, bool]:
        """Run a program, perhaps after a failed one; return its result, and whether the next one continues it."""
        if after is None:
            result = await toolkit.aexecute(program, **settings)
            return result, self._last.note(result, None)
        # Of two programs of one answer, the second begins after the first, and continues it if that has failed too.
        async with self._correcting:
            after = self._last.result or after
            try:
                result = await toolkit.aexecute(program, **settings, after=after)
            except ContinuationError:  # the toolkit or the context is another one now, or the record is lost
                self._last.result = None
                result = await toolkit.aexecute(program, **settings)
                if after.progress is None:  # of a loaded conversation
                    result.notes.append(_STARTED_ANEW)
            return result, self._last.note(result, after)

    async def _continue(
        self, toolkit: Toolkit, program: str, waiting: WaitingRun, settings: dict[str, Any]
    ) -> ExecutionResult:
        """Return the result of a program that waits, which may have been continued elsewhere.

        Raises JournalError if it cannot be continued, or if its run is of another program.
        """
        is_correction = await to_thread(_is_correction, toolkit.open_journal(), waiting.run_id, program)
        async with self._correcting if is_correction else nullcontext():
            result = await to_thread(partial(toolkit.find_result, waiting.run_id, context=settings["context"]))
            result = result or await toolkit.aresume(waiting.run_id, waiting.decisions, **settings)
        note_changes(result, program)  # the run has the plain text
        return result

    def _with_program(self, call: ToolCall) -> ToolCall:
        """Return a call with its program as its argument, also if the model has sent that in another form."""
        if call.name != PROGRAM_TOOL or not self.has_programs:
            return call
        from ez_ptc.toolkit.prompting.sent_programs import find_sent_program

        program = find_sent_program(call.arguments)
        return call if program is None else replace(call, arguments={"code": program})

    def _program_tool(self, toolkit: Toolkit) -> Tool[..., Any]:
        """Return `execute_tools`, the tool by which a model runs programs."""

        async def execute_tools(code: str) -> object:
            report, result = await self._execute(code, *_CALL.get())
            if not result.success:
                raise _ProgramFailedError(report)
            if result.images:
                return _Report((TextMessage(report), *result.images))
            return _Report(report)

        description = toolkit.tool_schema("raw")
        return Tool(description["name"], description["description"], description["parameters"], execute_tools)


def _find_failure(entries: Iterable[Entry]) -> ExecutionResult | None:
    """Return the last program's result, as far as a program that continues it has to know; None unless it failed."""
    ends = [entry.program for entry in entries if isinstance(entry, Message) and entry.program is not None]
    if not ends or not ends[-1].is_continued:
        return None
    return ExecutionResult(success=False, status="failed", run_id=ends[-1].run_id)


def names_of(settings: BuilderSettings, entries: Iterable[Entry]) -> ShortNames:
    """Return the names of a conversation's kept results."""
    toolkit = settings.toolkit
    return ShortNames(settings.kept_results if toolkit is None else toolkit.kept_results, kept_by_name(entries))


def _is_correction(journal: Journal, run_id: str, program: str) -> bool:
    """Return whether a run that waits corrects a failed one. Raises JournalError if it is of another program."""
    if journal.run(run_id).program != program:
        message = f"run {run_id} is of another program than the one that waits: it cannot go on"
        raise JournalError(message)
    return "continues" in journal.events(run_id)[0].data
