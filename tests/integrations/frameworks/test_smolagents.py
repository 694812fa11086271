"""smolagents' real agent loops over models of ours, in all directions."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from smolagents import ChatMessage, CodeAgent, MessageRole, Model, Tool, ToolCallingAgent, tool
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from ez_ptc import Toolkit
from ez_ptc.integrations.code_modes.smolagents import SandboxExecutor
from ez_ptc.integrations.smolagents import export_tools
from tests.integrations.frameworks.shop import Effects, shop


class Scripted(Model):
    """Makes these calls, or writes these programs, one a turn."""

    def __init__(self, *turns: Any) -> None:
        super().__init__(model_id="scripted")
        self.turns = list(turns)
        self.seen: list[str] = []

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        self.seen.append(str(messages[-1].content))
        turn = self.turns.pop(0) if self.turns else ("final_answer", {"answer": "done"})
        if isinstance(turn, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=f"Thought: go\n<code>\n{turn}\n</code>")
        function = ChatMessageToolCallFunction(name=turn[0], arguments=json.dumps(turn[1]))
        call = ChatMessageToolCall(function=function, id="call", type="function")
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])


@pytest.fixture
def executor() -> Iterator[SandboxExecutor]:
    executor = SandboxExecutor()
    yield executor
    executor.cleanup()


def observations(agent: Any) -> list[str]:
    steps = [step for step in agent.memory.steps if hasattr(step, "observations")]
    return [f"{step.observations or ''}{step.error or ''}" for step in steps]


# Ours in their agent --------------------------------------------------------------------------------------------------


def test_toolkit_runs_programs_in_their_agent() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        code = "print(price('tea') + price('milk'))"
        agent = ToolCallingAgent(export_tools(toolkit), Scripted(("execute_tools", {"code": code})), verbosity_level=0)
        assert agent.run("go") == "done"
    assert "7.0" in observations(agent)[0]


def test_failed_program_is_an_error_of_the_step() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        model = Scripted(("execute_tools", {"code": "price('tea') / 0"}))
        agent = ToolCallingAgent(export_tools(toolkit), model, verbosity_level=0)
        assert agent.run("go") == "done"
    assert "ZeroDivisionError" in str(agent.memory.steps[1].error)


def test_single_tools_keep_approval_and_context() -> None:
    effects: Effects = []
    with pytest.raises(ValueError, match="smolagents has no approval of its own"):
        export_tools(shop(effects))
    tools = export_tools(shop(effects), context="eve", approve=lambda call: call.arguments["amount"] < 10)
    calls = [("refund", {"customer": "Ada", "amount": amount}) for amount in (5, 500)]
    agent = ToolCallingAgent(tools, Scripted(*calls), verbosity_level=0)
    assert agent.run("go") == "done"
    assert effects == [("Ada", 5.0, "eve")]
    assert "refund was not approved" in observations(agent)[1]


# Theirs in our toolkit ------------------------------------------------------------------------------------------------


@tool
def greet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Who.
        times: How often.
    """
    return f"{'hello ' * times}{name}"


class Divide(Tool):
    """A tool as a class."""

    name = "divide"
    description = "Divide one number by another."
    inputs = {"one": {"type": "integer", "description": "One."}, "other": {"type": "integer", "description": "Other."}}  # noqa: RUF012 - their way
    output_type = "number"

    def forward(self, one: int, other: int) -> float:
        return one / other


def test_their_tools_run_in_a_program() -> None:
    with Toolkit([greet, Divide()]) as toolkit:
        result = toolkit.execute("print(greet('Ada'), greet(name='Bob', times=2), divide(3, 2))")
        assert result.output == "hello Ada hello hello Bob 1.5\n"
        assert "division by zero" in str(toolkit.execute("divide(1, 0)").error)
        assert "one" in str(toolkit.execute("divide('x', 2)").error)


# Our sandbox as their code mode ---------------------------------------------------------------------------------------


def test_code_agent_runs_in_our_sandbox(executor: SandboxExecutor) -> None:
    model = Scripted(
        "a = divide(3, 2)\nprint(a)",
        "import os\ntry:\n    os.listdir('/')\nexcept OSError:\n    print('no files')",
        "final_answer(f'{greet(\"Ada\")} {a}')",
    )
    agent = CodeAgent([greet, Divide()], model, executor=executor, verbosity_level=0)
    assert agent.run("go") == "hello Ada 1.5"
    first, second, *_ = observations(agent)
    assert "1.5" in first
    assert "no files" in second


def test_failing_code_keeps_what_it_printed(executor: SandboxExecutor) -> None:
    agent = CodeAgent(
        [Divide()],
        Scripted("print('first')\ndivide(1, 0)", "final_answer('done')"),
        executor=executor,
        verbosity_level=0,
    )
    assert agent.run("go") == "done"
    [observed, *_] = observations(agent)
    assert "first" in observed
    assert "division by zero" in observed


def test_long_logs_are_bounded_and_read_by_the_next_step(executor: SandboxExecutor) -> None:
    steps = ("print('x' * 500_000)", "print('y' * 500_000)\n1 / 0", "final_answer(len(results['r1']))")
    agent = CodeAgent([], Scripted(*steps), executor=executor, verbosity_level=0)
    assert agent.run("go") == 500_001
    assert max(map(len, observations(agent))) < 65_000
    assert len(executor.state["_print_outputs"]) <= 30_000


def test_variables_of_the_agent_are_there(executor: SandboxExecutor) -> None:
    agent = CodeAgent([], Scripted("final_answer(sum(numbers))"), executor=executor, verbosity_level=0)
    assert agent.run("go", additional_args={"numbers": [1, 2, 3]}) == 6
