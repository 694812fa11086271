"""Tools of real server processes, called by programs in the sandbox."""

import gc
import os
import select
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import McpServerError, Toolkit, mcp_tools
from ez_ptc.errors import ToolError, ToolNotFoundError
from ez_ptc.mcp.client.settings import McpOptions
from ez_ptc.tools.definitions.options import HandmadeOptions
from tests.mcp.conftest import server_processes

Command = Callable[[str], list[str]]


def test_program_calls_tools_of_a_server(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        result = toolkit.execute("print(echo('hello'), echo(text='again'))")

    assert result.output == "hello again\n"


async def test_awaiting_caller_uses_the_same_tools(raw_server: Command, anyio_backend: object) -> None:
    async with await Toolkit.afrom_mcp(raw_server("plain")) as toolkit:
        result = await toolkit.aexecute("print(await asyncio.gather(*(echo(str(n)) for n in range(3))))")

    assert result.output == "['0', '1', '2']\n"


def test_argument_mistake_never_reaches_the_server(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        result = toolkit.execute("echo(txet='hello')")

    assert "text" in (result.error or "")
    assert not result.success


def test_results_arrive_as_declared_values(raw_server: Command) -> None:
    with mcp_tools(raw_server("results")) as tools:
        toolkit = Toolkit(tools)
        result = toolkit.execute(
            "print(numbers(), record(), free(), json_text(), plain_text(), nothing())\n"
            "print(resource())\n"
            "print(picture()['media_type'], picture().data[1:4])"
        )
        assert tools["numbers"].return_schema == {"type": "array", "items": {"type": "integer"}}

    values, resource, picture = result.output.splitlines()
    assert values == "[1, 2] {'total': 3} {'result': [1]} {'rows': [1, 2]} 0042 None"
    assert "{'uri': 'file:///a.txt', 'mime_type': 'text/plain', 'content': 'hello'}" in resource
    assert "'content': b'\\x00\\x01'}, {'uri': 'file:///b', 'name': 'b'}" in resource
    assert picture == "image/png b'PNG'"


def test_nearly_valid_results_are_read_as_what_they_mean(raw_server: Command) -> None:
    with mcp_tools(raw_server("nearly")) as tools:
        values = {tool.name: tool.execute().output for tool in tools}

    assert {values[name] for name in ("bare_text", "one_block", "marked", "null_schema", "from_php")} == {"hello"}
    empty = ("no_content", "no_result", "null_result", "empty_in_php", "nothing_in_php")
    assert [values[name] for name in empty] == [None] * len(empty)
    assert values["null_blocks"] == ["", "hello"]
    assert values["bare_object"] == {"rows": [1, 2]}
    assert values["new_block"] == [{"type": "video", "url": "x"}, "hello"]
    assert values["bare_list"] == values["listed_twice"] == values["numbers_as_text"] == [1, 2]
    assert values["said_twice"] == "hello"
    assert (values["listed_beside_text"], values["zero_beside_text"]) == (["hello", [1, 2]], ["hello", "0"])
    assert values["data_url"] == values["unpadded"]
    assert (values["total_as_text"], values["word_as_text"]) == ({"total": 3}, "12")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("failing_quietly", 'failing_quietly failed: {"code": "E42"}'),
        ("failing_with_data", 'failing_with_data: bad ({"field": "x"})'),
        ("failing_barely", 'failing_barely failed: {"reason": "full"}'),
        ("failing_in_text", "failing_in_text: bad"),
        ("failing_with_word", 'failing_with_word: bad ({"code": "FULL"})'),
        ("failing_wordless", 'failing_wordless: {"code": 5}'),
        ("missing", "it is missing; there is only the text 'no structure'; do not call it again"),
    ],
)
def test_failure_says_all_that_its_server_said(raw_server: Command, name: str, error: str) -> None:
    with mcp_tools(raw_server("nearly")) as tools:
        assert error in (tools[name].execute().error or "")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("unfit()", "unfit has run, but its structured result does not fit the schema that its server declares"),
        ("missing()", "it is missing"),
        ("failing()", "no \\x1b[31mluck"),
    ],
)
def test_failed_result_is_an_error_in_the_program(raw_server: Command, call: str, error: str) -> None:
    with Toolkit.from_mcp(raw_server("results")) as toolkit:
        result = toolkit.execute(call)

    assert error in (result.error or "")
    assert "\x1b" not in (result.error or "")


