"""Servers that fail or lie: a clear error, or a toolkit without the tool in question; no hang, and no process left."""

import logging
import sys
from collections.abc import Callable

import pytest

from ez_ptc import McpChange, McpServerError, Toolkit, mcp_tools

Command = Callable[[str], list[str]]


def test_server_that_never_answers_is_given_up(raw_server: Command) -> None:
    with pytest.raises(McpServerError, match=r"cannot start the MCP server raw.py: it did not answer within 0.5 s"):
        mcp_tools(raw_server("deaf"), connect_timeout=0.5)


def test_server_that_exits_is_quoted(raw_server: Command) -> None:
    with pytest.raises(McpServerError, match="it ended before it answered; its last words: cannot find the licence"):
        mcp_tools(raw_server("exit"))


SAYS = "import sys; {}; sys.exit(3)"
REASONS = {
    "errors": ("sys.stderr.write('no licence')", "; its last words: no licence"),
    "after a line": ("sys.stderr.write('starting\\nno licence')", "; its last words: starting | no licence"),
    "a long line": ("sys.stderr.write('x' * 9_000)", f"; its last words: {'x' * 400}"),
    "broken text": ("sys.stderr.buffer.write(b'no licence \\xc3')", "; its last words: no licence \ufffd"),
    "output": (
        "print('usage: serve KEY', end='')",
        "; it wrote 'usage: serve KEY', which is not a message of the protocol",
    ),
    "a cut message": ('print(\'{"jsonrpc": "2.0", "id": 1\', end=\'\')', ""),
    "a cut batch": ('print(\'[{"jsonrpc": "2.0", "id": 1\', end=\'\')', ""),
    "a cut message after a mark": ("sys.stdout.buffer.write(b' \\xef\\xbb\\xbf {\"id\": 1')", ""),
    "a cut batch after a mark": ("sys.stdout.buffer.write(b'\\xef\\xbb\\xbf\\n[')", ""),
}


@pytest.mark.parametrize(("program", "reason"), REASONS.values(), ids=REASONS)
def test_last_words_need_no_newline(program: str, reason: str) -> None:
    with pytest.raises(McpServerError) as failed:
        mcp_tools([sys.executable, "-c", SAYS.format(program)])
    assert str(failed.value).partition("it ended before it answered")[2] == reason


KEY = "sk-live-4f0cd81e2ab97730"
CUTS = {
    "errors": ("sys.stderr.write('starting\\nbad key {}')", "; its last words: starting"),
    "output": ("print('bad key {}', end='')", ""),
}


@pytest.mark.parametrize("key", [KEY, KEY[:12], KEY[-9:]], ids=["whole", "beginning", "end"])
@pytest.mark.parametrize(("program", "reason"), CUTS.values(), ids=CUTS)
def test_unfinished_line_with_a_part_of_a_secret_is_left_out(program: str, reason: str, key: str) -> None:
    command = [sys.executable, "-c", SAYS.format(program.format(key))]
    server = {"command": command[0], "args": command[1:], "env": {"API_KEY": KEY}}
    with pytest.raises(McpServerError) as failed:
        mcp_tools({"mcpServers": {"srv": server}})
    assert str(failed.value).partition("it ended before it answered")[2] == reason


