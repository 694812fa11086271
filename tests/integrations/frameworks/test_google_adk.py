"""Google ADK's real runner over a scripted model, in both directions."""

import itertools
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool, ToolContext
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types

from ez_ptc import Toolkit
from ez_ptc.integrations.google_adk import export_tools
from tests.integrations.frameworks.shop import TWO_REFUNDS, Effects, shop

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]


class Scripted(BaseLlm):
    """Makes these calls, one a turn, and then says "done"."""

    turns: list[Any]
    numbers: Any = itertools.count()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        part = types.Part(text="done")
        if self.turns:
            name, arguments = self.turns.pop(0)
            call = types.FunctionCall(id=f"call_{next(self.numbers)}", name=name, args=arguments)
            part = types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class Session:
    """A conversation with an agent."""

    def __init__(self, tools: list[Any], *turns: Any) -> None:
        agent = LlmAgent(name="shop", model=Scripted(model="scripted", turns=list(turns)), tools=tools)
        self._runner = InMemoryRunner(agent, app_name="shop")
        self._id = ""

    async def run(self, *parts: Any) -> list[Any]:
        """Send a message, and return the responses of tools and the requests for confirmation."""
        if not self._id:
            session = await self._runner.session_service.create_session(app_name="shop", user_id="eve")
            self._id = session.id
        message = types.Content(role="user", parts=list(parts) or [types.Part(text="go")])
        found: list[Any] = []
        async for event in self._runner.run_async(user_id="eve", session_id=self._id, new_message=message):
            found += [response.response for response in event.get_function_responses()]
            found += [call for call in event.get_function_calls() if call.name == "adk_request_confirmation"]
        return found

    async def answer(self, question: Any, *, confirmed: bool) -> list[Any]:
        """Answer a request for confirmation."""
        response = types.FunctionResponse(id=question.id, name=question.name, response={"confirmed": confirmed})
        return await self.run(types.Part(function_response=response))


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


async def test_program_pauses_for_each_confirmation(tmp_path: Path) -> None:
    effects: Effects = []
    with Toolkit(shop(effects), context="eve", journal=tmp_path / "runs.db") as toolkit:
        session = Session(export_tools(toolkit), *[("execute_tools", {"code": TWO_REFUNDS})] * 2)
        found = await session.run()
        for number in range(2):
            [question] = [item for item in found if not isinstance(item, dict)]
            assert len(effects) == number
            found = await session.answer(question, confirmed=True)
            assert ("run the same program again" in str(found)) is (number == 0)
    assert found == [{"result": "refunded 3.0\nrefunded 6.0\n"}]
    assert effects == [("Ada", 3.0, "eve"), ("Bob", 6.0, "eve")]


async def test_context_parameter_gets_the_tool_context() -> None:
    effects: Effects = []
    tools = export_tools(shop(effects)[1], approve=lambda _: True)
    assert await Session(tools, ("refund", {"customer": "Ada", "amount": 5})).run() == [{"result": "refunded 5.0"}]
    context: Any = effects[0][2]
    assert context.session.user_id == "eve"


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
