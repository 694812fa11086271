"""The OpenAI Agents SDK's real agent loop over a model of ours, in both directions."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, RunContextWrapper, Runner, RunState, Usage, function_tool
from agents.exceptions import UserError
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.tracing import TracingProcessor, set_trace_processors
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from ez_ptc import Toolkit, ez_tool
from ez_ptc.integrations.openai_agents import export_tools, question_of
from tests.integrations.frameworks.approvals.scenarios import SEEDS, Answers, Call, Question, Scenario
from tests.integrations.frameworks.shop import TWO_REFUNDS, Effects, shop

pytestmark = pytest.mark.anyio


class Scripted(Model):
    """Makes these calls, one or a list of them with their ids a turn, and then says "done"."""

    def __init__(self, *turns: tuple[str, Any]) -> None:
        self.turns: list[Any] = list(turns)
        self.count = 0

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.count += 1
        if self.turns:
            turn = self.turns.pop(0)
            calls = turn if isinstance(turn, list) else [(*turn, f"call_{self.count}")]
            items: list[Any] = [
                ResponseFunctionToolCall(
                    call_id=call_id, name=name, arguments=json.dumps(arguments), type="function_call"
                )
                for name, arguments, call_id in calls
            ]
        else:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            items = [
                ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
            ]
        return ModelResponse(output=items, usage=Usage(), response_id=None)

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


def test_exported_tools_may_come_back_to_a_toolkit() -> None:
    effects: Effects = []
    exported = export_tools(Toolkit(shop(effects)[:1]))
    exported += export_tools(shop(effects), context="eve", approve=lambda _: True)
    with Toolkit(exported) as toolkit:
        result = toolkit.execute("print(execute_tools(code=\"print(price('tea'))\"), refund('Ada', 5))")
    assert (result.error, result.output.split()) == (None, ["3.0", "refunded", "5.0"])
    assert effects == [("Ada", 5.0, "eve")]


def test_arguments_that_strict_mode_requires_may_be_omitted() -> None:
    @function_tool
    def find(name: str, city: str | None, limit: int = 3) -> str:
        """Find people."""
        return f"{name} {city} {limit}"

    with Toolkit([find]) as toolkit:
        result = toolkit.execute("print(find('Ada'), find('Ada', city='Oslo'), find('Ada', None, 4), sep='; ')")
    assert (result.error, result.output) == (None, "Ada None 3; Ada Oslo 3; Ada None 4\n")


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


async def test_each_call_of_a_program_is_asked_about(tmp_path: Path) -> None:
    effects: Effects = []
    shown: list[Any] = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        tools = export_tools(toolkit)
        result = await run(tools, program(TWO_REFUNDS))
        while result.interruptions:
            [question] = [question_of(item) for item in result.interruptions]
            assert "customer = " in question["question"]
            shown.append((question["tool"], question["arguments"]))
            result = await approve_all(result, tools)
    assert shown == [("refund", {"customer": "Ada", "amount": 3.0}), ("refund", {"customer": "Bob", "amount": 6.0})]
    assert effects == [("Ada", 3.0, "eve"), ("Bob", 6.0, "eve")]
    assert outputs(result)[-1] == "refunded 3.0\nrefunded 6.0\n"


async def test_rejected_call_of_a_program_is_an_error_in_it(tmp_path: Path) -> None:
    effects: Effects = []
    code = "try:\n    refund('Ada', 1)\nexcept ToolError as error:\n    print(error)\nprint(refund('Bob', 2))"
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        tools = export_tools(toolkit)
        first = await run(tools, program(code))
        state = first.to_state()
        state.reject(state.get_interruptions()[0], rejection_message="not today")
        second = await Runner.run(Agent("shop", model=Scripted(), tools=tools), state)
        last = await approve_all(second, tools)
    assert outputs(last)[-1] == "refund was not approved: not today\nrefunded 2.0\n"
    assert effects == [("Bob", 2.0, "eve")]


async def test_run_belongs_to_the_context_it_began_with(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        tools = export_tools(toolkit)
        first = await run(tools, program("refund('Ada', 1)"), context="ann")  # `approve_all` is eve's
        with pytest.raises(Exception, match="belongs to another principal or context"):
            await approve_all(first, tools)
    assert effects == []


async def test_configuration_of_the_run_leaves_programs_alone(tmp_path: Path, spans: Spans) -> None:
    """A model for all agents is none for the program, and data that must not be traced are not."""
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        agent = Agent("shop", tools=export_tools(toolkit))
        config = RunConfig(model=Scripted(program("refund('Ada', 1234567)")), trace_include_sensitive_data=False)
        first = await Runner.run(agent, "go", context="eve", run_config=config)
        state = first.to_state()
        state.approve(state.get_interruptions()[0])
        last = await Runner.run(agent, state, run_config=config)
    assert (last.final_output, effects) == ("done", [("Ada", 1234567.0, "eve")])
    gates = [span for span in spans.ended if getattr(span.span_data, "name", "") == "refund"]
    assert gates[0].span_data.input is None


async def test_changed_question_decides_nothing(tmp_path: Path) -> None:
    """A saved state whose pending call has other arguments than those that would run."""
    effects: Effects = []
    with Toolkit(shop(effects), journal=tmp_path / "runs.db") as toolkit:
        tools = export_tools(toolkit)
        first = await run(tools, program("refund('Ada', 1000)"))
        digest = question_of(first.interruptions[0])["digest"]
        saved = json.dumps(first.to_state().to_json()).replace(digest, "0" * 64)
        agent = Agent("shop", model=Scripted(), tools=tools)
        state = await RunState.from_json(agent, json.loads(saved), context_override=RunContextWrapper("eve"))
        for item in state.get_interruptions():
            state.approve(item)
        again = await Runner.run(agent, state)
    assert effects == []
    assert [question_of(item)["digest"] for item in again.interruptions] == [digest]


class Talk:
    """A principal's conversation, for the scenarios, each turn of it in another process."""

    def __init__(self, tools: list[Any], name: str) -> None:
        self._model = Scripted()
        self._agent = Agent("shop", model=self._model, tools=tools)
        self._name = name
        self._result: Any = None
        self._saved: Any = None
        self._told: list[str] = []

    async def say(self, calls: Sequence[Call]) -> None:
        self._told = self.results
        self._model.turns.append(calls)
        history: list[Any] = [] if self._result is None else self._result.to_input_list()
        history = [item for item in history if item.get("type") not in {"function_call", "function_call_output"}]
        self._result = await Runner.run(self._agent, [*history, {"role": "user", "content": "go"}], context=self._name)

    @property
    def questions(self) -> list[Question]:
        return [] if self._result is None else [question_of(item) for item in self._result.interruptions]

    @property
    def results(self) -> list[str]:
        return [*self._told, *([] if self._result is None else outputs(self._result))]

    async def answer(self, answers: Answers) -> None:
        said = {question["id"]: is_approved for question, is_approved in answers}
        self._saved = self._result.to_state().to_json(), said
        await self.answer_again()

    async def answer_again(self) -> None:
        saved, said = self._saved
        context: Any = RunContextWrapper(self._name)
        state = await RunState.from_json(self._agent, saved, context_override=context)
        items = {question_of(item)["id"]: item for item in state.get_interruptions()}
        for id_, is_approved in said.items():
            (state.approve if is_approved else state.reject)(items[id_])
        self._result = await Runner.run(self._agent, state)

    async def answer_badly(self, others: list[Question]) -> None:
        del others  # an answer is part of the state of its own run
        before = self.questions
        self._result = await Runner.run(self._agent, self._result.to_state())
        assert {question["id"] for question in self.questions} == {question["id"] for question in before}


