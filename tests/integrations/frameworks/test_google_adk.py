"""Google ADK's real runner over a scripted model, in both directions."""

import itertools
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, ToolContext
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types

from ez_ptc import Context, Toolkit, ez_tool
from ez_ptc.integrations.google_adk import export_tools
from tests.integrations.frameworks.approvals.scenarios import SEEDS, Answers, Call, Question, Scenario
from tests.integrations.frameworks.shop import TWO_REFUNDS, Effects, shop

pytestmark = pytest.mark.anyio


class Scripted(BaseLlm):
    """Makes these calls, one or a list of them with their ids a turn, and then says "done"."""

    turns: Any = ()
    numbers: Any = itertools.count()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [types.Part(text="done")]
        if self.turns:
            turn = self.turns.pop(0)
            calls = turn if isinstance(turn, list) else [(*turn, f"call_{next(self.numbers)}")]
            parts = [
                types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=arguments))
                for name, arguments, call_id in calls
            ]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


class Session:
    """A conversation with an agent."""

    def __init__(
        self, tools: list[Any], *calls: Any, turns: list[Any] | None = None, user: str = "eve", session: str = ""
    ) -> None:
        model = Scripted(model="scripted")
        model.turns = list(calls) if turns is None else turns  # as it is, to add to it
        self._runner = InMemoryRunner(LlmAgent(name="shop", model=model, tools=tools), app_name="shop")
        self._user = user
        self._wanted = session or None
        self._id = ""

    async def run(self, *parts: Any) -> list[Any]:
        """Send a message, and return the responses of tools and the requests for confirmation."""
        if not self._id:
            service = self._runner.session_service
            session = await service.create_session(app_name="shop", user_id=self._user, session_id=self._wanted)
            self._id = session.id
        message = types.Content(role="user", parts=list(parts) or [types.Part(text="go")])
        found: list[Any] = []
        async for event in self._runner.run_async(user_id=self._user, session_id=self._id, new_message=message):
            found += [response.response for response in event.get_function_responses()]
            found += [call for call in event.get_function_calls() if call.name == "adk_request_confirmation"]
        return found

    async def answer(self, question: Any, *, confirmed: bool, payload: Any = "as asked") -> list[Any]:
        """Answer a request for confirmation."""
        return await self.run(confirmation(question, confirmed, payload))


def confirmation(question: Any, confirmed: bool, payload: Any = "as asked") -> Any:
    """Return the answer to a request for confirmation."""
    if payload == "as asked":
        payload = question.args["toolConfirmation"]["payload"]
    response = types.FunctionResponse(
        id=question.id, name=question.name, response={"confirmed": confirmed, "payload": payload}
    )
    return types.Part(function_response=response)


async def test_toolkit_runs_programs_in_their_agent() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        calls = [("execute_tools", {"code": code}) for code in ("print(price('tea') + price('milk'))", "1 / 0")]
        first, second = await Session(export_tools(toolkit), *calls).run()
    assert first == {"result": "7.0\n"}
    assert "ZeroDivisionError" in second["error"]


async def test_single_tool_waits_for_confirmation() -> None:
    effects: Effects = []
    for confirmed in (True, False):
        session = Session(export_tools(shop(effects), context="eve"), ("refund", {"customer": "Ada", "amount": 5}))
        found = await session.run()
        assert effects == ([] if confirmed else [("Ada", 5.0, "eve")])
        [question] = [item for item in found if not isinstance(item, dict)]
        assert "refund" in str(question.args)
        result = (await session.answer(question, confirmed=confirmed))[0]
        assert ("error" in result) is not confirmed
    assert effects == [("Ada", 5.0, "eve")]


async def test_wrong_arguments_never_bother_a_person() -> None:
    [result] = await Session(export_tools(shop([])[1], context="eve"), ("refund", {"custmer": "Ada"})).run()
    assert "custmer" in result["error"]


def continuation(found: list[Any]) -> tuple[str, Any]:
    """Return the call that lets a program go on, as a model reads of it."""
    (result,) = [item for item in found if isinstance(item, dict)]
    return "execute_tools", {"continue_run": result["error"].partition("continue_run='")[2].partition("'")[0]}


