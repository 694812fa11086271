"""Approval in Pydantic AI's real agent loop: what is asked, and what an answer does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ez_ptc import JournalError, Tool, Toolkit, ez_tool
from ez_ptc.integrations.pydantic_ai import export_tools
from tests.integrations.frameworks.approvals.scenarios import SEEDS, Answers, Call, Question, Scenario
from tests.integrations.frameworks.shop import TWO_REFUNDS, Effects, shop
from tests.integrations.frameworks.test_pydantic_ai import model, program, returned, run

pytestmark = pytest.mark.anyio


async def decide(first: Any, tools: list[Any], answer: Any, metadata: Any = None) -> Any:
    """Continue a run that was deferred, in a new agent as in another process."""
    approvals = {call.tool_call_id: answer for call in first.output.approvals}
    metadata = first.output.metadata if metadata is None else metadata
    results = DeferredToolResults(approvals=approvals, metadata=metadata)
    agent = Agent(model(), tools=tools, deps_type=str, output_type=[str, DeferredToolRequests])
    return await agent.run(message_history=first.all_messages(), deps="eve", deferred_tool_results=results)


async def test_single_call_is_deferred_for_approval() -> None:
    effects: Effects = []
    tools = export_tools(shop(effects))
    first = await run(tools, ("refund", {"customer": "Ada", "amount": "5"}))
    [metadata] = first.output.metadata.values()
    assert (effects, metadata["tool"], metadata["arguments"]) == ([], "refund", {"customer": "Ada", "amount": 5.0})
    assert "amount = 5.0" in metadata["question"]
    assert (await decide(first, tools, answer=True)).output == "done"
    assert effects == [("Ada", 5.0, "eve")]


async def test_denied_call_never_runs() -> None:
    effects: Effects = []
    tools = export_tools(shop(effects))
    first = await run(tools, ("refund", {"customer": "Ada", "amount": 5}))
    last = await decide(first, tools, ToolDenied("too much"))
    assert (effects, returned(last)[-1].content) == ([], "too much")


async def test_program_pauses_at_each_approval(tmp_path: Path) -> None:
    effects: Effects = []
    shown: list[Any] = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        tools = export_tools(toolkit)
        result = await run(tools, program(TWO_REFUNDS))
        while isinstance(result.output, DeferredToolRequests):
            [metadata] = result.output.metadata.values()
            shown.append([call["arguments"] for call in metadata["pending"]])
            result = await decide(result, tools, answer=True)
    assert shown == [[{"customer": "Ada", "amount": 3.0}], [{"customer": "Bob", "amount": 6.0}]]
    assert effects == [("Ada", 3.0, "eve"), ("Bob", 6.0, "eve")]
    assert returned(result)[-1].content == "refunded 3.0\nrefunded 6.0\n"


async def test_pending_calls_are_decided_one_by_one(tmp_path: Path) -> None:
    effects: Effects = []
    code = "try:\n    refund('Ada', 1)\nexcept ToolError as error:\n    print(error)\n"
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        first = await run(export_tools(toolkit), program(code))
        [(call_id, metadata)] = first.output.metadata.items()
        metadata["pending"][0]["decision"] = "not today"
        last = await decide(first, export_tools(toolkit), True, {call_id: metadata})
    assert effects == []
    assert "refund was not approved: not today" in str(returned(last)[-1].content)


async def test_approval_counts_only_for_what_was_shown(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "one.db") as toolkit:
        first = await run(export_tools(toolkit), program("refund('Ada', price('tea'))"))
    raised = Tool("price", "Look up a price.", price_schema(), lambda item: 1000.0)
    with Toolkit([raised, *shop(effects)[1:]], journal=tmp_path / "other.db") as toolkit:  # knows nothing of the run
        second = await decide(first, export_tools(toolkit), answer=True)
    assert isinstance(second.output, DeferredToolRequests)
    assert "about other arguments" in str(second.output.metadata)
    assert effects == []


def price_schema() -> dict[str, Any]:
    return {"type": "object", "properties": {"item": {"type": "string"}}}


async def test_approval_that_says_not_what_is_asked_again(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        for tools, call in (
            (export_tools(toolkit), program("refund('Ada', 1)")),
            (export_tools(shop(effects)), ("refund", {"customer": "Ada", "amount": 1})),
        ):
            first = await run(tools, call)
            [(call_id, question)] = first.output.metadata.items()
            for metadata in ({}, {call_id: {}}, {call_id: _forged(question)}):
                again = await decide(first, tools, True, metadata)
                assert isinstance(again.output, DeferredToolRequests)
                assert "metadata=requests.metadata" in again.output.metadata[call_id]["reason"]
    assert effects == []


def _forged(question: Any) -> Any:
    """Return a question about other arguments."""
    if "pending" in question:
        return {**question, "pending": [_forged(item) for item in question["pending"]]}
    return {**question, "digest": "0" * 64}


async def test_approval_with_other_arguments_runs_these() -> None:
    effects: Effects = []
    tools = export_tools(shop(effects))
    first = await run(tools, ("refund", {"customer": "Ada", "amount": 5}))
    await decide(first, tools, ToolApproved(override_args={"customer": "Bob", "amount": 1}))
    assert effects == [("Bob", 1.0, "eve")]


async def test_approval_with_another_program_asks_about_its_calls(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        tools = export_tools(toolkit)
        first = await run(tools, program("refund('Ada', 1)"))
        again = await decide(first, tools, ToolApproved(override_args={"code": "refund('Bob', 1000)"}))
    assert (effects, isinstance(again.output, DeferredToolRequests)) == ([], True)
    [metadata] = again.output.metadata.values()
    assert metadata["pending"][0]["arguments"]["customer"] == "Bob"


async def test_run_belongs_to_the_deps_it_began_with(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        tools = export_tools(toolkit)
        first = await run(tools, program("refund('Ada', 1)"), deps="ann")  # `decide` is eve's
        with pytest.raises(JournalError, match="belongs to another principal or context"):
            await decide(first, tools, answer=True)
    assert effects == []


async def test_verdict_of_a_predicate_counts_until_the_answer() -> None:
    effects: list[int] = []
    is_night = [True]

    @ez_tool(requires_approval=lambda _: is_night[0])
    def pay(amount: int) -> int:
        """Pay."""
        effects.append(amount)
        return amount

    tools = export_tools(pay)
    for answer, done in ((ToolDenied(), []), (ToolApproved(override_args={"amount": 1}), [1])):
        is_night[0] = True
        first = await run(tools, ("pay", {"amount": 1000}))
        is_night[0] = False
        again = await decide(first, tools, answer)
        assert again.output == "done" or effects == []
        assert effects == done


class Talk:
    """A principal's conversation, for the scenarios."""

    def __init__(self, tools: list[Any], name: str) -> None:
        self._calls: list[Call] = []
        model = FunctionModel(self._answer)
        self._agent = Agent(model, tools=tools, deps_type=str, output_type=[str, DeferredToolRequests])
        self._name = name
        self._run: Any = None
        self._resume: Any = None

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        calls, self._calls = self._calls, []
        parts = [ToolCallPart(tool, arguments, tool_call_id=call_id) for tool, arguments, call_id in calls]
        return ModelResponse(parts=parts or [TextPart("done")])

    async def say(self, calls: Sequence[Call]) -> None:
        self._calls = list(calls)
        history = None if self._run is None else self._run.all_messages()
        self._run = await self._agent.run("go", deps=self._name, message_history=history)

    @property
    def _requests(self) -> dict[str, Any]:
        return self._run.output.metadata if isinstance(self._run.output, DeferredToolRequests) else {}

    @property
    def questions(self) -> list[Question]:
        return [] if self._run is None else [q for item in self._requests.values() for q in item.get("pending", [item])]

    @property
    def results(self) -> list[str]:
        return [str(part.content) for part in returned(self._run)]

    async def answer(self, answers: Answers) -> None:
        for question, is_approved in answers:
            question["decision"] = is_approved
        metadata = self._requests
        approvals: dict[str, Any] = dict.fromkeys(metadata, True)
        self._resume = self._run.all_messages(), DeferredToolResults(approvals=approvals, metadata=metadata)
        await self.answer_again()

    async def answer_again(self) -> None:
        history, results = self._resume
        self._run = await self._agent.run(message_history=history, deps=self._name, deferred_tool_results=results)

    async def answer_badly(self, others: list[Question]) -> None:
        approvals: dict[str, Any] = dict.fromkeys(self._requests, True)
        metadata: Any = {call_id: {"pending": others} for call_id in approvals} if others else {}
        results = DeferredToolResults(approvals=approvals, metadata=metadata)
        history = self._run.all_messages()
        self._run = await self._agent.run(message_history=history, deps=self._name, deferred_tool_results=results)
        assert all("reason" in item for item in self._requests.values())


@pytest.mark.parametrize("seed", SEEDS)
async def test_answers_reach_their_calls_alone(seed: int, tmp_path: Path) -> None:
    await Scenario(seed, tmp_path, export_tools, Talk).run()


async def test_repeated_call_id_is_another_call(tmp_path: Path) -> None:
    effects: list[str] = []

    def buy() -> str:
        """Buy."""
        effects.append("bought")
        return f"bought {len(effects)}"

    with Toolkit([buy], journal=tmp_path / "runs.db") as toolkit:
        talk = Talk(export_tools(toolkit), "eve")
        for _ in range(2):
            await talk.say([("execute_tools", {"code": "print(buy())"}, "call_0")])
    assert talk.results == ["bought 1\n", "bought 2\n"]
