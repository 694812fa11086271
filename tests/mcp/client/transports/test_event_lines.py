"""Streams of events from an MCP server over HTTP: by the standard, though the SDK's decoder has mistakes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ez_ptc import mcp_tools
from tests.providers.loopback import Fault, LoopbackServer, Reply, Request

TOOL = {"name": "greet", "inputSchema": {"type": "object"}}
RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "Grüße"}], "isError": False},
}


@pytest.mark.parametrize(
    ("template", "charset", "fault"),
    [
        ("\ufeffdata: {}\n\n", "", None),
        ("\ufeff: hello\r\rid: 1\r\ndata: {}\r\n\r\n", "; charset=latin-1", None),
        ("data: {}\r\r", "", Fault.STALL),
        ("event: message\rdata: {}\r\n\r", "", Fault.STALL),
    ],
)
def test_event_stream_of_the_standard_is_read(template: str, charset: str, fault: Fault | None) -> None:
    def answer(request: Request) -> Reply:
        asked: dict[str, Any] = request.body or {}
        if "id" not in asked:
            return Reply(status=202 if request.method == "POST" else 405)
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] in RESULTS:
            message["result"] = RESULTS[asked["method"]]
        else:
            message["error"] = {"code": -32601, "message": "no such method"}
        event = template.replace("{}", json.dumps(message, ensure_ascii=False)).encode()
        pieces = tuple(event[at : at + 7] for at in range(0, len(event), 7))
        return Reply(
            body=pieces, headers={"Content-Type": f"text/event-stream{charset}"}, fault=fault, sent=len(pieces)
        )

    with LoopbackServer(answer) as server, mcp_tools(server.url, connect_timeout=30) as tools:
        assert [tool.name for tool in tools] == ["greet"]
        assert tools["greet"].execute().output == "Grüße"
