"""Google ADK: its tools and toolsets as our tools, and ours as its tools."""

from __future__ import annotations

import copy
import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._sync import run_coroutine, to_thread
from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import approving_exporter, import_framework
from ez_ptc.integrations.offers import (
    Hooks,
    Offer,
    OpenCalls,
    Outcome,
    ProgramOffer,
    ToolOffer,
    call_id_of,
    find_decisions,
    find_problem,
    tool_of,
)
from ez_ptc.schema.annotations.context import Context  # noqa: TC001 - annotations of tools are read at run time
from ez_ptc.tools.approvals.questions import write_question
from ez_ptc.tools.decisions import Deny
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.tools.decisions import Decision

__all__ = ["export_tools", "import_tools"]

_tools: Any = import_framework("google.adk.tools.base_tool", package="google-adk")
_toolsets: Any = import_framework("google.adk.tools.base_toolset", package="google-adk")
_types: Any = import_framework("google.genai.types", package="google-adk")

# The context of the agent's call whose program calls tools of ADK.
_CALL: Final[ContextVar[Any]] = ContextVar("ez_ptc_google_adk_call", default=None)

# The argument of `execute_tools` by which a model lets a program go on.
_CONTINUED: Final = "continue_run"


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tools of a tool or toolset, or None for anything else.

    They get the `ToolContext` of the agent running the program, or else the call's context. If one requires
    confirmation, always or sometimes, it requires approval.
    """
    if isinstance(thing, _toolsets.BaseToolset):
        return [_import_tool(tool) for tool in run_coroutine(cast("Any", thing).get_tools)]
    if isinstance(thing, _OfferTool):
        return [tool_of(thing.offer)]
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


@approving_exporter
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as ADK's tools: `LlmAgent(..., tools=export_tools(toolkit))`.

    `Context` parameters get the call's `ToolContext`, unless there is another. A call that needs approval asks for
    ADK's tool confirmation, unless there is an approver; in programs, this takes a toolkit with a journal.
    """
    return [_OfferTool(offer) for offer in offers]


class _OfferTool(_tools.BaseTool):
    def __init__(self, offer: Offer) -> None:
        super().__init__(name=offer.name, description=offer.description)  # pyright: ignore[reportUnknownMemberType] - of a base that is Any
        self.offer = offer

    def _get_declaration(self) -> Any:
        offer = self.offer
        parameters: dict[str, Any] = offer.parameters
        if isinstance(offer, ProgramOffer) and offer.is_durable and offer.is_undecided:
            # ADK asks once about a call, and a program may wait twice.
            text = "Instead of code: the id of a program that has not finished, to let it go on."
            properties = {**parameters["properties"], _CONTINUED: {"type": "string", "description": text}}
            parameters = {**parameters, "properties": properties, "required": []}
        return _types.FunctionDeclaration(
            name=offer.name, description=offer.description, parameters_json_schema=parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        token = _CALL.set(tool_context)
        try:
            if isinstance(self.offer, ProgramOffer):
                outcome = await _AgentCall(tool_context).run_program(self.offer, args)
            else:
                outcome = await _AgentCall(tool_context).run_tool(self.offer, args)
        finally:
            _CALL.reset(token)
        return {"result": outcome.data} if outcome.error is None else {"error": outcome.error}


class _AgentCall:
    """A call of an agent, and what its session knows of it.

    The ids of calls repeat. So a call gets an id of ours when a person is asked about it, which is kept in the session:
    `ez_ptc:call:ID` has it for ADK's id, and `ez_ptc:run:ID` says why a program with that id waits. A session belongs
    to one user of one app.
    """

    def __init__(self, call: Any) -> None:
        self._call = call
        self._answer = call.tool_confirmation
        self._key = f"ez_ptc:call:{call.function_call_id}"
        self._has_decided = False

    async def run_tool(self, offer: ToolOffer, arguments: dict[str, Any]) -> Outcome:
        """Run a call of a tool, or ask for its confirmation."""
        call_id = uuid.uuid4().hex
        if self._answer is not None:
            call_id = self._call.state.get(self._key)
            # An answer counts once.
            self._call.state[self._key] = None
        if call_id is None:
            return Outcome(error=f"{offer.name} was not run: its question was answered already; call it again")
        outcome = await offer.acall(arguments, self.hooks(call_id))
        if outcome.open is None:
            return outcome
        if self._answer is None:
            self.ask(outcome.open, call_id)
            return outcome
        problem = find_problem(outcome.open.pending, self._answer.payload)
        return Outcome(error=f"{offer.name} was not run: {problem}; call it again")

    async def run_program(self, offer: ProgramOffer, arguments: dict[str, Any]) -> Outcome:
        """Run a program, go on with one that waits, or ask for its calls' confirmation."""
        state = self._call.state
        continued = arguments.get(_CONTINUED) or None  # models pass "" for what they leave out
        call_id = uuid.uuid4().hex
        if continued is not None:
            call_id = str(continued)
        elif self._answer is not None:
            call_id = state.get(self._key)
        is_new = continued is None and self._answer is None
        if not is_new and state.get(f"ez_ptc:run:{call_id}") is None:
            return Outcome(error=f"{offer.name}: expected the id of a program that waits in this session; run it again")
        reason = state.get(f"ez_ptc:run:{call_id}")
        if continued is not None:
            run = await to_thread(offer.toolkit.open_journal().run, call_id)
            arguments = {"code": run.program}
        outcome = await offer.acall(arguments, self.hooks(call_id))
        if outcome.open is None:
            return outcome
        if self._answer is None:
            self.ask(outcome.open, call_id, reason or None)
            return outcome
        # ADK asks once about a call, so the model has to make another one.
        state[f"ez_ptc:run:{call_id}"] = ""
        if not self._has_decided:
            state[f"ez_ptc:run:{call_id}"] = find_problem(outcome.open.pending, self._answer.payload)
        return Outcome(error=f"{outcome.error}; call {offer.name} with {_CONTINUED}={call_id!r}, and it goes on")

    def hooks(self, call_id: str) -> Hooks:
        """Return ADK's part in a call."""
        session = self._call.session
        principal = call_id_of("google_adk", app=session.app_name, user=session.user_id)
        was_asked = self._answer is not None
        return Hooks(self._call, id=call_id, principal=principal, was_asked=was_asked, decide=self.decide)

    async def decide(self, calls: OpenCalls) -> Mapping[str, Decision]:
        """Return the decisions in the confirmation's answer; a call that it does not bring back has none."""
        if self._answer is None:
            return {}
        confirmed = bool(self._answer.confirmed)
        decisions = find_decisions(calls.pending, self._answer.payload, default=confirmed)
        self._has_decided = self._has_decided or bool(decisions)
        if confirmed:
            return decisions
        return {id_: item if isinstance(item, Deny) else Deny() for id_, item in decisions.items()}

    def ask(self, calls: OpenCalls, call_id: str, reason: str | None = None) -> None:
        """Ask for ADK's confirmation of a call; ADK repeats the call with the answer."""
        self._call.state[self._key] = call_id
        if calls.run_id is not None:
            self._call.state[f"ez_ptc:run:{call_id}"] = reason or ""
        hint = "\n\n".join([write_question(item) for item in calls.pending])
        self._call.request_confirmation(hint=hint, payload=calls.as_json(reason))
        self._call.actions.skip_summarization = True
