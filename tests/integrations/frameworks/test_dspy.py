"""DSPy's real modules over its own dummy model, in all directions."""

from collections.abc import Iterator
from typing import Any

import dspy
import pytest
from dspy.primitives.code_interpreter import CodeExecutionError, FinalOutput
from dspy.utils import DummyLM

from ez_ptc import Toolkit, ez_tool
from ez_ptc.errors import ToolError
from ez_ptc.integrations.code_modes.dspy import SandboxInterpreter
from ez_ptc.integrations.dspy import export_tools
from tests.integrations.frameworks.shop import Effects, shop


def model(*turns: dict[str, Any]) -> None:
    dspy.configure(lm=DummyLM(list(turns)), adapter=dspy.ChatAdapter())


@pytest.fixture
def interpreter() -> Iterator[SandboxInterpreter]:
    interpreter = SandboxInterpreter()
    yield interpreter
    interpreter.shutdown()


def turn(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"next_thought": "go", "next_tool_name": name, "next_tool_args": arguments}


LAST: list[dict[str, Any]] = [turn("finish", {}), {"reasoning": "done", "answer": "done"}]


# Ours in their agent --------------------------------------------------------------------------------------------------


def test_toolkit_runs_programs_in_react() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        model(turn("execute_tools", {"code": "print(price('tea') + price('milk'))"}), *LAST)
        prediction = dspy.ReAct("question -> answer", tools=export_tools(toolkit))(question="?")
    assert (prediction.answer, prediction.trajectory["observation_0"]) == ("done", "7.0\n")


def test_failures_are_marked_in_the_trajectory() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        model(turn("execute_tools", {"code": "price('tea') / 0"}), *LAST)
        prediction = dspy.ReAct("question -> answer", tools=export_tools(toolkit))(question="?")
    assert "Execution error" in prediction.trajectory["observation_0"]
    assert "ZeroDivisionError" in prediction.trajectory["observation_0"]


def test_single_tools_keep_approval_and_context() -> None:
    effects: Effects = []
    with pytest.raises(ValueError, match="DSPy has no approval of its own"):
        export_tools(shop(effects))
    tools = export_tools(shop(effects), context="eve", approve=lambda call: call.arguments["amount"] < 10)
    calls = [turn("refund", {"customer": "Ada", "amount": amount}) for amount in (5, 500)]
    model(*calls, *LAST)
    prediction = dspy.ReAct("question -> answer", tools=tools)(question="?")
    assert effects == [("Ada", 5.0, "eve")]
    assert "refund was not approved" in prediction.trajectory["observation_1"]


# Theirs in our toolkit ------------------------------------------------------------------------------------------------


def test_their_tools_run_in_a_program() -> None:
    def greet(name: str, times: int = 1) -> str:
        """Greet somebody."""
        return f"{'hello ' * times}{name}"

    async def divide(one: int, other: int) -> float:
        """Divide."""
        return one / other

    with Toolkit([dspy.Tool(greet), dspy.Tool(divide)]) as toolkit:
        result = toolkit.execute("print(greet(name='Ada'), greet('Bob', times=2), divide(3, 2))")
        assert result.output == "hello Ada hello hello Bob 1.5\n"
        assert "division by zero" in str(toolkit.execute("divide(1, 0)").error)


# Our sandbox as their code mode ---------------------------------------------------------------------------------------


def test_rlm_runs_in_our_sandbox() -> None:
    def price(item: str) -> float:
        """Look up a price."""
        return float(len(item))

    steps = ["total = price('tea') + len(text)\nprint(total)", "SUBMIT(str(total))"]
    model(*({"reasoning": "go", "code": f"```python\n{step}\n```"} for step in steps))
    rlm = dspy.RLM("text -> answer", tools=[price], interpreter_factory=SandboxInterpreter)
    assert rlm(text="four").answer == "7.0"


def test_interpreter_keeps_state_and_reports_errors(interpreter: SandboxInterpreter) -> None:
    assert interpreter.execute("a = b + 1\nprint(a)", {"b": 2}) == "3\n"
    assert interpreter.execute("a * 2") == 6
    with pytest.raises(CodeExecutionError, match="ZeroDivisionError"):
        interpreter.execute("a / 0")
    with pytest.raises(SyntaxError):
        interpreter.execute("a = (")
    assert interpreter.execute("SUBMIT(a)") == FinalOutput({"output": 3})


def test_long_output_is_bounded_and_read_by_the_next_code(interpreter: SandboxInterpreter) -> None:
    assert len(interpreter.execute("print('x' * 500_000)")) <= 30_000
    assert interpreter.execute("len(results['r1'])") == 500_001
    with pytest.raises(CodeExecutionError) as raised:
        interpreter.execute("print('x' * 500_000)\nraise ValueError('y' * 500_000)")
    assert len(str(raised.value)) <= 30_000


def test_toolkit_passed_as_a_tool_says_what_to_pass() -> None:
    with Toolkit([len]) as toolkit, pytest.raises(TypeError, match=r"export_tools\(toolkit\)"):
        dspy.ReAct("question -> answer", tools=[toolkit])


def test_single_tool_is_a_function_with_its_approval() -> None:
    effects: Effects = []

    @ez_tool(requires_approval=True)
    def wipe(disk: str) -> None:
        """Wipe a disk."""
        effects.append((disk,))

    price = shop(effects)[0]
    assert dspy.Tool(price)(item="tea") == 3.0
    with pytest.raises(ToolError, match="requires approval"):
        dspy.Tool(wipe)(disk="all")
    assert effects == []


def test_exported_toolkit_comes_back_with_its_optional_arguments() -> None:
    def scale(factor: float = 2.0, *, note: str | None = None) -> str:
        """Scale."""
        return f"{factor} {note}"

    with Toolkit(shop([])[:1]) as inner, Toolkit([*export_tools(inner), dspy.Tool(scale)]) as outer:
        assert outer.execute("print(execute_tools(code='print(5)'))").output.startswith("5\n")
        assert outer.execute("print(scale())").output == "2.0 None\n"


def test_arguments_of_a_function_that_takes_any_are_optional() -> None:
    def search(**arguments: object) -> str:
        """Search."""
        return str(arguments)

    tool = dspy.Tool(search, args={"query": {"type": "string"}, "limit": {"type": "integer"}})
    with Toolkit([tool]) as toolkit:
        assert toolkit.execute("print(search(query='tea'))").output == "{'query': 'tea'}\n"