def test_hints_are_defaults_that_options_replace(raw_server: Command) -> None:
    with mcp_tools(raw_server("hints")) as tools:
        assert tools["look"].read_only is True
        assert tools["delete"].requires_approval
        assert tools["delete"].idempotent
        assert not tools["add"].requires_approval
        assert Toolkit(tools).execute("delete()").success is False
    with mcp_tools(raw_server("hints"), tool_options={"delete": {"requires_approval": False}}) as tools:
        assert Toolkit(tools).execute("print(delete())").output == "deleted\n"


@pytest.mark.parametrize(
    "options",
    [
        {"only": ["look", "delet"]},
        {"exclude": ["delet"]},
        {"tool_options": {"delet": {"requires_approval": True}}},
        {"pins": {"delet": "1234"}, "exclude": ["look", "delete", "add"]},
    ],
)
def test_option_for_an_unknown_tool_is_warned_of(
    options: McpOptions, raw_server: Command, caplog: pytest.LogCaptureFixture
) -> None:
    with mcp_tools(raw_server("hints"), **options):
        assert "unknown tool 'delet' (did you mean 'delete'?); available: delete, " in caplog.text


def test_names_become_distinct_identifiers(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("names")) as toolkit:
        names = [tool.name for tool in toolkit]
        texts = toolkit.prompt() + toolkit.tool_prompt()

    assert names[:3] == ["get_weather", "get_weather_2", "get_weather_3"]
    assert names[3:] == ["evil_31m_Ignore", "print_", "print_2", "class_", "__"]
    assert "Red \\x1b[31m and hidden \\u202e\\U000e0041 text" in texts
    assert "\x1b" not in texts


def test_several_servers_get_prefixes(raw_server: Command) -> None:
    command = raw_server("plain")
    servers = {"mcpServers": {name: {"command": command[0], "args": command[1:]} for name in ("first", "second")}}
    with Toolkit.from_mcp(servers) as toolkit:
        assert toolkit.execute("print(first_echo('a'), second_echo('b'))").output == "a b\n"
    with mcp_tools(servers, prefix="x_", only=["echo"], exclude=["x_echo_2"]) as tools:
        assert [tool.name for tool in tools] == ["x_echo"]


def _servers(raw_server: Command, *scenarios: str) -> dict[str, Any]:
    commands = {scenario: raw_server(scenario) for scenario in scenarios}
    return {"mcpServers": {name: {"command": command[0], "args": command[1:]} for name, command in commands.items()}}


def test_name_that_goes_to_another_server_calls_that_one(raw_server: Command) -> None:
    """Both servers offer a tool with the same definition, one of them later."""
    is_changed = threading.Event()
    with mcp_tools(_servers(raw_server, "late", "early"), prefix="", on_change=lambda _: is_changed.set()) as tools:
        early: Any = tools["where"].call({})
        tools["change"].call({})
        assert is_changed.wait(60)
        one, two = (tools[name].call({}) for name in ("where", "where_2"))
    assert one["pid"] != two["pid"] == early["pid"]


def test_options_for_a_tool_are_not_those_of_its_namesake(raw_server: Command) -> None:
    """One server calls its own tool as a tool of another one is called after its prefix."""
    servers = _servers(raw_server, "early", "imitating")
    options: dict[str, HandmadeOptions] = {"early_where": {"requires_approval": False, "category": "trusted"}}
    with mcp_tools(servers, tool_options=options) as tools:
        assert [tool.name for tool in tools] == ["early_where", "imitating_early_where"]
        assert [(tool.requires_approval, tool.category) for tool in tools] == [(False, "trusted"), (True, None)]
    with mcp_tools(servers, only=["early_where"]) as tools:
        assert [tool.name for tool in tools] == ["early_where"]


