"""CrewAI's real crew over a scripted model, in both directions."""

import json
from typing import Any

import pytest
from crewai import Agent, BaseLLM, Crew, Task
from crewai.tools import tool
from openai.types.chat.chat_completion_message_function_tool_call import ChatCompletionMessageFunctionToolCall, Function

from ez_ptc import Toolkit
from ez_ptc.integrations.crewai import export_tools
from tests.integrations.frameworks.shop import Effects, shop


@pytest.fixture(autouse=True)
def without_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send nothing to anyone."""
    for name in ("CREWAI_DISABLE_TELEMETRY", "CREWAI_DISABLE_TRACKING", "CREWAI_TESTING", "OTEL_SDK_DISABLED"):
        monkeypatch.setenv(name, "true")


class Scripted(BaseLLM):
    """Makes these calls, one a turn, and then says "done"."""

    turns: list[Any]
    seen: list[Any]

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, tools: Any = None, *args: Any, **options: Any) -> Any:
        self.seen[:] = [messages, self.seen[1] or tools]
        if not self.turns:
            return "done"
        name, arguments = self.turns.pop(0)
        function = Function(name=name, arguments=json.dumps(arguments))
        return [ChatCompletionMessageFunctionToolCall(id="call", type="function", function=function)]


def run(tools: list[Any], *turns: Any) -> tuple[list[str], list[Any]]:
    """Return what a crew's calls gave, and the tools its model saw."""
    llm = Scripted(model="scripted", turns=list(turns), seen=[[], None])
    agent = Agent(role="clerk", goal="sell", backstory="none", llm=llm, tools=tools)
    Crew(agents=[agent], tasks=[Task(description="go", expected_output="text", agent=agent)]).kickoff()
    messages, seen = llm.seen
    return [message["content"] for message in messages if message["role"] == "tool"], seen


def test_toolkit_runs_programs_in_their_agent() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        calls = [("execute_tools", {"code": code}) for code in ("print(price('tea') + price('milk'))", "1 / 0")]
        (first, second), [seen] = run(export_tools(toolkit), *calls)
    assert first == "7.0\n"
    assert "ZeroDivisionError" in second
    assert seen["function"]["parameters"]["properties"]["code"]["type"] == "string"
    assert "price(item: str) -> float" in seen["function"]["description"]


def test_single_tools_keep_approval_and_context() -> None:
    effects: Effects = []
    with pytest.raises(ValueError, match="CrewAI has no approval of its own"):
        export_tools(shop(effects))
    tools = export_tools(shop(effects), context="eve", approve=lambda call: call.arguments["amount"] < 10)
    calls = [("refund", {"customer": "Ada", "amount": amount}) for amount in (5, 500)]
    (first, second), _ = run(tools, *calls)
    assert (first, effects) == ("refunded 5.0", [("Ada", 5.0, "eve")])
    assert "refund was not approved" in second


def test_repeated_call_runs_again() -> None:
    effects: Effects = []
    tools = export_tools(shop(effects), context="eve", approve=lambda _: True)
    run(tools, *[("refund", {"customer": "Ada", "amount": 5})] * 2)
    assert len(effects) == 2


def test_argument_mistake_is_explained_by_us() -> None:
    [text], _ = run(export_tools(shop([])[0]), ("price", {"itme": "tea"}))
    assert "itme" in text


def test_their_tools_run_in_a_program() -> None:
    @tool("Greet people")
    def greet(name: str, times: int = 1) -> str:
        """Greet somebody."""
        return f"{'hello ' * times}{name}"

    @tool("fetch")
    async def fetch(number: int) -> int:
        """Return the number."""
        return number

    @tool("fail")
    def fail() -> str:
        """Fail."""
        message = "no luck"
        raise ValueError(message)

    with Toolkit([greet, fetch, fail]) as toolkit:
        assert toolkit.execute("print(greet_people('Ada', 2), fetch(3))").output == "hello hello Ada 3\n"
        assert "no luck" in str(toolkit.execute("fail()").error)
