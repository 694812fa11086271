"""Approval in LangChain's real agent loop and in graphs of one's own: what is asked, and what an answer does."""

import operator
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from ez_ptc import JournalError, Toolkit, ez_tool
from ez_ptc.integrations.langchain import answer, export_tools
from tests.integrations.frameworks.approvals.scenarios import SEEDS, Answers, Call, Question, Scenario
from tests.integrations.frameworks.shop import TWO_REFUNDS, Effects, shop
from tests.integrations.frameworks.test_langchain import CONFIG, GO, Scripted, agent, model, program, results

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("decision", "done"),
    [(True, [("Ada", 5.0, "eve")]), ("too much", []), ({"customer": "Bob", "amount": 1}, [("Bob", 1.0, "eve")])],
)
async def test_single_call_interrupts_for_approval(decision: object, done: Effects) -> None:
    effects: Effects = []
    runner = agent(export_tools(shop(effects)), ("refund", {"customer": "Ada", "amount": "5"}))
    [waiting] = (await runner.ainvoke(GO, CONFIG, context="eve"))["__interrupt__"]
    question = waiting.value
    assert (question["tool"], question["arguments"], effects) == ("refund", {"customer": "Ada", "amount": 5.0}, [])
    assert "amount = 5.0" in question["question"]
    state = await runner.ainvoke(Command(resume=answer(question, decision)), CONFIG, context="eve")
    assert (effects, state["messages"][-1].content) == (done, "done")
    assert results(state)[0][0] == ("success" if done else "error")


