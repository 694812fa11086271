"""Telemetry of a whole application as a receiver of the protocol gets it, and the trace context on its way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ez_ptc import Tool, Toolkit, ez_tool, openapi_tools

SECRET = b"orchid"


@pytest.mark.security
def test_conversation_with_servers_is_one_tree(repository: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the exporter is not installed")
    from tests.telemetry.receiver import receiver

    with receiver() as received:
        command = [sys.executable, "-m", "tests.telemetry.scenario", received.endpoint]
        environment = {**os.environ, "PYTHONPATH": str(repository / "src")}
        subprocess.run(command, check=True, timeout=120, cwd=repository, env=environment)
    children = received.parents()
    roots = Counter(children.pop(""))
    # Connecting to the server and listing its tools come before.
    assert roots.pop("invoke_agent") == 1
    assert set(roots) <= {"MCP send server/discover", "MCP send initialize", "MCP send tools/list"}
    assert "unknown" not in children
    assert children["invoke_agent"] == ["chat gpt-5.2", "execute_tool execute_tools", "chat gpt-5.2"]
    assert {"execute_tool stock", "execute_tool refund"} <= set(children["execute_tool execute_tools"])
    assert "MCP send tools/call stock" in children["execute_tool stock"]
    assert children["MCP send tools/call stock"] == ["tools/call stock"]
    assert children["tools/call stock"] == ["execute_tool stock"]
    assert "execute_tool count" in children["execute_tool execute_tools"]
    assert "database" in children["execute_tool count"]
    if "execute_tool ask_framework" in children["execute_tool execute_tools"]:
        assert children["execute_tool ask_framework"] == ["invoke_agent agent"]
        assert "execute_tool execute_tools" in children["invoke_agent agent"]
    assert not any(SECRET in body for body in received.bodies)
    tools = {labels["gen_ai.tool.name"] for labels in received.attributes("gen_ai.execute_tool.duration")}
    assert {"stock", "count", "refund", "execute_tools"} <= tools
    for metric in ("gen_ai.client.token.usage", "ez_ptc.cost", "ez_ptc.program.duration", "ez_ptc.call.refusals"):
        assert received.points[metric], metric


def test_span_of_a_call_is_current_in_its_tool(spans: InMemorySpanExporter) -> None:
    seen: list[int] = []

    def note() -> None:
        """Note the current span."""
        seen.append(trace.get_current_span().get_span_context().span_id)

    async def note_later() -> None:
        """Note the current span, in time."""
        await anyio.lowlevel.checkpoint()
        note()

    tools = [ez_tool(note), ez_tool(name="timed", timeout=20)(note), ez_tool(name="threaded", thread="one")(note)]
    with Toolkit([*tools, ez_tool(note_later)]) as toolkit:
        assert toolkit.execute("note()\ntimed()\nthreaded()\nnote_later()").success
        assert anyio.run(toolkit.aexecute, "note()\ntimed()\nthreaded()\nnote_later()").success
    calls = [span for span in spans.get_finished_spans() if span.name != "execute_tool execute_tools"]
    assert seen == [span.context.span_id for span in calls if span.context is not None]
    assert len(seen) == 8


@pytest.mark.parametrize("header", [None, "00-11111111111111111111111111111111-2222222222222222-01"])
def test_requests_to_apis_name_the_span_of_their_call(header: str | None, spans: InMemorySpanExporter) -> None:
    httpx: Any = pytest.importorskip("httpx2", reason="the extra `openapi` is not installed")
    headers: list[Any] = []

    def answer(request: object) -> object:
        headers.append(getattr(request, "headers", None))
        return httpx.Response(200, json=[])

    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "paths": {"/orders": {"get": {"operationId": "orders", "summary": "List.", "responses": {}}}},
    }
    own = {} if header is None else {"traceparent": header}
    client = httpx.Client(base_url="http://shop.test", headers=own, transport=httpx.MockTransport(answer))
    with client, Toolkit(openapi_tools(document, client=client)) as toolkit:
        assert toolkit.execute("orders()").success
        [call, _] = spans.get_finished_spans()
        [tool] = toolkit
        assert isinstance(tool, Tool)
        tool.call({})
    assert call.context is not None
    expected = f"00-{call.context.trace_id:032x}-{call.context.span_id:016x}-"
    assert headers[0]["traceparent"].startswith(header or expected)
    assert headers[1].get("traceparent") == header  # no span, no header
