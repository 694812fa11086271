"""Servers that answer what no parser expects, or flood their client: each request ends, and the others still work."""

import logging
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from ez_ptc import Elicitation, McpServerError, Toolkit, mcp_tools
from tests.mcp.conftest import SERVERS

Command = Callable[[str], list[str]]


@pytest.fixture
def hostile_server() -> Command:
    """Return a function from a scenario to the command of the hostile server."""
    return lambda scenario: [sys.executable, str(SERVERS / "hostile.py"), scenario]


@pytest.fixture
def hostile_toolkit(hostile_server: Command) -> Iterator[Toolkit]:
    """Connect to the hostile server, without a timeout that would end a call that is never answered."""
    with Toolkit.from_mcp(hostile_server("answers"), call_timeout=None) as toolkit:
        yield toolkit


@pytest.mark.parametrize(
    ("tool", "problem"),
    [
        # The versions of Python differ in which limit it meets first.
        ("nested", "invalid"),
        ("huge_number", "the server's answer is invalid: Invalid JSON: number out of range"),
        ("control_character", "the server's answer is invalid: Invalid JSON: control character"),
        ("number", "the server's answer is invalid: result: Input should be a valid dictionary"),
        ("error_text", r"error_text: no \x1b[31mluck"),
        ("odd_id", "odd_id: late"),
        ("content_number", "sent an invalid answer: content.0.TextContent: Input should be"),
        ("bad_media", "its server sent media that is not base64"),
        ("closed_code", r"closed_code: no \x1b[31mluck"),
    ],
)
@pytest.mark.sampled(every=3)
def test_unusable_answer_is_an_error_at_once(hostile_toolkit: Toolkit, tool: str, problem: str) -> None:
    failed = hostile_toolkit.execute(f"{tool}()")
    again = hostile_toolkit.execute("half_a_pair()")

    assert problem in (failed.error or "")
    assert again.return_value == "a?b"


def test_listing_keeps_tools_beside_unusable_ones(hostile_server: Command) -> None:
    with pytest.warns(UserWarning, match="is left out") as warned:
        toolkit = Toolkit.from_mcp(hostile_server("schemas"))
    with toolkit:
        names = [tool.name for tool in toolkit]
        prompt = toolkit.prompt()
        refused = toolkit.execute("draft_4(x=0)")

    assert names == ["null", "bad_pattern", "boolean_property", "draft_4"]
    assert "boolean_property" in prompt
    assert "'x' is less than or equal to the minimum of 0" in (refused.error or "")
    assert len(warned) == 5
    for name in ("too_deep", "properties_list", "required_text", "local_file"):
        assert sum(f"{name} of the MCP server" in str(warning.message) for warning in warned) == 1
    assert sum("bad_pattern: the pattern '([' at" in str(warning.message) for warning in warned) == 1


@pytest.mark.parametrize(
    ("scenario", "problem"),
    [
        ("null_version", "cannot start the MCP server hostile.py: protocolVersion: Input should be a valid string$"),
        ("text_list", "cannot use the MCP server hostile.py: listing its tools: .* should be a valid list$"),
        ("silent_list", "cannot use the MCP server hostile.py: listing its tools took longer than 0.5 s$"),
    ],
)
def test_server_that_cannot_be_used_is_named(hostile_server: Command, scenario: str, problem: str) -> None:
    with pytest.raises(McpServerError, match=problem):
        mcp_tools(hostile_server(scenario), connect_timeout=0.5 if scenario == "silent_list" else 30, call_timeout=None)


def test_unusable_resource_listings_leave_the_rest(hostile_server: Command, caplog: pytest.LogCaptureFixture) -> None:
    with mcp_tools(hostile_server("resources")) as tools:
        names = [tool.name for tool in tools]

    assert names == ["null", "list_resources", "read_resource"]
    assert "broken of the MCP server hostile.py is left out: uri: Input should be a valid string" in caplog.text
    assert "the MCP server hostile.py is used without its resource templates" in caplog.text


def test_resource_error_is_logged_on_one_line(hostile_server: Command, caplog: pytest.LogCaptureFixture) -> None:
    with Toolkit.from_mcp(hostile_server("resources")) as toolkit:
        result = toolkit.execute("try:\n    read_resource('shop://none')\nexcept Exception as e:\n    print(e)")

    assert "shop://none" in result.output
    (record,) = [record for record in caplog.records if record.name == "ez_ptc.tools"]
    assert record.getMessage().startswith("read_resource failed: ")
    assert record.exc_info is None


@pytest.mark.parametrize("flood", ["progress", "logs", "changes"])
@pytest.mark.sampled(every=3)
def test_flood_of_messages_is_cut_off(hostile_server: Command, flood: str, caplog: pytest.LogCaptureFixture) -> None:
    """The callback is held back until the call is done, as a slow one would be."""
    done = threading.Event()
    seen: list[object] = []

    def take(message: object) -> None:
        done.wait(20)
        seen.append(message)

    with mcp_tools(hostile_server("answers"), on_progress=take, on_log=take, on_change=take) as tools:
        assert tools[flood].execute().output == "done"
        done.set()
        assert tools["half_a_pair"].execute().output == "a?b"

    assert len(seen) < 1_000
    cut = [record for record in caplog.records if "sends more messages than are read" in record.getMessage()]
    assert len(cut) == (0 if flood == "changes" else 1)
    assert all(record.levelno < logging.ERROR for record in caplog.records if record.name == "ez_ptc.mcp")


@pytest.mark.sampled(every=0)
def test_flood_of_questions_asks_one_at_a_time(hostile_server: Command) -> None:
    asked: list[Elicitation] = []
    asking = threading.Lock()
    overlaps: list[bool] = []

    def elicit(question: Elicitation) -> None:
        overlaps.append(not asking.acquire(blocking=False))
        asked.append(question)
        asking.release()

    with mcp_tools(hostile_server("answers"), elicit=elicit) as tools:
        assert tools["questions"].execute().output == "done"

    assert asked
    assert not any(overlaps)
