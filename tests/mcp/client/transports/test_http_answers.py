"""Answers of MCP servers over HTTP that are nearly messages: they are read as those of processes are."""

from __future__ import annotations

from typing import Any

import pytest

from ez_ptc import mcp_tools
from tests.providers.loopback import LoopbackServer, Reply, Request

RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": []},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "greet", "inputSchema": {"type": "object", "properties": []}}]},
}


@pytest.mark.parametrize(
    ("answer", "output", "error"),
    [
        ({"result": []}, None, ""),
        ({"result": {"rows": [1]}}, {"rows": [1]}, ""),
        ({"error": "quota exceeded"}, None, "greet: quota exceeded"),
        ({"error": {"code": "E1", "message": "quota exceeded"}}, None, 'greet: quota exceeded ({"code": "E1"})'),
    ],
)
@pytest.mark.parametrize("status", [200, 500])
def test_nearly_valid_answer_over_http_is_read(answer: dict[str, Any], output: object, error: str, status: int) -> None:
    def reply(request: Request) -> Reply:
        asked: dict[str, Any] = request.body or {}
        if "id" not in asked:
            return Reply(status=202 if request.method == "POST" else 405)
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] == "tools/call":
            return Reply(body=message | answer, status=status if "error" in answer else 200)
        if asked["method"] in RESULTS:
            return Reply(body={**message, "result": RESULTS[asked["method"]]})
        return Reply(body={**message, "error": {"code": -32601, "message": "no such method"}})

    with LoopbackServer(reply) as server, mcp_tools(server.url, connect_timeout=30) as tools:
        result = tools["greet"].execute()

    assert result.output == output
    assert error in (result.error or "")