async def test_program_pauses_for_each_confirmation(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), context="eve", journal=tmp_path / "runs.db") as toolkit:
        turns: list[Any] = [("execute_tools", {"code": TWO_REFUNDS})]
        session = Session(export_tools(toolkit), turns=turns)
        found = await session.run()
        for number in range(2):
            [question] = [item for item in found if not isinstance(item, dict)]
            assert "customer = " in question.args["toolConfirmation"]["hint"]
            assert len(effects) == number
            found = await session.answer(question, confirmed=True)
            if number == 0:
                turns.append(continuation(found))
                found = await session.run()
    assert found == [{"result": "refunded 3.0\nrefunded 6.0\n"}]
    assert effects == [("Ada", 3.0, "eve"), ("Bob", 6.0, "eve")]


async def test_same_program_asked_for_again_is_run_again(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), context="eve", journal=tmp_path / "runs.db") as toolkit:
        session = Session(export_tools(toolkit), *[("execute_tools", {"code": "print(refund('Ada', 1))"})] * 2)
        found = await session.run()
        for _ in range(2):
            [question] = [item for item in found if not isinstance(item, dict)]
            found = await session.answer(question, confirmed=True)
    assert effects == [("Ada", 1.0, "eve")] * 2


async def test_answer_that_says_not_what_is_asked_again(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), context="eve", journal=tmp_path / "runs.db") as toolkit:
        turns: list[Any] = [("execute_tools", {"code": "print(refund('Ada', 1))"})]
        session = Session(export_tools(toolkit), turns=turns)
        found = await session.run()
        for wrong in (None, {}, {"run_id": "x", "pending": [{"id": "x:1", "digest": "y"}]}, "yes"):
            [question] = [item for item in found if not isinstance(item, dict)]
            turns.append(continuation(await session.answer(question, confirmed=True, payload=wrong)))
            found = await session.run()
            assert effects == []
            [question] = [item for item in found if not isinstance(item, dict)]
            assert question.args["toolConfirmation"]["payload"]["reason"]
        await session.answer(question, confirmed=True)
    assert effects == [("Ada", 1.0, "eve")]


async def test_single_call_is_answered_once_and_by_its_digest() -> None:
    effects: Effects = []
    session = Session(export_tools(shop(effects), context="eve"), ("refund", {"customer": "Ada", "amount": 5}))
    [question] = [item for item in await session.run() if not isinstance(item, dict)]
    [result] = await session.answer(question, confirmed=True, payload={"id": "x", "digest": "y"})
    assert "refund was not run: the previous answer was about another call" in result["error"]
    assert effects == []


async def test_empty_continuation_is_none(tmp_path: Path) -> None:
    with Toolkit(shop([]), context="eve", journal=tmp_path / "runs.db") as toolkit:
        call = "execute_tools", {"code": "print(price('tea'))", "continue_run": ""}
        assert await Session(export_tools(toolkit), call).run() == [{"result": "3.0\n"}]


async def test_run_of_another_session_is_never_continued(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), context="eve", journal=tmp_path / "runs.db") as toolkit:
        await Session(export_tools(toolkit), ("execute_tools", {"code": "refund('Ada', 1)"})).run()
        (run,) = toolkit.open_journal().runs("paused")
        found = await Session(export_tools(toolkit), ("execute_tools", {"continue_run": run.id})).run()
    assert "expected the id of a program that waits in this session" in found[0]["error"]
    assert effects == []