@pytest.mark.parametrize("scenario", ["garbage", "noisy"])
def test_garbage_between_messages_is_skipped(
    raw_server: Command, scenario: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with Toolkit.from_mcp(raw_server(scenario)) as toolkit:
        assert toolkit.execute("print(echo('hello'))").output == "hello\n"

    ours = [record for record in caplog.records if record.name == "ez_ptc.mcp"]
    assert [record.levelno for record in ours if "not a message of the protocol" in record.getMessage()] == [
        logging.WARNING
    ]
    assert "\x1b" not in capfd.readouterr().err


def test_death_in_a_call_is_an_error_that_says_so(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        first = toolkit.execute("die()")
        second = toolkit.execute("print(echo('alive'))")

    assert "die failed: the MCP server raw.py ended during the call, which may have taken effect" in (first.error or "")
    assert r"its last words: about to \x1b[31mdie" in (first.error or "")
    assert second.output == "alive\n"


def test_last_words_in_a_call_need_no_newline(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        result = toolkit.execute("fall()")

    assert "its last words: falling; a further call" in (result.error or "")


def test_repeated_deaths_delay_the_next_start(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        errors = [toolkit.execute("die()").error or "" for _ in range(4)]

    assert "ended during the call" in errors[1]
    assert "is not available: it ended" in errors[3]


def test_hanging_call_ends_with_its_time(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain"), call_timeout=0.5) as toolkit:
        result = toolkit.execute("try:\n    hang()\nexcept TimeoutError as error:\n    print(error)")

    assert result.output.startswith("hang took longer than 0.5 s and was cancelled")


def test_hanging_call_ends_with_the_program(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain"), timeout=1) as toolkit:
        result = toolkit.execute("hang()")

    assert not result.success


def test_huge_answer_arrives_or_is_refused(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        result = toolkit.execute("print(len(huge()))")

    assert result.output == "10000000\n" or "too large" in (result.error or "")


@pytest.mark.sampled(every=0)
def test_a_thousand_tools_are_listed(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("many")) as toolkit:
        assert len(toolkit) == 1000
        assert toolkit.get_tool("tool_999").description == "The tool tool_999."


def test_endless_listing_is_cut_with_a_warning(raw_server: Command) -> None:
    with pytest.warns(UserWarning, match="raw.py lists too much; the rest of its tools is left out$"):
        tools = mcp_tools(raw_server("endless"))
    with tools:
        assert tools["tool_150"].description == "The tool tool_150."


def test_server_without_tools_makes_an_empty_toolkit_and_a_warning(
    raw_server: Command, caplog: pytest.LogCaptureFixture
) -> None:
    with Toolkit.from_mcp(raw_server("none")) as toolkit:
        assert toolkit.execute("1 + 1").return_value == 2

    assert "the MCP server raw.py offers no tools" in caplog.text


def test_tool_listed_twice_is_kept_once(raw_server: Command) -> None:
    with pytest.warns(UserWarning, match="the tool echo of the MCP server raw.py is left out: it is listed twice"):
        toolkit = Toolkit.from_mcp(raw_server("twice"))
    with toolkit:
        assert [tool.description for tool in toolkit] == ["Return the text."]


def test_tools_without_usable_schema_are_left_out(raw_server: Command, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.warns(UserWarning, match="is left out") as warned:
        toolkit = Toolkit.from_mcp(raw_server("schemas"))
    with toolkit:
        assert [tool.name for tool in toolkit] == ["echo", "recursive", "no_output", "bad_output"]
        assert toolkit.execute("print(echo('hello'))").output == "hello\n"
        assert "recursive" in toolkit.prompt()

    texts = "\n".join(str(warning.message) for warning in warned)
    for name in ("no_schema", "string_schema", "bad_type", "remote", "a tool of the MCP server", "'no tool'"):
        assert name in texts
    assert len(warned) == 6
    assert "the tool bad_output of the MCP server raw.py: its results are not checked" in caplog.text


def test_changed_and_removed_tools_are_refused_and_reported(raw_server: Command) -> None:
    changes: list[McpChange] = []
    with mcp_tools(raw_server("changing"), on_change=changes.append) as tools:
        pinned = tools.fingerprints
        result = Toolkit(tools).execute(
            "change()\n"
            "for call in (lambda: echo('x'), doomed):\n"
            "    for _ in range(1000):\n"
            "        try:\n"
            "            call()\n"
            "        except Exception as error:\n"
            "            if 'since its tools were taken' in str(error):\n"
            "                print(error)\n"
            "                break\n"
        )
        fresh = Toolkit(tools)
        again = fresh.execute("print(echo('x'))")

    assert "echo was not run: the MCP server raw.py has changed its description or schema" in result.output
    assert "doomed was not run: the MCP server raw.py no longer offers it" in result.output
    assert {(change.tool, change.kind) for change in changes} == {("echo", "changed"), ("doomed", "removed")}
    assert again.output == "x\n"
    with pytest.warns(UserWarning, match="change of .* is left out: its description or schema is not the pinned one"):
        tools = mcp_tools(raw_server("changing"), pins={**pinned, "change": "another"})
    with tools:
        assert [tool.name for tool in tools] == ["echo", "doomed"]
