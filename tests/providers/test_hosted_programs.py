"""Programs that the provider runs, whose calls our tools answer.

The traffic is constructed from the SDKs' types; Anthropic's is checked by the same server as all other requests.
`tests/recordings` has recorded traffic of Anthropic's programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import pytest

from ez_ptc import OpenAIProvider, PendingCall, ProviderError, ScriptedProvider, Toolkit, ToolRegistry, ez_tool, llm
from ez_ptc.conversation.builder import LLMPromptBuilder
from ez_ptc.providers.anthropic import AnthropicProvider
from tests.providers.anthropic.server import anthropic_server, message
from tests.providers.loopback import LoopbackServer, Reply, sse
from tests.providers.openai.replies import response, response_events

_Json = dict[str, Any]

EXECUTION = "code_execution_20260120"


class Weather(TypedDict):
    city: str
    degrees: int


@ez_tool(read_only=True)
def get_weather(city: str) -> Weather:
    """Look up the weather of a city."""
    return {"city": city, "degrees": len(city)}


@ez_tool(requires_approval=True)
def pay(to: str) -> str:
    """Pay someone."""
    return f"paid {to}"


def program_call(number: int, name: str, **arguments: object) -> _Json:
    caller = {"type": EXECUTION, "tool_id": "srvtoolu_1"}
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments, "caller": caller}


PROGRAM: _Json = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "code_execution",
    "input": {"code": "print(await get_weather(city='Oslo'))"},
}
RAN: _Json = {
    "type": "code_execution_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {"type": "code_execution_result", "stdout": "4\n", "stderr": "", "return_code": 0, "content": []},
}
CONTAINER = {"id": "container_1", "expires_at": "9999-01-01T00:00:00Z"}


def anthropic(server: LoopbackServer) -> LLMPromptBuilder:
    provider = AnthropicProvider("claude-sonnet-5-5", api_key="key", base_url=server.url)
    return llm().provider(provider).tools(get_weather, pay).options(hosted_programs=True)


def openai(server: LoopbackServer) -> LLMPromptBuilder:
    provider = OpenAIProvider("gpt-5.5", base_url=server.url)
    return llm().provider(provider).tools(get_weather, pay).options(hosted_programs=True)


# Anthropic ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_anthropics_program_is_answered_turn_by_turn(is_streamed: bool) -> None:
    first = message([PROGRAM, program_call(1, "get_weather", city="Oslo")], container=CONTAINER)
    second = message([program_call(2, "get_weather", city="Bergen")], container=CONTAINER)
    last = message([RAN, {"type": "text", "text": "4 and 6."}], container=CONTAINER)
    with anthropic_server(first, second, last, "Bye.") as server:
        asked = anthropic(server)
        if is_streamed:
            stream = asked.stream("How warm?")
            list(stream)
            continuation = stream.continuation
        else:
            _, continuation = asked.converse("How warm?")
        continuation.converse("Thanks.")
    assert continuation.text == "4 and 6."
    assert [body.get("container") for body in server.bodies] == [None, "container_1", "container_1", "container_1"]
    for body in server.bodies:
        weather, payment, execution = body["tools"]
        assert weather["allowed_callers"] == payment["allowed_callers"] == [EXECUTION]
        assert '"degrees":{"type":"integer"}' in weather["description"]
        assert execution == {"type": EXECUTION, "name": "code_execution"}
    *_, said, results = server.bodies[1]["messages"]
    assert said["content"] == [PROGRAM, program_call(1, "get_weather", city="Oslo")]
    (result,) = results["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "toolu_1")
    assert result["content"] == '{"city":"Oslo","degrees":4}'


def test_strict_tools_and_own_programs_stay_with_the_model() -> None:
    strict = ez_tool(name="strict_weather", strict=True)(get_weather.fn)
    with anthropic_server("Hello.") as server, Toolkit([get_weather]) as toolkit:
        anthropic(server).tools(strict).toolkit(toolkit).converse("Hi")
    tools = {tool["name"]: tool for tool in server.bodies[0]["tools"]}
    assert [name for name in tools if "allowed_callers" in tools[name]] == ["get_weather", "pay"]
    assert {"strict_weather", "execute_tools", "code_execution"} < tools.keys()


def test_version_of_given_execution_tool_counts() -> None:
    given = {"type": "code_execution_20250825", "name": "code_execution"}
    with anthropic_server("Hello.") as server:
        anthropic(server).options(tools=[given]).converse("Hi")
    *ours, execution = server.bodies[0]["tools"]
    assert execution == given
    assert [tool["allowed_callers"] for tool in ours] == [["code_execution_20250825"]] * 2


# OpenAI ---------------------------------------------------------------------------------------------------------------

JAVASCRIPT = {"type": "program", "id": "p_1", "call_id": "prog_1", "code": "text(await tools.x())", "fingerprint": "f"}
CALLER = {"type": "program", "caller_id": "prog_1"}


def openai_call(number: int, name: str, arguments: str) -> _Json:
    call_id = f"call_{number}"
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "caller": CALLER,
        "status": "completed",
    }


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_openais_program_is_answered_turn_by_turn(is_streamed: bool) -> None:
    called = openai_call(1, "get_weather", '{"city": "Oslo"}')
    ended = {"type": "program_output", "id": "po_1", "call_id": "prog_1", "result": "4", "status": "completed"}
    turns: list[tuple[_Json | str, ...]] = [(JAVASCRIPT, called), (ended, "4 degrees.")]
    replies = [Reply(body=sse(*response_events(*turn)) if is_streamed else response(*turn)) for turn in turns]
    with LoopbackServer(*replies) as server:
        asked = openai(server)
        if is_streamed:
            stream = asked.stream("How warm?")
            list(stream)
            continuation = stream.continuation
        else:
            _, continuation = asked.converse("How warm?")
    assert continuation.text == "4 degrees."
    for body in server.bodies:
        weather, payment, programs = body["tools"]
        assert weather["allowed_callers"] == payment["allowed_callers"] == ["programmatic"]
        assert weather["output_schema"]["properties"]["degrees"] == {"type": "integer"}
        assert "output_schema" not in payment
        assert programs == {"type": "programmatic_tool_calling"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": '{"city":"Oslo","degrees":4}'}
    assert server.bodies[1]["input"][1:] == [JAVASCRIPT, called, {**output, "caller": CALLER}]


def test_openais_tools_fit_its_types() -> None:
    from openai.types.responses.tool_param import ToolParam
    from pydantic import TypeAdapter

    with LoopbackServer(Reply(body=response("Hello."))) as server:
        openai(server).converse("Hi")
    tools = TypeAdapter(list[ToolParam]).validate_python(server.bodies[0]["tools"])
    assert len(tools) == 3


def test_registry_exports_tools_for_hosted_programs() -> None:
    registry = ToolRegistry([get_weather, pay])
    *claude, execution = registry.to_format("anthropic", hosted=True)
    *gpt, programs = registry.to_format("openai-responses", hosted=True)
    assert [tool["allowed_callers"] for tool in claude] == [[EXECUTION]] * 2
    assert [tool["allowed_callers"] for tool in gpt] == [["programmatic"]] * 2
    assert (execution["name"], programs) == ("code_execution", {"type": "programmatic_tool_calling"})
    with pytest.raises(ValueError, match="mistral has no programs"):
        registry.to_format("mistral", hosted=True)


# Approvals, in both ---------------------------------------------------------------------------------------------------


def _anthropic_payment() -> tuple[LoopbackServer, Callable[[LoopbackServer], LLMPromptBuilder]]:
    first = message([PROGRAM, program_call(1, "pay", to="Ann")], container=CONTAINER)
    return anthropic_server(first, message([RAN, {"type": "text", "text": "Done."}], container=CONTAINER)), anthropic


def _openai_payment() -> tuple[LoopbackServer, Callable[[LoopbackServer], LLMPromptBuilder]]:
    called = openai_call(1, "pay", '{"to": "Ann"}')
    return LoopbackServer(Reply(body=response(JAVASCRIPT, called)), Reply(body=response("Done."))), openai


PAYMENTS = pytest.mark.parametrize("payment", [_anthropic_payment, _openai_payment], ids=["anthropic", "openai"])
Payment = Callable[[], tuple[LoopbackServer, Callable[[LoopbackServer], LLMPromptBuilder]]]


def answered(server: LoopbackServer) -> str:
    body = server.bodies[-1]
    return str(body["messages"][-1] if "messages" in body else body["input"][-1])


@PAYMENTS
@pytest.mark.parametrize(
    ("decision", "told"), [(True, "paid Ann"), ("too much", "too much"), ({"to": "Bob"}, "paid Bob")]
)
def test_calls_of_hosted_programs_are_approved(payment: Payment, decision: object, told: str) -> None:
    asked_about: list[PendingCall] = []

    def approve(call: PendingCall) -> object:
        asked_about.append(call)
        return decision

    server, builder = payment()
    with server:
        builder(server).approve(approve).converse("Pay Ann.")
    assert [(call.name, call.arguments) for call in asked_about] == [("pay", {"to": "Ann"})]
    assert told in answered(server)


@PAYMENTS
def test_hosted_program_waits_for_a_pending_approval(payment: Payment) -> None:
    server, builder = payment()
    with server:
        _, paused = builder(server).converse("Pay Ann.")
        assert (paused.status, len(server.bodies)) == ("paused", 1)
        (pending,) = paused.pending
        assert (pending.tool, pending.arguments) == ("pay", {"to": "Ann"})
        _, finished = paused.resume({pending.id: True})
    assert finished.text == "Done."
    assert "paid Ann" in answered(server)
    assert server.bodies[1].get("container", "container_1") == "container_1"


@PAYMENTS
def test_refused_pending_call_is_told_to_the_program(payment: Payment) -> None:
    server, builder = payment()
    with server:
        _, paused = builder(server).converse("Pay Ann.")
        paused.resume({paused.pending[0].id: "not today"})
    assert "not today" in answered(server)
    assert "paid" not in answered(server)


def test_provider_without_programs_is_refused() -> None:
    asked = llm().provider(ScriptedProvider("Hello.")).tools(get_weather).options(hosted_programs=True)
    with pytest.raises(ProviderError, match=r"got scripted: give the tools as .toolkit\(...\) instead"):
        asked.prompt("Hi")