class Talk:
    """A principal's conversation, for the scenarios. All of them have the same session id."""

    def __init__(self, tools: list[Any], name: str) -> None:
        self._turns: list[Any] = []
        self._session = Session(tools, turns=self._turns, user=name, session="1")
        self._open: list[Any] = []
        self._latest: list[Any] = []
        self.results: list[str] = []

    def _take(self, found: list[Any]) -> None:
        self._open = [item for item in found if not isinstance(item, dict)]
        self.results += [str(item) for item in found if isinstance(item, dict)]

    async def say(self, calls: Sequence[Call]) -> None:
        self._turns.append(calls)
        self._take(await self._session.run())

    @property
    def questions(self) -> list[Question]:
        payloads = [item.args["toolConfirmation"]["payload"] for item in self._open]
        return [question for payload in payloads for question in payload.get("pending", [payload])]

    async def answer(self, answers: Answers) -> None:
        for question, is_approved in answers:
            question["decision"] = is_approved
        self._latest = [confirmation(item, True) for item in self._open]
        await self._go_on(await self._session.run(*self._latest))

    async def _go_on(self, found: list[Any]) -> None:
        waiting = [item for item in found if isinstance(item, dict) and "continue_run" in item.get("error", "")]
        if waiting:
            # Model servers number these calls alike, too.
            self._turns.append([(*continuation([item]), f"call_{n}") for n, item in enumerate(waiting)])
            found = await self._session.run()
        self._take(found)

    async def answer_again(self) -> None:
        await self._session.run(*self._latest)

    async def answer_badly(self, others: list[Question]) -> None:
        if not all("pending" in item.args["toolConfirmation"]["payload"] for item in self._open):
            return  # a single call is refused, and its model makes another one
        payload = {"pending": others} if others else None
        await self._go_on(await self._session.run(*[confirmation(item, True, payload) for item in self._open]))
        assert all("reason" in item.args["toolConfirmation"]["payload"] for item in self._open)


@pytest.mark.parametrize("seed", SEEDS)
async def test_answers_reach_their_calls_alone(seed: int, tmp_path: Path) -> None:
    await Scenario(seed, tmp_path, export_tools, Talk, lambda context: context.session.user_id).run()


async def test_context_parameter_gets_the_tool_context() -> None:
    users: list[str] = []

    @ez_tool(requires_approval=True)
    def note(text: str, call: Context[Any]) -> str:
        """Note something."""
        users.append(call.session.user_id)
        return text

    assert await Session(export_tools(note, approve=lambda _: True), ("note", {"text": "tea"})).run() == [
        {"result": "tea"}
    ]
    assert users == ["eve"]


def greet(name: str, times: int = 1) -> str:
    """Greet somebody."""
    return f"{'hello ' * times}{name}"


async def whoami(tool_context: ToolContext) -> str:
    """Return the user."""
    return tool_context.session.user_id


class Greetings(BaseToolset):
    """A set of tools."""

    async def get_tools(self, readonly_context: Any = None) -> list[Any]:
        return [FunctionTool(greet)]


async def test_their_tools_run_in_a_program() -> None:
    def fail() -> dict[str, str]:
        """Fail as ADK's tools do."""
        return {"error": "no luck"}

    with Toolkit([Greetings(), FunctionTool(fail), FunctionTool(whoami)]) as toolkit:
        assert toolkit.execute("print(greet('Ada', times=2))").output == "hello hello Ada\n"
        assert "no luck" in str(toolkit.execute("fail()").error)
        found = await Session(export_tools(toolkit), ("execute_tools", {"code": "print(whoami())"})).run()
    assert found == [{"result": "eve\n"}]


def test_their_confirmation_becomes_our_approval() -> None:
    tool = FunctionTool(greet, require_confirmation=True)
    with Toolkit([tool], approve=lambda call: call.arguments["name"] == "Ada") as toolkit:
        assert toolkit.execute("print(greet('Ada'))").output == "hello Ada\n"
        assert "greet was not approved" in str(toolkit.execute("greet('Bob')").error)


def test_exported_tools_may_come_back_to_a_toolkit() -> None:
    effects: Effects = []
    exported = export_tools(Toolkit(shop(effects)[:1]))
    exported += export_tools(shop(effects), context="eve", approve=lambda _: True)
    with Toolkit(exported) as toolkit:
        result = toolkit.execute("print(execute_tools(code=\"print(price('tea'))\"), refund('Ada', 5))")
    assert result.output.split() == ["3.0", "refunded", "5.0"]
    assert effects == [("Ada", 5.0, "eve")]


async def test_toolkit_passed_as_a_tool_says_what_to_pass() -> None:
    with Toolkit([len]) as toolkit, pytest.raises(TypeError, match=r"export_tools\(toolkit\)"):
        await LlmAgent(name="shop", tools=[toolkit]).canonical_tools()
