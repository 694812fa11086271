"""Progress over MCP: of our tools to clients, and of servers' tools to our events."""

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import Server
from mcp.server.context import ServerRequestContext

from ez_ptc import CallProgress, Context, Toolkit, ez_tool, mcp_tools

# As a plain name, for type checkers know only that it marks parameters.
context: Any = Context
_Report = tuple[float, float | None, str | None]


@ez_tool
def load(name: str, count: int = 4) -> str:
    """Load parts."""
    for number in range(1, count + 1):
        context.progress(number, count, f"{name} {number}")
    return name


async def call(toolkit: Toolkit, tool: str, arguments: dict[str, object]) -> list[_Report]:
    """Return the progress of a call, as the SDK's client receives it."""
    received: list[_Report] = []

    async def take(progress: float, total: float | None, message: str | None) -> None:
        received.append((progress, total, message))

    async with Client(toolkit.as_mcp_server(mode="both").server) as client:
        assert not (await client.call_tool(tool, arguments, progress_callback=take)).is_error
        assert not (await client.call_tool(tool, arguments)).is_error  # no token, no notification
    return received


def test_progress_of_served_tool_reaches_its_client() -> None:
    with Toolkit([load]) as toolkit:
        received = asyncio.run(call(toolkit, "load", {"name": "a"}))
    assert received == [(1, 4, "a 1"), (4, 4, "a 4")]


@pytest.mark.parametrize("is_recorded", [False, True], ids=["", "with a journal"])
def test_progress_of_served_program_only_increases(tmp_path: Path, *, is_recorded: bool) -> None:
    code = "load('a')\nparallel((load, 'b', 9), (load, 'c', 2))"
    with Toolkit([load], journal=tmp_path / "runs.db" if is_recorded else None) as toolkit:
        received = asyncio.run(call(toolkit, "execute_tools", {"code": code}))
    assert received[0] == (0.25, None, "a 1")
    numbers = [progress for progress, _, _ in received]
    assert numbers == sorted(set(numbers))
    assert received[-1] == (3, None, "called load")


def test_progress_of_servers_becomes_events_of_calls() -> None:
    with (
        Toolkit([load]) as served,
        mcp_tools(served.as_mcp_server(mode="tools").server) as tools,
        Toolkit([tools["load"]]) as toolkit,
    ):
        events = [event for event in toolkit.stream("load(name='a')") if isinstance(event, CallProgress)]
    assert [(event.tool, event.done, event.total, event.message) for event in events] == [
        ("load", 1, 4, "a 1"),
        ("load", 4, 4, "a 4"),
    ]


def test_unusable_progress_of_servers_is_dropped_or_cleaned() -> None:
    sent: list[tuple[float, float | None, str | None]] = [
        *((number, 3, "wrong") for number in (-1, float("nan"), float("inf"), 1e300)),
        (1, float("nan"), "\x1b[31mred " + "x" * 100_000),
        (2, -1, None),
    ]

    async def list_tools(context: object, params: object) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(tools=[types.Tool(name="work", input_schema={"type": "object"})])

    async def call_tool(context: ServerRequestContext[Any, Any], params: object) -> types.CallToolResult:
        del params
        for report in sent:
            await context.session.report_progress(*report)
        return types.CallToolResult(content=[types.TextContent(text="done")])

    server: Server[Any] = Server("hostile", on_list_tools=list_tools, on_call_tool=call_tool)
    with mcp_tools(server) as tools, Toolkit([*tools]) as toolkit:
        events = [event for event in toolkit.stream("work()") if isinstance(event, CallProgress)]
    assert [(event.done, event.total) for event in events] == [(1, None), (2, None)]
    assert "\x1b" not in str(events[0].message)
    assert len(str(events[0].message)) <= 500