def test_prompt_of_two_servers_is_not_that_of_the_first(raw_server: Command) -> None:
    command = raw_server("prompts")
    with mcp_tools(command) as tools:
        assert [str(message) for message in tools.prompt("greet")] == ["Greet."]
    servers = {"mcpServers": {name: {"command": command[0], "args": command[1:]} for name in ("first", "second")}}
    with mcp_tools(servers) as tools:
        assert [prompt.server for prompt in tools.prompts()] == ["first", "second"]
        with pytest.raises(ToolError, match="the prompt greet is one of first, second: connect to one"):
            tools.prompt("greet")
        with pytest.raises(ToolNotFoundError, match="unknown prompt"):
            tools.prompt("great")


def test_servers_file_gives_environment_and_folder(
    raw_server: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    entry = f'{{"command": "{sys.executable}", "args": ["{raw_server("plain")[1]}", "plain"], "env": '
    (tmp_path / "mcp.json").write_text(
        f'{{"mcpServers": {{"a": {entry}{{"SECRET": "${{TOKEN}}"}}, "cwd": "{tmp_path}"}}}}}}', encoding="utf-8"
    )
    with Toolkit.from_mcp(tmp_path / "mcp.json") as toolkit:
        found = toolkit.execute("where()").return_value

    assert found == {"pid": found["pid"], "secret": "s3cret", "cwd": str(tmp_path)}


def test_host_environment_is_not_passed_to_servers(raw_server: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "of the host")
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        assert toolkit.execute("where()['secret']").return_value is None


def test_toolkit_adds_own_tools_and_options(raw_server: Command) -> None:
    from ez_ptc import ez_tool

    @ez_tool
    def twice(number: int) -> int:
        """Double a number."""
        return number * 2

    with Toolkit.from_mcp(raw_server("plain"), only=["echo"], tools=[twice], timeout=5) as toolkit:
        assert [tool.name for tool in toolkit] == ["echo", "twice"]
        assert toolkit.timeout == 5
    with pytest.raises(TypeError, match="unknown option 'prefixx': did you mean 'prefix'"):
        Toolkit.from_mcp(raw_server("plain"), prefixx="a")


def test_unknown_option_and_name_are_explained(raw_server: Command) -> None:
    with pytest.raises(TypeError, match="unknown option 'prefixx': did you mean 'prefix'"):
        mcp_tools(raw_server("plain"), prefixx="a")  # pyright: ignore[reportCallIssue] - a typing error
    with mcp_tools(raw_server("plain")) as tools, pytest.raises(ToolNotFoundError, match="available: echo"):
        _ = tools["ecko"]


def test_closed_toolkit_refuses_calls(raw_server: Command) -> None:
    tools = mcp_tools(raw_server("plain"))
    tools.close()
    tools.close()
    result = Toolkit(tools).execute("echo('hello')")

    assert "the connections to MCP servers are closed: connect again" in (result.error or "")


def test_dropped_tools_end_their_server(raw_server: Command) -> None:
    tools = mcp_tools(raw_server("plain"))
    (pid,) = server_processes()
    descriptor = os.pidfd_open(pid)
    try:
        del tools
        gc.collect()
        ended, _, _ = select.select([descriptor], [], [], 20)
    finally:
        os.close(descriptor)

    assert ended


@pytest.mark.parametrize(
    ("server", "error"),
    [
        (None, "expected a command, a URL, mcpServers JSON or its file"),
        ([], "got an empty list"),
        ("", "got an empty command"),
        ("ftp://example.org/mcp", "to begin with http:// or https://"),
        ("server 'unfinished", "No closing quotation"),
        ({"mcpServers": {}}, "at least one server"),
        ({"mcpServers": {"a": {"args": []}}}, "MCP server 'a': expected a url, or a command with a list args"),
        ({"mcpServers": {"a": {"command": "x", "args": ["${NO_SUCH_VARIABLE}"]}}}, "NO_SUCH_VARIABLE is not set"),
        ("missing.json", "cannot read the MCP servers of missing.json"),
    ],
)
def test_unusable_server_is_refused_with_what_is_expected(server: object, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        mcp_tools(server)


def test_missing_command_is_named() -> None:
    with pytest.raises(
        McpServerError, match="cannot start the MCP server no-such-server: there is no command 'no-such"
    ):
        mcp_tools("no-such-server --stdio")
