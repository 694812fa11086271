"""simonw/llm's real chain of calls over a model of ours, in both directions, and its plugin."""

from collections.abc import Iterator
from typing import Any

import llm
import pytest

from ez_ptc import Toolkit
from ez_ptc.integrations import llm as plugin
from ez_ptc.integrations.llm import export_tools
from tests.integrations.frameworks.shop import Effects, shop


class Scripted(llm.Model):
    """Makes these calls, one a turn, and then says what it was told."""

    model_id = "scripted"
    supports_tools = True

    def __init__(self, *turns: tuple[str, dict[str, Any]]) -> None:
        self.turns = list(turns)

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> Iterator[str]:
        if self.turns:
            name, arguments = self.turns.pop(0)
            response.add_tool_call(llm.ToolCall(name=name, arguments=arguments, tool_call_id="call"))
            yield ""
        else:
            yield "; ".join(result.output for result in prompt.tool_results)


def test_toolkit_runs_programs_in_their_chain() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        model = Scripted(("execute_tools", {"code": "print(price('tea') + price('milk'))"}))
        assert model.chain("go", tools=export_tools(toolkit)).text() == "7.0\n"


def test_failures_are_errors_of_the_call() -> None:
    results: list[Any] = []
    with Toolkit([shop([])[0]]) as toolkit:
        model = Scripted(("execute_tools", {"code": "price('tea') / 0"}))
        chain = model.chain("go", tools=export_tools(toolkit), after_call=lambda *call: results.append(call[-1]))
        assert "Error: " in chain.text()
    assert "ZeroDivisionError" in str(results[0].exception)


def test_single_tools_keep_approval_and_context() -> None:
    effects: Effects = []
    with pytest.raises(ValueError, match="llm has no approval of its own"):
        export_tools(shop(effects))
    tools = export_tools(shop(effects), context="eve", approve=lambda call: call.arguments["amount"] < 10)
    for amount in (5, 500):
        Scripted(("refund", {"customer": "Ada", "amount": amount})).chain("go", tools=tools).text()
    assert effects == [("Ada", 5.0, "eve")]


def test_their_tools_run_in_a_program() -> None:
    class Shelf(llm.Toolbox):
        def count(self, item: str, times: int = 1) -> int:
            """Count what is there."""
            return len(item) * times

    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    with Toolkit([Shelf(), llm.Tool.function(double)]) as toolkit:
        [name] = [tool.name for tool in toolkit if tool.name != "double"]
        assert toolkit.execute(f"print({name}('tea', times=2), double(4))").output == "6 8\n"


def test_plugin_offers_the_toolkit_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[Any] = []
    plugin.register_tools(registered.append)
    assert registered == []
    monkeypatch.setenv("EZ_PTC_TOOLKIT", "examples.demo.shop:TOOLS")
    monkeypatch.setattr("examples.demo.shop.TOOLS", Toolkit(shop([])[:1]), raising=False)
    plugin.register_tools(registered.append)
    assert [tool.name for tool in registered] == ["execute_tools"]
