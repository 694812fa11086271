"""A tool as an offer: each call is checked, and approved if it has to be."""

from __future__ import annotations

import copy
import uuid
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ez_ptc._sync import run_coroutine, to_thread
from ez_ptc.errors import ArgumentsError, NotApprovedError
from ez_ptc.formats.content import deliverable_result
from ez_ptc.integrations.offers.events import CallEvents
from ez_ptc.integrations.offers.hooks import NO_HOOKS, Hooks, OpenCalls, Outcome
from ez_ptc.messages import PendingCall, ToolCall
from ez_ptc.tools.approvals.approval import approval_request, needs_approval
from ez_ptc.tools.call_lifetime import CallLife
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.decisions import Deny, Pause, to_decision
from ez_ptc.tools.outputs.failures import failure

if TYPE_CHECKING:
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

__all__ = ["CheckedCall", "ToolOffer"]


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call whose tool's predicate was asked.

    Attributes:
        call: The call that waits for a decision, with the arguments that will run; None if none is needed.
        error: The refusal of a call of which the predicate has said neither True nor False.
        is_invalid: Whether its arguments are wrong.
    """

    call: PendingCall | None = None
    error: str | None = None
    is_invalid: bool = False


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
        parameters = copy.deepcopy(self.tool.definition.object_schema)
        vars(self).update(name=self.tool.name, description=self.tool.prose, parameters=parameters)

    @property
    def is_undecided(self) -> bool:
        """Whether calls need approval, and the developer has given no approver."""
        return bool(self.tool.requires_approval) and self.settings.over(self.tool.settings).approve is None

    def read_arguments(self, arguments: dict[str, object] | str) -> dict[str, Any]:
        """Return the arguments of a call, which some frameworks pass as text. Raises ArgumentsError."""
        return self.tool.definition.read(arguments)[0]

    async def acheck(self, arguments: dict[str, object] | str, hooks: Hooks) -> CheckedCall:
        """Check a call, and ask the tool's predicate about it, once: `acall` takes the outcome."""
        if not self.is_undecided:
            return CheckedCall()
        return await to_thread(self.check, arguments, hooks)

    def check(self, arguments: dict[str, object] | str, hooks: Hooks) -> CheckedCall:
        """Same as `acheck` for an undecided tool, but blocks, and asks the predicate in this thread."""
        definition = self.tool.definition
        settings = self.settings.over(self.tool.settings).over(CallSettings(hooks.context))
        try:
            bound = definition.binder.bind((), self.read_arguments(arguments), context=settings.context)
            if not hooks.was_asked and not needs_approval(definition, bound):
                return CheckedCall()
        except ArgumentsError:
            return CheckedCall(is_invalid=True)
        except NotApprovedError as error:
            return CheckedCall(error=failure(self.name, error).error)
        request = approval_request(definition, bound, CallLife())
        return CheckedCall(replace(request.call, id=hooks.id or uuid.uuid4().hex))

    async def acall(
        self, arguments: dict[str, object] | str, hooks: Hooks = NO_HOOKS, checked: CheckedCall | None = None
    ) -> Outcome:
        """Run a call of a model, perhaps one that was checked before.

        Only exceptions in `hooks.reraise`, and those of `hooks.decide`, are raised.
        """
        if hooks.decide is None or not self.is_undecided:
            return await self._arun(self.tool, arguments, hooks, None)
        checked = checked or await self.acheck(arguments, hooks)
        if checked.error is not None:
            return Outcome(error=checked.error)
        if checked.call is None:
            # What the predicate has said of this call counts. One with wrong arguments fails again: should it not,
            # because a validator now says something else, no one was asked about it.
            return await self._arun(self._with_verdict(is_needed=checked.is_invalid), arguments, hooks, None)
        call = checked.call
        calls = OpenCalls((call,))
        decision = (await hooks.decide(calls) or {}).get(call.id, Pause())
        if isinstance(decision, Pause):
            return Outcome.waiting(calls)

        def approve(asked: PendingCall) -> object:
            if asked.digest == call.digest:
                return to_decision(decision)
            return Deny("its arguments are not those that were shown")

        return await self._arun(self._with_verdict(is_needed=True), arguments, hooks, approve)

    def call(self, arguments: dict[str, object] | str, hooks: Hooks = NO_HOOKS) -> Outcome:
        """Same as `acall`, but blocks."""
        return run_coroutine(self.acall, arguments, hooks)

    def _with_verdict(self, *, is_needed: bool) -> Tool[..., Any]:
        """Return the tool with what its predicate has said of a call, instead of the predicate."""
        return self.tool.from_definition(replace(self.tool.definition, requires_approval=is_needed), self.tool.settings)

    async def _arun(
        self, tool: Tool[..., Any], arguments: dict[str, object] | str, hooks: Hooks, approve: Approver | None
    ) -> Outcome:
        settings = self.settings.over(tool.settings).over(CallSettings(hooks.context, approve))
        settings = replace(settings, reraise=(*settings.reraise, *hooks.reraise))
        # Never `tool(...)`: that would skip the checks of tools without approval or context.
        run = partial(tool.arun, ToolCall("", self.name, arguments), settings)
        if hooks.report is None:
            result = await run()
        else:
            result = await CallEvents(hooks).run_tool(self.name, run)
        sent = deliverable_result(self.name, result)
        if not sent.success:
            return Outcome(error=sent.error or f"{self.name} failed")
        return Outcome(sent.output)
