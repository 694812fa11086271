"""Pydantic AI's real agent loop over its own test double, in both directions and in a code mode."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    RunContext,
)
from pydantic_ai import Tool as TheirTool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from ez_ptc import Context, SchemaError, Toolkit, ez_tool
from ez_ptc.integrations.code_modes.pydantic_ai import CodeMode
from ez_ptc.integrations.pydantic_ai import CallProgressed, ProgramCallEnded, ProgramCallStarted, export_tools

pytestmark = pytest.mark.anyio

Effects = list[tuple[object, ...]]


def model(*turns: tuple[str, dict[str, Any]]) -> FunctionModel:
    """Return a model that makes these calls, one a turn, and then says "done"."""
    waiting = list(turns)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if not waiting:
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = waiting.pop(0)
        return ModelResponse(parts=[ToolCallPart(name, arguments)])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if waiting:
            name, arguments = waiting.pop(0)
            yield {0: DeltaToolCall(name, json.dumps(arguments))}
        else:
            yield "done"

    return FunctionModel(answer, stream_function=stream)


def program(code: str) -> tuple[str, dict[str, Any]]:
    return "execute_tools", {"code": code}


def returned(run: Any) -> list[ToolReturnPart]:
    return [part for message in run.all_messages() for part in message.parts if isinstance(part, ToolReturnPart)]


# As a plain name, for type checkers know only that it marks parameters.
any_context: Any = Context


def shop(effects: Effects) -> list[Any]:
    @ez_tool(read_only=True)
    def price(item: str) -> float:
        """Look up a price."""
        any_context.progress(1, message=item)
        return float(len(item))

    @ez_tool(requires_approval=True)
    async def refund(customer: str, amount: float, user: Context[str]) -> str:
        """Refund a customer."""
        effects.append((customer, amount, user))
        return f"refunded {amount}"

    return [price, refund]


async def run(tools: list[Any], *turns: tuple[str, dict[str, Any]], deps: str = "eve", **options: Any) -> Any:
    agent = Agent(model(*turns), tools=tools, deps_type=str, output_type=[str, DeferredToolRequests])
    return await agent.run("go", deps=deps, **options)


# Ours in their agent --------------------------------------------------------------------------------------------------


async def test_toolkit_runs_programs_in_their_agent() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        finished = await run(export_tools(toolkit), program("print(price('tea') + price('milk'))"))
    assert (finished.output, returned(finished)[0].content) == ("done", "7.0\n")


async def test_failed_program_is_marked_as_failure() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        finished = await run(export_tools(toolkit), program("price('tea') / 0"))
    [part] = returned(finished)
    assert part.outcome == "failed"
    assert "ZeroDivisionError" in str(part.content)


async def test_wrong_arguments_are_marked_as_failure() -> None:
    finished = await run(export_tools(shop([])[0]), ("price", {"itme": "tea"}))
    [part] = returned(finished)
    assert part.outcome == "failed"
    assert "itme" in str(part.content)


async def test_context_is_deps_unless_given() -> None:
    effects: Effects = []
    for options in ({}, {"context": "ann"}):
        tools = export_tools(shop(effects)[1], approve=lambda _: True, **options)
        assert "user" not in tools[0].function_schema.json_schema["properties"]
        await run(tools, ("refund", {"customer": "Ada", "amount": "5"}))
    assert effects == [("Ada", 5.0, "eve"), ("Ada", 5.0, "ann")]


def test_programs_without_anyone_to_ask_are_refused() -> None:
    with Toolkit(shop([])) as toolkit, pytest.raises(ValueError, match="expected an approver for refund"):
        export_tools(toolkit)
    with pytest.raises(ValueError, match="expected a toolkit or tools, got none"):
        export_tools([])


async def test_calls_of_programs_are_events() -> None:
    events: list[Any] = []

    async def listen(_: Any, stream: Any) -> None:
        events.extend([event async for event in stream])

    with Toolkit([shop([])[0]]) as toolkit:
        await run(export_tools(toolkit), program("price('tea')"), event_stream_handler=listen)
    kinds = ProgramCallStarted | CallProgressed | ProgramCallEnded
    started, progressed, ended = (event for event in events if isinstance(event, kinds))
    assert (progressed.id, progressed.tool, progressed.done, progressed.message) == (started.id, "price", 1, "tea")
    assert (started.tool, started.args, started.tool_name) == ("price", ["tea"], "execute_tools")
    assert (ended.id, ended.result, ended.error) == (started.id, 3.0, None)


async def test_progress_of_a_single_call_is_an_event() -> None:
    events: list[Any] = []

    async def listen(_: Any, stream: Any) -> None:
        events.extend([event async for event in stream])

    await run(export_tools(shop([])[0]), ("price", {"item": "tea"}), event_stream_handler=listen)
    [progressed] = (event for event in events if isinstance(event, CallProgressed))
    assert (progressed.tool, progressed.tool_name, progressed.done) == ("price", "price", 1)


@pytest.mark.parametrize("name", ["price", "refund"])
async def test_tool_given_directly_is_never_unguarded(name: str) -> None:
    effects: Effects = []
    [tool] = [tool for tool in shop(effects) if tool.name == name]
    agent = Agent(model((name, {"item": "tea"} if name == "price" else {"customer": "Ada", "amount": 5})), tools=[tool])
    if name == "price":
        assert returned(await agent.run("go"))[0].content == 3.0
        return
    with pytest.raises(Exception, match=r"no approver is set|user"):
        await agent.run("go")
    assert effects == []


# Theirs in our toolkit ------------------------------------------------------------------------------------------------


def toolset() -> FunctionToolset[Any]:
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool
    async def greet(ctx: RunContext[Any], name: str, times: int = 1) -> str:
        """Greet somebody.

        Args:
            name: Who.
            times: How often.
        """
        return f"{ctx.deps}: {'hello ' * times}{name}"

    @tools.tool_plain(requires_approval=True)
    def wipe() -> str:
        """Wipe everything."""
        return "wiped"

    @tools.tool_plain
    def ask() -> str:
        """Ask somebody."""
        raise ApprovalRequired

    @tools.tool_plain
    def defer() -> str:
        """Do it elsewhere."""
        raise CallDeferred

    return tools


def test_toolset_runs_in_a_program() -> None:
    with Toolkit([toolset()], context="eve") as toolkit:
        assert toolkit.get_tool("greet").signature.startswith("greet(name: str, times: int = 1)")
        result = toolkit.execute("print(greet('Ada'), greet(name='Bob', times=2))")
    assert result.output == "eve: hello Ada eve: hello hello Bob\n"


def test_their_approval_is_asked_for() -> None:
    with Toolkit([toolset()]) as toolkit:
        assert "wipe requires approval" in str(toolkit.execute("wipe()").error)
    with Toolkit([toolset()], approve=lambda _: True) as toolkit:
        assert toolkit.execute("wipe()").return_value == "wiped"
        for name in ("ask", "defer"):
            assert f"{name} cannot be deferred within a program" in str(toolkit.execute(f"{name}()").error)


def test_single_tool_of_theirs_is_taken() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    with Toolkit([TheirTool(add)]) as toolkit:
        assert toolkit.execute("add(1, 2)").return_value == 3
        assert "add" in str(toolkit.execute("add('x', 2)").error)


def test_empty_toolset_is_refused() -> None:
    with pytest.raises(SchemaError, match="expected at least one tool, got an empty FunctionToolset"):
        Toolkit([FunctionToolset()])


async def test_their_tools_get_their_run_context_in_their_agent() -> None:
    with Toolkit([toolset()], approve=lambda _: True) as toolkit:
        finished = await run(export_tools(toolkit), program("print(greet('Ada'))"), deps="ann")
    assert returned(finished)[0].content == "ann: hello Ada\n"


# Our sandbox as their code mode ---------------------------------------------------------------------------------------


def agent_with_tools(mode: CodeMode, *turns: tuple[str, dict[str, Any]]) -> Agent[Any, Any]:
    return Agent(model(*turns), toolsets=[toolset()], capabilities=[mode], output_type=[str, DeferredToolRequests])


async def test_code_mode_runs_programs_over_the_agents_tools() -> None:
    mode = CodeMode()
    for user in ("eve", "ann"):
        agent = agent_with_tools(mode, program("import statistics\nprint(greet('Ada'), statistics.mean([1, 3]))"))
        finished = await agent.run("go", deps=user)
        assert returned(finished)[0].content == f"{user}: hello Ada 2\n"


async def test_code_mode_leaves_approvals_to_the_framework() -> None:
    agent = agent_with_tools(CodeMode(), ("wipe", {}))
    assert isinstance((await agent.run("go")).output, DeferredToolRequests)


async def test_code_mode_with_journal_pauses_for_approvals(tmp_path: Path) -> None:
    mode = CodeMode({"journal": tmp_path / "runs.db"})
    agent = agent_with_tools(mode, program("print(wipe())"))
    first = await agent.run("go")
    approvals = {call.tool_call_id: True for call in first.output.approvals}
    results = DeferredToolResults(approvals=approvals, metadata=first.output.metadata)
    last = await agent.run(message_history=first.all_messages(), deferred_tool_results=results)
    assert returned(last)[-1].content == "wiped\n"


def test_exported_tools_may_come_back_to_a_toolkit() -> None:
    effects: Effects = []
    exported = export_tools(Toolkit(shop(effects)[:1]))
    exported += export_tools(shop(effects), context="eve", approve=lambda _: True)
    with Toolkit(exported) as toolkit:
        result = toolkit.execute("print(execute_tools(code=\"print(price('tea'))\"), refund('Ada', 5))")
    assert result.output.split() == ["3.0", "refunded", "5.0"]
    assert effects == [("Ada", 5.0, "eve")]


def test_toolkit_passed_as_a_tool_says_what_to_pass() -> None:
    with Toolkit([len]) as toolkit, pytest.raises(TypeError, match=r"export_tools\(toolkit\)"):
        Agent(tools=[toolkit])


def test_spans_of_its_agent_and_our_conversation_are_one_tree(repository: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    pytest.importorskip("mcp")
    from tests.telemetry.receiver import receiver

    with receiver() as received:
        command = [sys.executable, "-m", "tests.telemetry.scenario", received.endpoint]
        subprocess.run(command, check=True, timeout=120, cwd=repository)
    children = received.parents()
    assert children[""].count("invoke_agent") == 1
    assert "unknown" not in children
    assert children["execute_tool ask_framework"] == ["invoke_agent agent"]
    assert "execute_tool execute_tools" in children["invoke_agent agent"]
