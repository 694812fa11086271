"""LangChain's real agent loop on LangGraph over its own fake model, in all directions."""

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, InjectedToolArg, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from ez_ptc import SchemaError, Toolkit
from ez_ptc.integrations.code_modes.langchain import CodeMode
from ez_ptc.integrations.langchain import export_tools
from tests.integrations.frameworks.shop import Effects, shop

pytestmark = pytest.mark.anyio

CONFIG: Any = {"configurable": {"thread_id": "1"}}


class Scripted(GenericFakeChatModel):
    """The fake model, which can be told of tools."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def model(*turns: tuple[str, dict[str, Any]]) -> Scripted:
    calls = [
        AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{number}", "type": "tool_call"}])
        for number, (name, arguments) in enumerate(turns)
    ]
    return Scripted(messages=iter([*calls, AIMessage("done")]))


def agent(tools: list[Any], *turns: tuple[str, dict[str, Any]], **options: Any) -> Any:
    return create_agent(model(*turns), tools=tools, context_schema=str, checkpointer=InMemorySaver(), **options)


def program(code: str) -> tuple[str, dict[str, Any]]:
    return "execute_tools", {"code": code}


GO: Any = {"messages": "go"}


def results(state: Any) -> list[tuple[str, str]]:
    return [(message.status, message.content) for message in state["messages"] if message.type == "tool"]


# Ours in their agent --------------------------------------------------------------------------------------------------


async def test_toolkit_runs_programs_in_their_agent() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        for call in ("invoke", "ainvoke"):
            runner = agent(export_tools(toolkit), program("print(price('tea') + price('milk'))"))
            state = getattr(runner, call)(GO, CONFIG)
            state = await state if call == "ainvoke" else state
            assert results(state) == [("success", "7.0\n")]
            assert state["messages"][-1].content == "done"


async def test_progress_is_in_the_custom_stream_of_the_graph() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        tools = [*export_tools(toolkit), *export_tools(shop([])[0])]
        for runner in (agent(tools, program("price('tea')"), ("price", {"item": "milk"})) for _ in range(2)):
            pieces = [piece async for piece in runner.astream(GO, CONFIG, stream_mode="custom")]
            reports = [piece["ez_ptc_call_progress"] for piece in pieces]
            assert [(report["tool"], report["message"]) for report in reports] == [("price", "tea"), ("price", "milk")]


async def test_failures_are_marked() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        tools = [*export_tools(toolkit), *export_tools(shop([])[0])]
        state = await agent(tools, program("price('tea') / 0"), ("price", {"itme": 1})).ainvoke(GO, CONFIG)
    [(first, text), (second, problem)] = results(state)
    assert (first, second) == ("error", "error")
    assert "ZeroDivisionError" in text
    assert "itme" in problem


async def test_async_tool_returns_its_result() -> None:
    effects: Effects = []
    tools = export_tools(shop(effects)[1], approve=lambda _: True)
    for call in ("invoke", "ainvoke"):
        state = getattr(agent(tools, ("refund", {"customer": "Ada", "amount": "5"})), call)(GO, CONFIG, context="eve")
        state = await state if call == "ainvoke" else state
        assert results(state) == [("success", "refunded 5.0")]
    assert effects == [("Ada", 5.0, "eve")] * 2


class Listener(AsyncCallbackHandler):
    """Keeps the events of programs."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    async def on_custom_event(self, name: str, data: Any, **details: Any) -> None:
        self.events.append((name, data["tool"], data.get("result")))


async def test_calls_of_programs_are_events() -> None:
    listener = Listener()
    with Toolkit([shop([])[0]]) as toolkit:
        runner = agent(export_tools(toolkit), program("price('tea')"))
        await runner.ainvoke(GO, {**CONFIG, "callbacks": [listener]})
    progress = ("ez_ptc_call_progress", "price", None)
    assert listener.events == [("ez_ptc_call_started", "price", None), progress, ("ez_ptc_call_ended", "price", 3.0)]
    listener.events.clear()
    runner = agent(export_tools(shop([])[0]), ("price", {"item": "tea"}))
    await runner.ainvoke(GO, {**CONFIG, "callbacks": [listener]})
    assert listener.events == [progress]


async def test_tool_given_directly_is_never_unguarded() -> None:
    effects: Effects = []
    runner = create_agent(model(("refund", {"customer": "Ada", "amount": 5})), tools=[shop(effects)[1]])
    with pytest.raises(Exception, match=r"user|no approver is set"):
        await runner.ainvoke(GO)
    assert effects == []


# Theirs in our toolkit ------------------------------------------------------------------------------------------------


@tool
def greet(name: str, runtime: ToolRuntime[str, Any], times: int = 1) -> str:
    """Greet somebody."""
    return f"{runtime.context}: {'hello ' * times}{name}"


@tool
async def ask(question: str) -> str:
    """Ask a person."""
    return interrupt(question)


class Divide(BaseTool):
    """A tool as a class, of which some are synchronous only."""

    name: str = "divide"
    description: str = "Divide one number by another."

    def _run(self, one: int, other: int) -> float:
        return one / other


def test_their_tools_run_in_a_program() -> None:
    with Toolkit([greet, Divide()], context="eve") as toolkit:
        assert toolkit.get_tool("greet").signature == "greet(name: str, times: int = 1)"
        result = toolkit.execute("print(greet('Ada'), greet(name='Bob', times=2), divide(3, 2))")
        assert result.output == "eve: hello Ada eve: hello hello Bob 1.5\n"
        assert "division by zero" in str(toolkit.execute("divide(1, 0)").error)
        assert "times" in str(toolkit.execute("greet('Ada', times='many')").error)


def test_other_injections_are_refused() -> None:
    @tool
    def secret(name: str, key: Annotated[str, InjectedToolArg]) -> str:
        """Use a secret."""
        return key + name

    with pytest.raises(
        SchemaError, match="secret: key cannot be injected in a program: take it from a parameter runtime"
    ):
        Toolkit([secret])


async def test_their_tools_get_their_runtime_and_may_interrupt() -> None:
    with Toolkit([greet, ask]) as toolkit:
        runner = agent(export_tools(toolkit), program("print(greet('Ada'), ask('why?'))"))
        first = await runner.ainvoke(GO, CONFIG, context="ann")
        assert first["__interrupt__"][0].value == "why?"
        state = await runner.ainvoke(Command(resume="because"), CONFIG, context="ann")
    assert results(state) == [("success", "ann: hello Ada because\n")]


# Our sandbox as their code mode ---------------------------------------------------------------------------------------


async def test_code_mode_is_a_middleware() -> None:
    code = "import statistics\nprint(divide(3, 2), statistics.mean([1, 3]))"
    state = await agent([], program(code), middleware=[CodeMode([Divide()])]).ainvoke(GO, CONFIG)
    assert results(state) == [("success", "1.5 2\n")]


def test_toolkit_passed_as_a_tool_says_what_to_pass() -> None:
    with Toolkit([len]) as toolkit, pytest.raises(TypeError, match=r"export_tools\(toolkit\)"):
        create_agent(Scripted(messages=iter([])), tools=[toolkit])
