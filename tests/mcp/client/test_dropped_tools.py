"""A tool that cannot be used is left out with a `UserWarning` at the user's line, as an operation of an API is."""

import threading
import warnings
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from ez_ptc import Toolkit, amcp_tools, mcp_tools
from ez_ptc.mcp.client.dropped_tools import DroppedTools

Command = Callable[[str], list[str]]

WAYS: dict[str, Callable[..., Any]] = {"tools": mcp_tools, "toolkit": Toolkit.from_mcp}
ASYNC_WAYS: dict[str, Callable[..., Any]] = {"tools": amcp_tools, "toolkit": Toolkit.afrom_mcp}


@pytest.mark.parametrize("make", WAYS.values(), ids=WAYS)
def test_dropped_tool_warns_at_the_line_of_the_call(make: Callable[..., Any], raw_server: Command) -> None:
    with pytest.warns(UserWarning, match="the tool echo of the MCP server raw.py is left out") as warned:
        tools = make(raw_server("twice"))
    tools.close()
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.parametrize("make", ASYNC_WAYS.values(), ids=ASYNC_WAYS)
async def test_dropped_tool_warns_at_the_awaiting_line(
    make: Callable[..., Any], raw_server: Command, anyio_backend: str
) -> None:
    with pytest.warns(UserWarning, match="the tool echo of the MCP server raw.py is left out") as warned:
        tools = await make(raw_server("twice"))
    await anyio.to_thread.run_sync(tools.close)
    assert [warning.filename for warning in warned] == [__file__]


def test_dropped_tool_is_warned_of_once(raw_server: Command) -> None:
    with pytest.warns(UserWarning, match="is left out"):
        tools = mcp_tools(raw_server("schemas"))
    with tools, Toolkit(tools) as toolkit:  # here, warnings are errors
        assert len(toolkit) == len(tools) == 4


@pytest.mark.parametrize("options", [{"only": ["echo"]}, {"prefix": "x_", "only": ["x_echo"]}, {"exclude": ["remote"]}])
def test_tool_left_out_by_options_is_not_warned_of(options: dict[str, Any], raw_server: Command) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        mcp_tools(raw_server("schemas"), **options).close()
    texts = [str(warning.message) for warning in warned]
    assert not any("the tool remote" in text for text in texts)
    assert any("a tool of the MCP server" in text for text in texts)
    assert any("the tool bad_type" in text for text in texts) == ("exclude" in options)


def test_warning_as_error_ends_the_connection(raw_server: Command) -> None:
    with pytest.raises(UserWarning, match="is left out"):
        mcp_tools(raw_server("twice"))  # `no_server_is_left` looks for its process


def test_tool_dropped_later_is_warned_of_where_tools_are_taken(raw_server: Command) -> None:
    relisted = threading.Event()
    with mcp_tools(raw_server("breaking"), on_change=lambda change: relisted.set()) as tools:
        Toolkit(tools).execute("change()")
        assert relisted.wait(20)
        with pytest.warns(UserWarning, match="the tool doomed of the MCP server raw.py is left out") as warned:
            assert "doomed" not in [tool.name for tool in tools]
    assert [warning.filename for warning in warned] == [__file__]


def test_endless_dropped_tools_give_a_bounded_number_of_warnings() -> None:
    dropped = DroppedTools("shop")
    for number in range(10_000):
        dropped.add(f"tool_{number}", "it is listed twice")
    messages = [message for _, message in dropped.take_new()]
    assert len(messages) <= 101
    assert messages[-1] == "further tools of the MCP server shop are left out"
    dropped.add("tool_20000", "it is listed twice")
    assert not list(dropped.take_new())