async def test_program_interrupts_at_each_approval(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        runner = agent(export_tools(toolkit), program(TWO_REFUNDS))
        state = await runner.ainvoke(GO, CONFIG, context="eve")
        shown: list[Any] = []
        while "__interrupt__" in state:
            [question] = state["__interrupt__"][0].value["pending"]
            shown.append(question["arguments"]["customer"])
            state = await runner.ainvoke(Command(resume=answer(question, decision=True)), CONFIG, context="eve")
    assert (shown, results(state)) == (["Ada", "Bob"], [("success", "refunded 3.0\nrefunded 6.0\n")])
    assert effects == [("Ada", 3.0, "eve"), ("Bob", 6.0, "eve")]


async def test_answer_that_says_not_what_is_asked_again(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        for tools, call in (
            (export_tools(toolkit), program("refund('Ada', 1)")),
            (export_tools(shop(effects)), ("refund", {"customer": "Ada", "amount": 1})),
        ):
            runner = agent(tools, call)
            state = await runner.ainvoke(GO, CONFIG, context="eve")
            first = state["__interrupt__"][0].value
            question = first.get("pending", [first])[0]
            wrong: list[object] = [
                True,
                "yes",
                {question["id"]: True},
                {**answer(question, decision=True), "digest": "0"},
            ]
            for value in wrong:
                state = await runner.ainvoke(Command(resume=value), CONFIG, context="eve")
                again = dict(state["__interrupt__"][0].value)
                assert again.pop("reason")
                assert again == first
            assert effects == []


async def test_run_belongs_to_the_context_it_began_with(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        runner = agent(export_tools(toolkit), program("refund('Ada', 1)"))
        state = await runner.ainvoke(GO, CONFIG, context="ann")
        [question] = state["__interrupt__"][0].value["pending"]
        with pytest.raises(JournalError, match="belongs to another principal or context"):
            await runner.ainvoke(Command(resume=answer(question, decision=True)), CONFIG, context="eve")
    assert effects == []


async def test_graph_that_cannot_wait_says_what_to_pass(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        for tools, call in (
            (export_tools(toolkit), program("refund('Ada', 1)")),
            (export_tools(shop(effects)), ("refund", {"customer": "Ada", "amount": 1})),
        ):
            runner = create_agent(model(call), tools=tools, context_schema=str)
            with pytest.raises(ValueError, match=r"checkpointer=.*thread_id"):
                await runner.ainvoke(GO, context="eve")
    assert effects == []


def tool_node(tools: list[Any]) -> Any:
    """Return a graph that runs all calls of a message in one task."""
    graph: Any = StateGraph(MessagesState, context_schema=str)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=InMemorySaver())


def message(*calls: Call) -> Any:
    items = [{"name": name, "args": arguments, "id": id_, "type": "tool_call"} for name, arguments, id_ in calls]
    return {"messages": [AIMessage("", tool_calls=items)]}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("amounts", [(1, 1000), (1000, 1), (1, 1, 1000), (1000, 2000)])
async def test_calls_of_one_message_are_decided_each(amounts: tuple[int, ...], *, is_async: bool) -> None:
    """No effect is made before all questions of the message are answered, so that none is repeated."""
    effects: Effects = []
    notes: list[str] = []

    @ez_tool
    def note(text: str) -> str:
        """Note something, without asking."""
        notes.append(text)
        return text

    graph = tool_node(export_tools([*shop(effects), note]))
    calls: list[Call] = [("note", {"text": "once"}, "c")]
    calls += [("refund", {"customer": "Ada", "amount": amount}, f"c{n}") for n, amount in enumerate(amounts)]
    go: Any = message(*calls)
    shown: list[float] = []
    for _ in range(len(amounts) + 1):
        state = await graph.ainvoke(go, CONFIG, context="eve") if is_async else graph.invoke(go, CONFIG, context="eve")
        if "__interrupt__" not in state:
            break
        question = state["__interrupt__"][0].value
        assert (effects, notes) == ([], [])
        shown.append(question["arguments"]["amount"])
        go = Command(resume=answer(question, shown[-1] < 100))
    assert shown == list(amounts)
    assert effects == [("Ada", amount, "eve") for amount in amounts if amount < 100]
    assert notes == ["once"]
    assert [status for status, _ in results(state)][1:] == [
        "success" if amount < 100 else "error" for amount in amounts
    ]


def test_calls_that_cannot_be_told_apart_are_not_run(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        refund: Any = ("refund", {"customer": "Ada", "amount": 1})
        for tools, calls in (
            (export_tools(shop(effects)), [(*refund, "c"), (*refund, "c")]),
            (export_tools(toolkit), [(*program("refund('Ada', 1)"), "c")] * 2),
            # The program may wait, and LangGraph would then repeat the other call.
            ([*export_tools(toolkit)], [(*program("refund('Ada', 1)"), "c")] * 2),
        ):
            state = tool_node(tools).invoke(message(*calls), CONFIG, context="eve")
            assert all("not run: two calls of one message have the id 'c'" in text for _, text in results(state))
    assert effects == []


async def test_verdict_of_a_predicate_counts_until_the_answer() -> None:
    effects: list[int] = []
    is_night = [True]

    @ez_tool(requires_approval=lambda _: is_night[0])
    def pay(amount: int) -> int:
        """Pay."""
        effects.append(amount)
        return amount

    for make in (lambda tools: agent(tools, ("pay", {"amount": 1000})), tool_node):
        for decision, done in ((False, []), ({"amount": 1}, [1])):
            effects.clear()
            is_night[0] = True
            runner = make(export_tools(pay))
            go = GO if make is not tool_node else message(("pay", {"amount": 1000}, "c"))
            state = await runner.ainvoke(go, CONFIG)
            is_night[0] = False
            state = await runner.ainvoke(Command(resume=True), CONFIG)
            assert effects == []
            question = state["__interrupt__"][0].value
            await runner.ainvoke(Command(resume=answer(question, decision)), CONFIG)
            assert effects == done


class Talk:
    """A principal's conversation, for the scenarios. All of them have the same thread id."""

    def __init__(self, tools: list[Any], name: str) -> None:
        self._context = name
        self._turns: list[AIMessage] = []
        self._graph = self._make(tools)
        self._state: Any = {"messages": []}
        self._resume: Any = None

    def _make(self, tools: list[Any]) -> Any:
        def answers() -> Iterator[AIMessage]:
            while True:
                yield self._turns.pop(0) if self._turns else AIMessage("done")

        scripted = Scripted(messages=answers())
        return create_agent(scripted, tools=tools, context_schema=str, checkpointer=InMemorySaver())

    async def say(self, calls: Sequence[Call]) -> None:
        self._turns = message(*calls)["messages"]
        self._state = await self._graph.ainvoke(GO, CONFIG, context=self._context)

    @property
    def questions(self) -> list[Question]:
        values = [item.value for item in self._state.get("__interrupt__", ())]
        return [question for value in values for question in value.get("pending", [value])]

    @property
    def results(self) -> list[str]:
        return [text for _, text in results(self._state)]

    async def answer(self, answers: Answers) -> None:
        said = [answer(question, is_approved) for question, is_approved in answers]
        resume = {item.id: said for item in self._state["__interrupt__"]}
        self._resume = self._graph.get_state(CONFIG).config, Command(resume=resume)
        self._state = await self._graph.ainvoke(self._resume[1], CONFIG, context=self._context)

    async def answer_again(self) -> None:
        config, resume = self._resume
        self._state = await self._graph.ainvoke(resume, config, context=self._context)

    async def answer_badly(self, others: list[Question]) -> None:
        said = [answer(question, decision=True) for question in others] or True
        resume = {item.id: said for item in self._state["__interrupt__"]}
        self._state = await self._graph.ainvoke(Command(resume=resume), CONFIG, context=self._context)
        assert all("reason" in item.value for item in self._state["__interrupt__"])


class NodeTalk(Talk):
    """The same with a graph whose one node runs all calls of a message, and whose messages have no ids."""

    def _make(self, tools: list[Any]) -> Any:
        def think(state: dict[str, Any]) -> dict[str, Any]:
            return {"messages": [self._turns.pop(0) if self._turns else AIMessage("done")]}

        def is_tool_use(state: dict[str, Any]) -> str:
            return "tools" if state["messages"][-1].tool_calls else END

        graph: Any = StateGraph(BareMessages, context_schema=str)
        graph.add_node("think", think)
        graph.add_node("tools", ToolNode(tools))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", is_tool_use, ["tools", END])
        graph.add_edge("tools", "think")
        return graph.compile(checkpointer=InMemorySaver())

    async def say(self, calls: Sequence[Call]) -> None:
        self._turns = message(*calls)["messages"]
        self._state = await self._graph.ainvoke({"messages": [HumanMessage("go")]}, CONFIG, context=self._context)


class BareMessages(TypedDict):
    """A state whose messages get no ids."""

    messages: Annotated[list[Any], operator.add]


@pytest.mark.parametrize("talk", [Talk, NodeTalk])
@pytest.mark.parametrize("seed", SEEDS)
async def test_answers_reach_their_calls_alone(seed: int, talk: type[Talk], tmp_path: Path) -> None:
    await Scenario(seed, tmp_path, export_tools, talk).run()


@pytest.mark.parametrize("is_async", [False, True])
async def test_predicate_is_asked_once_for_each_call_of_a_message(*, is_async: bool) -> None:
    verdicts: dict[int, list[Any]] = {1: [None, False, False], 2: [False, None], 3: [False, None]}
    paid: list[int] = []

    @ez_tool(requires_approval=lambda call: verdicts[call.arguments["amount"]].pop(0))
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    graph = tool_node(export_tools([pay]))
    go: Any = message(*[("pay", {"amount": amount}, f"c{amount}") for amount in verdicts])
    state = await graph.ainvoke(go, CONFIG, context="eve") if is_async else graph.invoke(go, CONFIG, context="eve")
    assert [status for status, _ in results(state)] == ["error", "success", "success"]
    assert (sorted(paid), [len(left) for left in verdicts.values()]) == ([2, 3], [2, 1, 1])
