"""Every tool, resource and prompt of real servers: listed, called from a program, and their errors arrive."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Elicitation, ExecutionResult, McpLog, McpProgress, McpTools, Tool, Toolkit, mcp_tools
from ez_ptc.mcp.client.settings import McpOptions
from tests.mcp.real.conftest import Peers


def call(tools: McpTools, code: str) -> ExecutionResult:
    """Run a program that may call all tools of a server."""
    with Toolkit(tools, approve=lambda call: True) as toolkit:
        return toolkit.execute(code)


def call_each(tools: McpTools, arguments: dict[str, str]) -> None:
    """Call each tool of a server from a program, with the arguments given for some, and expect success."""
    assert set(arguments) <= {tool.name for tool in tools}
    for tool in tools:
        result = call(tools, f"{tool.name}({arguments.get(tool.name, '')})")
        assert result.success, f"{tool.name}: {result.error}"


def test_time_server_answers_and_refuses(peers: Peers) -> None:
    with mcp_tools(peers.python("mcp-server-time")) as tools:
        call_each(tools, {"get_current_time": "'Europe/Oslo'", "convert_time": "'Europe/Oslo', '12:00', 'Asia/Tokyo'"})
        code = "convert_time('Europe/Oslo', '12:00', 'Asia/Tokyo')['target']['timezone']"
        assert call(tools, code).return_value == "Asia/Tokyo"
        assert "Invalid timezone" in (call(tools, "get_current_time('Mars/Base')").error or "")


def test_git_server_works_on_a_repository(peers: Peers, tmp_path: Path) -> None:
    commands = ["init -q -b main", "config user.name A", "config user.email a@example.org"]
    for command in [*commands, "commit -q --allow-empty -m first"]:
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    (tmp_path / "a.txt").write_text("a\n")
    place = repr(str(tmp_path))
    with mcp_tools([peers.python("mcp-server-git"), "--repository", str(tmp_path)]) as tools:
        names = {tool.name for tool in tools}
        code = (
            f"git_add({place}, ['a.txt'])\ngit_diff_staged({place})\ngit_commit({place}, 'second')\n"
            f"git_create_branch({place}, 'other')\ngit_checkout({place}, 'other')\n"
            f"git_diff({place}, 'main')\ngit_diff_unstaged({place})\ngit_show({place}, 'HEAD')\n"
            f"git_branch({place}, 'local')\ngit_reset({place})\ngit_status({place})\n"
            f"print(git_log({place}, 1))"
        )
        result = call(tools, code)
        assert "second" in result.output, result.error
        assert {name for name in names if name not in code} == set()
        assert not call(tools, f"git_checkout({place}, 'missing')").success


def test_filesystem_server_reads_and_writes(peers: Peers, tmp_path: Path) -> None:
    place = tmp_path / "folder"
    place.mkdir()
    (place / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    file, moved = repr(str(place / "a.txt")), repr(str(place / "b.txt"))
    command = [*peers.node("server-filesystem", "dist/index.js"), str(place)]
    with mcp_tools(command, roots=[place]) as tools:
        names = {tool.name for tool in tools}
        folder, picture = repr(str(place)), repr(str(place / "picture.png"))
        code = (
            f"write_file({file}, 'one\\ntwo\\n')\nread_file({file})\nread_text_file({file}, head=1)\n"
            f"read_multiple_files([{file}])\nedit_file({file}, [{{'oldText': 'one', 'newText': 'three'}}])\n"
            f"create_directory({folder} + '/deep')\nlist_directory({folder})\n"
            f"list_directory_with_sizes({folder})\ndirectory_tree({folder})\nsearch_files({folder}, '*.txt')\n"
            f"get_file_info({file})\nlist_allowed_directories()\nread_media_file({picture})\n"
            f"move_file({file}, {moved})\nprint(read_text_file({moved}))"
        )
        result = call(tools, code)
        assert "three" in result.output, result.error
        assert {name for name in names if name not in code} == set()
        assert "Access denied" in (call(tools, "read_text_file('/etc/passwd')").error or "")
        assert tools["write_file"].requires_approval
        assert tools["read_text_file"].read_only


def test_memory_server_keeps_a_graph(peers: Peers, tmp_path: Path) -> None:
    command = peers.node("server-memory", "dist/index.js")
    server = {"command": command[0], "args": command[1:], "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}}
    with mcp_tools({"mcpServers": {"memory": server}}) as tools:
        names = {tool.name for tool in tools}
        code = (
            "create_entities([{'name': n, 'entityType': 'person', 'observations': ['tall']} for n in ('Ada', 'Eve')])\n"
            "create_relations([{'from': 'Ada', 'to': 'Eve', 'relationType': 'knows'}])\n"
            "add_observations([{'entityName': 'Ada', 'contents': ['wise']}])\n"
            "print([e['name'] for e in search_nodes('wise')['entities']], len(open_nodes(['Eve'])['entities']))\n"
            "delete_observations([{'entityName': 'Ada', 'observations': ['tall']}])\n"
            "delete_relations([{'from': 'Ada', 'to': 'Eve', 'relationType': 'knows'}])\n"
            "delete_entities(['Eve'])\nprint(len(read_graph()['entities']))\n"
            "for resource in list_resources():\n    read_resource(resource['uri'])"
        )
        result = call(tools, code)
        assert result.output == "['Ada'] 1\n1\n", result.error
        assert {name for name in names if name not in code} == set()
        error = call(tools, "add_observations([{'entityName': 'No one', 'contents': ['x']}])").error
        assert "No one" in (error or "")


def test_everything_server_is_used_throughout(peers: Peers) -> None:
    progress: list[McpProgress] = []
    questions: list[Elicitation] = []
    logs: list[McpLog] = []

    def decline(question: Elicitation) -> None:
        questions.append(question)

    command = [*peers.node("server-everything", "dist/index.js"), "stdio"]
    options: McpOptions = {"on_progress": progress.append, "elicit": decline, "on_log": logs.append, "roots": ["."]}
    with pytest.warns(UserWarning, match="simulate-research-query"):
        served = mcp_tools(command, **options)
    with served as tools:
        failed = {tool.name: error for tool in tools if (error := error_of(tools, tool)) is not None}
        resources = call(tools, "print(len([read_resource(r['uri']) for r in list_resources()]))")
        failing = call(tools, "get_sum('one', 2)")
        for prompt in tools.prompts():
            assert tools.prompt(prompt.name, **{name: SPECIAL.get(name, "1") for name in prompt.parameters})

    assert set(failed) <= {"gzip_file_as_resource"}, failed  # it downloads, which a server may not be able to
    assert int(resources.output) > 0
    assert "must be float, got str" in (failing.error or "")
    assert progress
    assert questions


SPECIAL = {"resourceType": "Text", "url": "https://example.org/", "uri": "demo://resource/static/document/features.md"}


def error_of(tools: McpTools, tool: Tool[..., Any]) -> str | None:
    """Call a tool with a value for each argument it needs, and return its error."""
    arguments: dict[str, object] = {}
    for name in tool.parameters.get("required", []):
        schema = tool.parameters["properties"][name]
        number: object = 2 if schema.get("type") in ("number", "integer") else "1"
        arguments[name] = schema["enum"][0] if "enum" in schema else SPECIAL.get(name, number)
    return call(tools, f"{tool.name}(**{arguments!r})").error
