"""Sessions that an MCP server over HTTP has lost, as it does when it starts again: a new one takes their place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ez_ptc import ToolResult, mcp_tools
from tests.providers.loopback import Fault, LoopbackServer, Reply, Request, sse

BEGUN: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}
OF_CALL = "the id of the call"
TOOLS: dict[str, Any] = {"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]}


class ForgetfulServer:
    """Refuses the session of its first client once tools are called, with the body and status it is given."""

    def __init__(self, refusal: Reply) -> None:
        self.refusal = refusal
        self.sessions = 0
        self.calls = 0

    def __call__(self, request: Request) -> Reply:
        asked: dict[str, Any] = request.body or {}
        if "id" not in asked:
            return Reply(status=202 if request.method == "POST" else 405)
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] == "initialize":
            self.sessions += 1
            return Reply(body={**message, "result": BEGUN}, headers={"mcp-session-id": f"session-{self.sessions}"})
        if asked["method"] == "tools/list":
            return Reply(body={**message, "result": TOOLS})
        if asked["method"] != "tools/call":
            return Reply(body={**message, "error": {"code": -32601, "message": "no such method"}})
        if request.headers["mcp-session-id"] == "session-1":
            body: Any = self.refusal.body
            if OF_CALL in str(body):
                body = {**body, "id": asked["id"]}
            return replace(self.refusal, body=body)
        self.calls += 1
        return Reply(body={**message, "result": {"content": [{"type": "text", "text": "hello"}]}})


def refusal(status: int, code: int, message: str, number: object) -> Reply:
    return Reply(status=status, body={"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})


def greet(forgetful: ForgetfulServer, *, times: int) -> list[ToolResult]:
    with LoopbackServer(forgetful) as server, mcp_tools(server.url, connect_timeout=30) as tools:
        return [tools["greet"].execute() for _ in range(times)]


@pytest.mark.parametrize(
    "answer",
    [
        Reply(status=404, body="not found", headers={"Content-Type": "text/plain"}),
        Reply(status=404, body=sse("never read"), headers={"Content-Type": "text/event-stream"}, fault=Fault.STALL),
        refusal(404, -32600, "Session not found", "server-error"),
        refusal(404, -32001, "Session not found", None),
        refusal(404, -32001, "Session not found", OF_CALL),
        refusal(404, -32000, "gone", None),
        refusal(400, -32000, "Bad Request: No valid session ID provided", None),
    ],
)
def test_call_in_a_lost_session_is_made_once_in_a_new_one(answer: Reply) -> None:
    forgetful = ForgetfulServer(answer)
    results = greet(forgetful, times=2)

    assert [result.output for result in results] == ["hello", "hello"]
    assert (forgetful.sessions, forgetful.calls) == (2, 2)


@pytest.mark.parametrize(
    "answer",
    [
        refusal(404, -32601, "no such method", None),
        refusal(404, -32000, "no order 17", OF_CALL),
        refusal(404, -32000, "no session 17 of this till", OF_CALL),
        refusal(404, -32000, "Session not found", OF_CALL),
        refusal(400, -32602, "bad session", OF_CALL),
        refusal(400, -32000, "No valid session ID 17 of this till", OF_CALL),
    ],
)
def test_other_refusal_within_a_session_is_an_error_of_the_call(answer: Reply) -> None:
    forgetful = ForgetfulServer(answer)
    (result,) = greet(forgetful, times=1)

    assert answer.body["error"]["message"] in (result.error or "")
    assert forgetful.sessions == 1
