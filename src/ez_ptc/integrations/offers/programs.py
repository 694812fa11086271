"""A toolkit as an offer: the one tool that runs programs, which can pause and go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio

from ez_ptc._sync import run_coroutine, to_thread
from ez_ptc.errors import ArgumentsError, ContinuationError, JournalError, RunInProgressError
from ez_ptc.integrations.offers.events import CallEvents
from ez_ptc.integrations.offers.hooks import NO_HOOKS, Hooks, OpenCalls, Outcome
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.safe_repr import safe_repr_with_type
from ez_ptc.toolkit.execution.callers import Caller
from ez_ptc.toolkit.execution.results.scopes import CallerScope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.toolkit.toolkit import Toolkit
    from ez_ptc.tools.call_settings import CallSettings

__all__ = ["ProgramOffer", "SentProgram"]

# Seconds between looks at a run that is being executed; after a minute, its caller gets the error.
_WAITS: Final = (0.01, 0.02, 0.05, 0.1, *[0.2] * 300)


class SentProgram(NamedTuple):
    """A program as a model has sent it, and the token of the failed one that it corrects."""

    code: str
    after: object = None


@dataclass(frozen=True)
class ProgramOffer:
    """A toolkit as the tool that runs programs, with the developer's settings for their calls."""

    toolkit: Toolkit
    settings: CallSettings
    principal: Callable[[Any], str] | None = None
    name: str = field(init=False)
    description: str = field(init=False)
    parameters: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        vars(self).update(self.toolkit.tool_schema("raw", after=True))

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
        """Run a program of a model, or go on with the run of `hooks.id`.

        Raises what `Toolkit.aexecute` raises, and exceptions in `hooks.reraise` and of `hooks.decide`.
        """
        try:
            program = self.program_of(arguments)
        except ArgumentsError as error:
            return Outcome(error=str(error))
        token = program.after
        if token is not None and await self._is_recorded(hooks):
            token = None  # a repeated call: the record says which program it corrects
        context, principal = self._caller_of(hooks)
        owner = Caller(self._principal_of(hooks, context), context)
        try:
            with self.toolkit.corrections.begin(token, owner, Caller(principal, context)) as correction:
                result = await self._arun(program.code, hooks, after=correction.failed)
                if result.status == "paused":  # for the token as well, should `hooks.decide` interrupt this call
                    correction.end(result)
                result, outcome = await self._settle(program.code, hooks, result)
                token = correction.end(result)
        except ContinuationError as error:
            return Outcome(error=str(error))
        except RunInProgressError as error:
            if token is None:  # it is about the run of this call, which its framework has repeated
                raise
            return Outcome(error=str(error))
        if outcome is not None:
            return outcome
        text = self.toolkit.answer(program.code, result, mode="tool", continues=False, after=token)
        if result.success:
            return Outcome(text)
        return Outcome(error=text)

    async def _settle(self, code: str, hooks: Hooks, result: ExecutionResult) -> tuple[ExecutionResult, Outcome | None]:
        """Return the result of a program once it waits for no decision, or its last result and why it waits."""
        while result.status == "paused":
            # Of the journal, because a call may have been decided elsewhere since the program paused.
            run = await to_thread(self.toolkit.open_journal().run, str(result.run_id))
            calls = OpenCalls(run.pending, run.id)
            if any(call.state != "needs_approval" for call in calls.pending):
                return result, Outcome(error=_unfinished_text(calls))
            decisions: Mapping[str, object] | None = None
            if calls.pending and hooks.decide is not None:
                decisions = await hooks.decide(calls)
            if calls.pending and not decisions:
                return result, Outcome.waiting(calls)
            result = await self._decide(code, hooks, calls, decisions)
        return result, None

    def call(self, arguments: dict[str, object] | str, hooks: Hooks = NO_HOOKS) -> Outcome:
        """Same as `acall`, but blocks."""
        return run_coroutine(self.acall, arguments, hooks)

    def program_of(self, arguments: dict[str, object] | str) -> SentProgram:
        """Return the program in a model's arguments, a dict or JSON text. Raises ArgumentsError if it is missing."""
        from ez_ptc.toolkit.prompting.sent_programs import find_sent_program

        if (program := find_sent_program(arguments)) is not None:
            return SentProgram(program, None)
        if isinstance(arguments, str):
            from ez_ptc.schema.arguments.json_text import parse_arguments

            arguments = parse_arguments(self.name, arguments)
        code = arguments.get("code")
        if isinstance(code, str):
            return SentProgram(code, arguments.get("after"))
        problem = f"expected the program as 'code', a str, got {safe_repr_with_type(code)}"
        message = f"{self.name}: {problem}"
        raise ArgumentsError(message, problems=[problem])

    async def _is_recorded(self, hooks: Hooks) -> bool:
        """Return whether the journal has a run of this very call."""
        if hooks.id is None or not self.is_durable:
            return False
        return await to_thread(self.toolkit.open_journal().known_run, hooks.id) is not None

    async def _decide(
        self, code: str, hooks: Hooks, calls: OpenCalls, decisions: Mapping[str, object] | None
    ) -> ExecutionResult:
        try:
            return await self._arun(code, hooks, resume=calls.run_id, decisions=decisions)
        except JournalError as error:
            # Without an id, the program would begin again, as another run.
            if hooks.id is None:
                raise
            # An answer that was delivered twice: the effects of the first one count.
            earlier = await self._arun(code, hooks)
            if isinstance(error, RunInProgressError):
                return earlier
            if (await to_thread(self.toolkit.open_journal().run, calls.run_id)).pending == calls.pending:
                raise
            return earlier

    async def _arun(
        self,
        code: str,
        hooks: Hooks,
        *,
        after: ExecutionResult | None = None,
        resume: str | None = None,
        decisions: Mapping[str, object] | None = None,
    ) -> ExecutionResult:
        context, principal = self._caller_of(hooks)
        if resume is not None:
            run = partial(self.toolkit.aresume, resume, decisions)
        elif hooks.id is not None and self.is_durable:
            # Some frameworks repeat a whole call after a decision, or after a crash: its effects must not be repeated.
            run = partial(self._await_run, code, hooks.id, after=after)
        else:
            run = partial(self.toolkit.aexecute, code, after=after)
        run = partial(run, context=context, approve=self.settings.approve, reraise=hooks.reraise, principal=principal)
        if not (self.principal or hooks.principal or Caller(None, context).is_comparable):
            # Its calls have ids of their own, and share the results that one of them keeps by the object.
            run = partial(run, results=CallerScope(self.toolkit.kept_results, Caller(None, context)))
        if hooks.watch is None and hooks.report is None:
            return await run()
        events = CallEvents(hooks)
        return await events.run(partial(run, observe=events.observe))

    async def _await_run(self, code: str, run_id: str, **options: Any) -> ExecutionResult:
        """Run a program under its id. If it is running, as a framework may repeat a call early, await its end."""
        for seconds in _WAITS:
            try:
                return await self.toolkit.aexecute(code, run_id=run_id, **options)
            except RunInProgressError:
                await anyio.sleep(seconds)
        return await self.toolkit.aexecute(code, run_id=run_id, **options)

    def _caller_of(self, hooks: Hooks) -> tuple[object, str | None]:
        """Return the context of a call, and for whom it is. The developer's context comes before the framework's."""
        context = self.settings.context
        if context is NO_CONTEXT:
            context = self.toolkit.context
        if context is NO_CONTEXT:
            context = hooks.context
        principal = self._principal_of(hooks, context)
        if principal is None and not Caller(None, context).is_comparable:
            # It has no identity that could be compared; the id stands for the call of one conversation.
            principal = hooks.id
        return context, principal

    def _principal_of(self, hooks: Hooks, context: object) -> str | None:
        """Return for whom a call is, as far as the developer or the framework says."""
        if self.principal is not None:
            return self.principal(context)
        return hooks.principal


def _unfinished_text(calls: OpenCalls) -> str:
    by_state = {call.state: call.tool for call in calls.pending}
    if "running" in by_state:
        return f"not finished: {by_state['running']} is still running; run {calls.run_id} can go on when it has ended"
    return (
        f"not finished: it is unknown whether {by_state['outcome_unknown']} took effect; a person has to find out, and "
        f"to continue run {calls.run_id} with toolkit.resume(run_id, decisions)"
    )
