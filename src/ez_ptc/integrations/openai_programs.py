"""Programs in the OpenAI Agents SDK, with an interruption for each call that waits.

The SDK interrupts a run for calls of an agent's tools, asks once about each, and saves what it asked with the run's
state. It does not know the calls of a program. So a program that can wait is run as the turns of a nested agent, as
`Agent.as_tool` makes one: its model is the program, which "answers" with the calls that wait, under their own names,
arguments and ids. The SDK asks about these, in whatever order the answers come, saves the nested run with the outer
one, and continues it. An approved call reaches its gate, which records the decision in the journal; the other calls of
a turn were rejected. Then the program goes on to its next turn, or to its end.

Nothing is found by an id of the outer call: a call's id begins with the id of its run, and both are in the saved state.
"""

from __future__ import annotations

import json
import uuid
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._sync import to_thread
from ez_ptc.errors import ArgumentsError, DecisionError
from ez_ptc.formats.content import as_json
from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.integrations.offers import Hooks, OpenCalls, Outcome, ProgramOffer, SentProgram
from ez_ptc.tools.decisions import Approve, Decision, Deny

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.messages import PendingCall
    from ez_ptc.sandbox.protocol.events import ProgramEvent

__all__ = ["make_program_tool", "run_program", "strict_parameters"]

_agents: Any = import_framework("agents", package="openai-agents")
_responses: Any = import_framework("openai.types.responses", package="openai-agents")

_MAX_TURNS: Final = 1_000_000  # the limits of the program end it before
_AGAIN: Final = "asked again"


@dataclass
class _AgentProgram:
    """A program in one call of the outer agent. `outcome` is set at its end."""

    sent: SentProgram
    context: object
    watch: Callable[[ProgramEvent], object]
    outcome: Outcome | None = None


# The program whose nested agent is running.
_PROGRAM: Final[ContextVar[_AgentProgram]] = ContextVar("ez_ptc_openai_agents_program")


def make_program_tool(offer: ProgramOffer) -> Any:
    """Return a function tool that runs programs whose calls may wait. Call it with `run_program`."""
    tools = [tool for tool in offer.toolkit if tool.requires_approval]
    agent = _agents.Agent(
        name=offer.name, model=_ProgramModel(offer), tools=[_make_gate(offer, tool.name, tool.prose) for tool in tools]
    )
    # Its own configuration, because the outer run's may have a model for all agents; without data in spans, because
    # that one may forbid it.
    config = _agents.RunConfig(trace_include_sensitive_data=False)
    tool = agent.as_tool(
        offer.name, offer.description, run_config=config, max_turns=_MAX_TURNS, failure_error_function=None
    )
    tool.params_json_schema = strict_parameters(offer)
    return tool


def strict_parameters(offer: ProgramOffer) -> dict[str, Any]:
    """Return the parameters of programs as OpenAI's strict mode takes them: null stands for an absent argument."""
    properties: dict[str, dict[str, Any]] = offer.parameters["properties"]
    required: list[str] = offer.parameters["required"]
    return {
        "type": "object",
        "properties": {
            name: schema if name in required else {**schema, "type": [schema["type"], "null"]}
            for name, schema in properties.items()
        },
        "required": [*properties],
        "additionalProperties": False,
    }


async def run_program(
    offer: ProgramOffer, invoke: Callable[..., Any], run: Any, text: str, context: object, watch: Callable[..., object]
) -> Outcome | None:
    """Run a program in the nested agent of a tool, or go on with it; return None if it waits.

    `invoke` is the tool's own function.
    """
    try:
        program = _AgentProgram(offer.program_of(text), context, watch)
    except ArgumentsError as error:
        return Outcome(error=str(error))
    token = _PROGRAM.set(program)
    try:
        await invoke(run, json.dumps({"input": program.sent.code}))
    finally:
        _PROGRAM.reset(token)
    return program.outcome


class _ProgramModel(_agents.Model):
    """The program of a nested agent as its model."""

    def __init__(self, offer: ProgramOffer) -> None:
        self._offer = offer

    async def get_response(self, system_instructions: str | None, input: Any, *args: Any, **options: Any) -> Any:  # noqa: A002 - the SDK passes it by name
        del system_instructions, args, options
        program = _PROGRAM.get()
        turns: list[dict[str, Any]] = []
        if not isinstance(input, str):
            turns = input
        outputs = [item for item in turns if item.get("type") == "function_call_output"]
        answers = {str(item["call_id"]).partition("#")[0]: str(item["output"]) for item in outputs}
        run_id = next((key.partition(":")[0] for key in answers), uuid.uuid4().hex)

        async def decide(calls: OpenCalls) -> dict[str, Decision]:
            # What was approved is recorded already, and no longer pending.
            said = {call.id: answers[call.id] for call in calls.pending if call.id in answers}
            return {id_: Deny(text) for id_, text in said.items() if text != _AGAIN}

        hooks = Hooks(program.context, id=run_id, decide=decide, watch=program.watch)
        outcome = await self._offer.acall(program.sent._asdict(), hooks)
        if outcome.open is None:
            program.outcome = outcome
            content = _responses.ResponseOutputText(type="output_text", text=outcome.text, annotations=[])
            return _response(
                _responses.ResponseOutputMessage(
                    type="message", id="m", role="assistant", status="completed", content=[content]
                )
            )
        turn = sum(item.get("type") == "function_call" for item in turns)
        return _response(*(_function_call(call, turn) for call in outcome.open.pending))

    def stream_response(self, *args: Any, **options: Any) -> Any:
        message = "a program is no model: it answers at once"
        raise NotImplementedError(message)


def _make_gate(offer: ProgramOffer, name: str, description: str) -> Any:
    async def approve(run: Any, text: str) -> str:
        del text
        call_id, digest = run.tool_call_id.partition("#")[0], run.tool_call.id
        journal = offer.toolkit.open_journal()
        recorded = await to_thread(journal.run, call_id.partition(":")[0])
        if not any(call.id == call_id and call.digest == digest for call in recorded.pending):
            return _AGAIN
        try:
            await to_thread(journal.decide, recorded.id, {call_id: Approve()})
        except DecisionError:  # an answer that was delivered twice; the first counts
            return _AGAIN
        return "approved"

    return _agents.FunctionTool(
        name=name,
        description=description,
        params_json_schema={"type": "object", "properties": {}},
        on_invoke_tool=approve,
        needs_approval=True,
        strict_json_schema=False,
    )


def _function_call(call: PendingCall, turn: int) -> Any:
    return _responses.ResponseFunctionToolCall(
        type="function_call",
        id=call.digest,
        # The SDK leaves out a call that it has asked about before.
        call_id=f"{call.id}#{turn}",
        name=call.tool,
        arguments=json.dumps(as_json(call.arguments)),
    )


def _response(*output: Any) -> Any:
    return _agents.ModelResponse(output=list(output), usage=_agents.Usage(), response_id=None)
