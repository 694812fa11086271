"""chatlas' tools in both directions; its providers need a server, so its own invocation of tools is driven."""

from typing import Any

import pytest
from chatlas import ChatOpenAI, ContentToolRequest, Tool

from ez_ptc import Toolkit
from ez_ptc.integrations.chatlas import export_tools
from tests.integrations.frameworks.shop import Effects, shop

pytestmark = pytest.mark.filterwarnings("ignore:Calling tool")


def invoke(tools: list[Any], name: str, arguments: dict[str, Any]) -> Any:
    """Return what chatlas makes of a request for a tool."""
    chat = ChatOpenAI(api_key="none")
    chat.set_tools(tools)
    request = ContentToolRequest(id="call", name=name, arguments=arguments)
    [*_, result] = chat._invoke_tool(request)  # noqa: SLF001 - what its loop calls
    return result


def test_toolkit_runs_programs() -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        result = invoke(export_tools(toolkit), "execute_tools", {"code": "print(price('tea') + price('milk'))"})
        failed = invoke(export_tools(toolkit), "execute_tools", {"code": "price('tea') / 0"})
    assert (result.value, result.error) == ("7.0\n", None)
    assert "ZeroDivisionError" in str(failed.error)


def test_single_tools_keep_approval_and_context() -> None:
    effects: Effects = []
    with pytest.raises(ValueError, match="chatlas has no approval of its own"):
        export_tools(shop(effects))
    tools = export_tools(shop(effects), context="eve", approve=lambda call: call.arguments["amount"] < 10)
    results = [invoke(tools, "refund", {"customer": "Ada", "amount": amount}) for amount in (5, 500)]
    assert (results[0].value, effects) == ("refunded 5.0", [("Ada", 5.0, "eve")])
    assert "refund was not approved" in str(results[1].error)


def test_their_tools_run_in_a_program() -> None:
    async def greet(name: str, times: int = 1) -> str:
        """Greet somebody."""
        return f"{'hello ' * times}{name}"

    def divide(one: int, other: int) -> float:
        """Divide."""
        return one / other

    with Toolkit([Tool.from_func(greet), Tool.from_func(divide)]) as toolkit:
        assert toolkit.execute("print(greet('Ada', 2), divide(3, 2))").output == "hello hello Ada 1.5\n"
        assert "division by zero" in str(toolkit.execute("divide(1, 0)").error)