@pytest.mark.parametrize("seed", SEEDS)
async def test_answers_reach_their_calls_alone(seed: int, tmp_path: Path) -> None:
    await Scenario(seed, tmp_path, export_tools, Talk).run()


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


async def test_toolkit_as_a_tool_is_refused_by_a_model_of_the_sdk() -> None:
    client = AsyncOpenAI(api_key="key", base_url="http://127.0.0.1:9/v1", max_retries=0)
    model = OpenAIChatCompletionsModel("m", client)
    with Toolkit([greet]) as toolkit, pytest.raises(UserError, match="Toolkit"):
        await Runner.run(Agent("shop", model=model, tools=cast("Any", [toolkit])), "go")


def test_deeply_nested_arguments_are_asked_about_as_text() -> None:
    arguments = "[" * 5_000 + "]" * 5_000
    question = question_of(SimpleNamespace(call_id="call_1", name="pay", arguments=arguments))
    assert question["arguments"] == {"arguments": arguments}


async def test_predicate_is_asked_once_for_each_call() -> None:
    verdicts: list[Any] = [None, False, False, False]
    paid: list[int] = []

    @ez_tool(requires_approval=lambda _: verdicts.pop(0))
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    refused, *others = outputs(await run(export_tools([pay]), *[("pay", {"amount": number}) for number in range(3)]))
    assert "to return True or False, got None" in refused
    assert (others, paid, verdicts) == (["paid", "paid"], [1, 2], [False])
