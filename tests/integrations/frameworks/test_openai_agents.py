"""The OpenAI Agents SDK's real agent loop over a model of ours, in both directions."""

import json
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunContextWrapper, Runner, RunState, Usage, function_tool
from agents.tracing import TracingProcessor, set_trace_processors
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from ez_ptc import Toolkit
from ez_ptc.integrations.openai_agents import export_tools
from tests.integrations.frameworks.shop import TWO_REFUNDS, Effects, shop

pytestmark = pytest.mark.anyio


class Scripted(Model):
    """Makes these calls, one a turn, and then says "done"."""

    def __init__(self, *turns: tuple[str, Any]) -> None:
        self.turns = list(turns)
        self.count = 0

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.count += 1
        if self.turns:
            name, arguments = self.turns.pop(0)
            item: Any = ResponseFunctionToolCall(
                call_id=f"call_{self.count}", name=name, arguments=json.dumps(arguments), type="function_call"
            )
        else:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            item = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


class Spans(TracingProcessor):
    """Keeps the spans that have ended."""

    def __init__(self) -> None:
        self.ended: list[Any] = []

    def on_trace_start(self, trace: Any) -> None: ...
    def on_trace_end(self, trace: Any) -> None: ...
    def on_span_start(self, span: Any) -> None: ...

    def on_span_end(self, span: Any) -> None:
        self.ended.append(span)

    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...


@pytest.fixture(autouse=True)
def spans() -> Spans:
    """Keep spans here instead of sending them."""
    processor = Spans()
    set_trace_processors([processor])
    return processor


def program(code: str) -> tuple[str, Any]:
    return "execute_tools", {"code": code}


def outputs(result: Any) -> list[str]:
    return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


async def run(tools: list[Any], *turns: tuple[str, Any], context: Any = "eve") -> Any:
    return await Runner.run(Agent("shop", model=Scripted(*turns), tools=tools), "go", context=context)


async def approve_all(result: Any, tools: list[Any], *turns: tuple[str, Any]) -> Any:
    """Approve what waits, in another process's agent."""
    agent = Agent("shop", model=Scripted(*turns), tools=tools)
    state = await RunState.from_json(agent, result.to_state().to_json(), context_override=RunContextWrapper("eve"))
    for item in state.get_interruptions():
        state.approve(item)
    return await Runner.run(agent, state)


# Ours in their agent --------------------------------------------------------------------------------------------------


async def test_toolkit_runs_programs_in_their_agent() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        result = await run(export_tools(toolkit), program("print(price('tea') + price('milk'))"))
    assert (result.final_output, outputs(result)) == ("done", ["7.0\n"])


async def test_failed_program_is_marked_in_its_span(spans: Spans) -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        result = await run(export_tools(toolkit), program("price('tea') / 0"))
    assert "ZeroDivisionError" in outputs(result)[0]
    [span] = [span for span in spans.ended if getattr(span.span_data, "name", "") == "execute_tools"]
    assert "ZeroDivisionError" in str(span.error)


async def test_calls_of_programs_are_function_spans(spans: Spans) -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        await run(export_tools(toolkit), program("price('tea')"))
    [inner] = [span for span in spans.ended if getattr(span.span_data, "name", "") == "price"]
    [outer] = [span for span in spans.ended if getattr(span.span_data, "name", "") == "execute_tools"]
    assert (inner.parent_id, inner.span_data.output) == (outer.span_id, 3.0)


async def test_context_is_the_runs_unless_given() -> None:
    effects: Effects = []
    for options in ({}, {"context": "ann"}):
        tools = export_tools(shop(effects)[1], approve=lambda _: True, **options)
        assert "user" not in tools[0].params_json_schema["properties"]
        await run(tools, ("refund", {"customer": "Ada", "amount": "5"}))
    assert effects == [("Ada", 5.0, "eve"), ("Ada", 5.0, "ann")]


async def test_single_call_interrupts_for_approval() -> None:
    effects: Effects = []
    tools = export_tools(shop(effects))
    first = await run(tools, ("refund", {"customer": "Ada", "amount": 5}))
    assert (len(first.interruptions), effects) == (1, [])
    last = await approve_all(first, tools)
    assert (last.final_output, effects) == ("done", [("Ada", 5.0, "eve")])


async def test_rejected_call_never_runs() -> None:
    effects: Effects = []
    agent = Agent(
        "shop", model=Scripted(("refund", {"customer": "Ada", "amount": 5})), tools=export_tools(shop(effects))
    )
    first = await Runner.run(agent, "go", context="eve")
    state = first.to_state()
    state.reject(state.get_interruptions()[0])
    assert (await Runner.run(agent, state)).final_output == "done"
    assert effects == []


async def test_program_pauses_for_approval(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        tools = export_tools(toolkit)
        first = await run(tools, program("print(price('tea'), refund('Ada', 3))"))
        assert (len(first.interruptions), effects) == (1, [])
        last = await approve_all(first, tools)
    assert (outputs(last)[-1], effects) == ("3.0 refunded 3.0\n", [("Ada", 3.0, "eve")])


async def test_later_approval_of_a_program_is_not_assumed(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        tools = export_tools(toolkit)
        last = await approve_all(await run(tools, program(TWO_REFUNDS)), tools)
    assert "not finished: refund waits" in outputs(last)[-1]
    assert effects == [("Ada", 3.0, "eve")]


async def test_program_without_approval_runs_once(tmp_path: Path) -> None:
    """The same call in another conversation is another run."""
    calls: list[str] = []

    def note(text: str) -> int:
        """Note something."""
        calls.append(text)
        return len(calls)

    with Toolkit([*shop([]), note], journal=tmp_path / "runs.db") as toolkit:
        results = [await run(export_tools(toolkit), program("print(note('a'))")) for _ in range(2)]
    assert [outputs(result) for result in results] == [["1\n"], ["2\n"]]


# Theirs in our toolkit ------------------------------------------------------------------------------------------------


@function_tool
def greet(ctx: RunContextWrapper[Any], name: str, times: int = 1) -> str:
    """Greet somebody."""
    return f"{ctx.context}: {'hello ' * times}{name}"


@function_tool(needs_approval=True)
async def wipe() -> str:
    """Wipe everything."""
    return "wiped"


@function_tool
def fail() -> str:
    """Fail."""
    message = "no such thing"
    raise LookupError(message)


def test_function_tools_run_in_a_program() -> None:
    with Toolkit([greet, fail], context="eve") as toolkit:
        assert toolkit.execute("print(greet('Ada'), greet(name='Bob', times=2))").output == (
            "eve: hello Ada eve: hello hello Bob\n"
        )
        assert "no such thing" in str(toolkit.execute("fail()").error)


def test_their_approval_is_asked_for() -> None:
    with Toolkit([wipe]) as toolkit:
        assert "wipe requires approval" in str(toolkit.execute("wipe()").error)
    with Toolkit([wipe], approve=lambda _: True) as toolkit:
        assert toolkit.execute("wipe()").return_value == "wiped"


async def test_their_tools_get_the_runs_context() -> None:
    with Toolkit([greet]) as toolkit:
        result = await run(export_tools(toolkit), program("print(greet('Ada'))"), context="ann")
    assert outputs(result) == ["ann: hello Ada\n"]


async def test_tool_given_directly_is_never_unguarded() -> None:
    effects: Effects = []
    with pytest.raises(Exception):  # noqa: B017, PT011 - the SDK refuses what is no tool of its own, in its own way
        await run([shop(effects)[1]], ("refund", {"customer": "Ada", "amount": 5}))
    assert effects == []
