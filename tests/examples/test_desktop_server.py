"""The server for a desktop client, called by a real client over standard input and output."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp import Client, StdioServerParameters, stdio_client

from tests.examples.running import EXAMPLES, environment_of

EXAMPLE = EXAMPLES / "desktop_server.py"


async def use_notes(folder: Path) -> list[str]:
    """Call the tools as a desktop client does, and return what its model reads."""
    server = StdioServerParameters(
        command=sys.executable, args=[str(EXAMPLE)], env=environment_of(NOTES=str(folder / "notes"))
    )
    texts: list[str] = []
    with anyio.fail_after(60):
        async with Client(stdio_client(server)) as client:
            for tool, arguments in (
                ("list_notes", {}),
                ("read_note", {"title": "../secret"}),
                ("append_note", {"title": "plan", "text": "Buy a lamp."}),
                ("execute_tools", {"code": "print([read_note(title) for title in list_notes()])"}),
            ):
                result = await client.call_tool(tool, arguments)
                texts.append("".join(getattr(part, "text", "") for part in result.content))
    return texts


@pytest.mark.security
def test_client_reads_notes_and_adds_none_unasked(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "shopping.md").write_text("A desk.", encoding="utf-8")
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")

    listed, outside, added, printed = anyio.run(use_notes, tmp_path)

    assert "shopping" in listed
    assert "no note is called '../secret'" in outside
    assert "append_note was not approved: this client cannot ask its user" in added
    assert "A desk." in printed
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["shopping.md"]


@pytest.mark.security
def test_entry_for_clients_starts_it() -> None:
    pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")
    command = ["ez-ptc", "serve", "desktop_server:toolkit", "--folder", str(EXAMPLES), "--print-config"]
    done = subprocess.run(
        [sys.executable, "-m", "ez_ptc.cli", *command[1:]], env=environment_of(), capture_output=True, check=True
    )

    [(name, entry)] = json.loads(done.stdout)["mcpServers"].items()
    assert name == "desktop_server"
    assert Path(entry["command"]).is_absolute()
