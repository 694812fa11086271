"""chatlas' real loop over a scripted server of OpenAI's completions, in both directions."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from chatlas import ChatOpenAICompletions, ContentToolResult, Tool

from ez_ptc import Toolkit
from ez_ptc.integrations.chatlas import export_tools
from tests.integrations.frameworks.shop import Effects, shop


class Provider(ThreadingHTTPServer):
    """A model that makes these calls, one a turn, and then says "done"."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.turns: list[tuple[str, dict[str, Any]]] = []
        self.requests: list[dict[str, Any]] = []


class Answer(BaseHTTPRequestHandler):
    """The answer to a request for a completion."""

    server: Provider

    def do_POST(self) -> None:
        self.server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        message: dict[str, Any] = {"role": "assistant", "content": "done"}
        if self.server.turns:
            name, arguments = self.server.turns.pop(0)
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"id": f"call_{len(self.server.requests)}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        completion = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
        body = json.dumps(completion).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Write nothing to the terminal."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def run(provider: Provider, tools: list[Any], *turns: tuple[str, dict[str, Any]]) -> list[ContentToolResult]:
    """Return what the calls of a chat gave."""
    provider.turns[:] = turns
    chat = ChatOpenAICompletions(
        model="scripted", api_key="none", base_url=f"http://127.0.0.1:{provider.server_port}/v1"
    )
    chat.set_tools(tools)
    assert str(chat.chat("go", echo="none", stream=False)) == "done"
    contents = [content for turn in chat.get_turns() for content in turn.contents]
    return [content for content in contents if isinstance(content, ContentToolResult)]


def test_toolkit_runs_programs(provider: Provider) -> None:
    with Toolkit([shop([])[0]]) as toolkit:
        calls = [("execute_tools", {"code": code}) for code in ("print(price('tea') + price('milk'))", "1 / 0")]
        result, failed = run(provider, export_tools(toolkit), *calls)
    assert (result.value, result.error) == ("7.0\n", None)
    assert "ZeroDivisionError" in str(failed.error)
    assert "7.0" in provider.requests[1]["messages"][-1]["content"]
    assert "price(item: str) -> float" in provider.requests[0]["tools"][0]["function"]["description"]


def test_single_tools_keep_approval_and_context(provider: Provider) -> None:
    effects: Effects = []
    with pytest.raises(ValueError, match="chatlas has no approval of its own"):
        export_tools(shop(effects))
    tools = export_tools(shop(effects), context="eve", approve=lambda call: call.arguments["amount"] < 10)
    results = run(provider, tools, *[("refund", {"customer": "Ada", "amount": amount}) for amount in (5, 500)])
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


def test_toolkit_passed_as_a_tool_says_what_to_pass() -> None:
    with Toolkit([len]) as toolkit, pytest.raises(TypeError, match=r"export_tools\(toolkit\)"):
        ChatOpenAICompletions(api_key="none").register_tool(toolkit)
