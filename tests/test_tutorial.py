"""The tutorial as its reader follows it: each file saved, each command run, and what it prints compared.

`make test-tutorial` runs it in an environment that holds only what the page installs.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r'^```(?:python title="(?P<name>[\w.]+)"|console)\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
BIN = Path(os.environ.get("EZ_PTC_TUTORIAL_BIN", Path(sys.executable).parent))


def run_command(command: str, folder: Path) -> str:
    """Run a command of the page, with the environment's programs first, and return what it prints."""
    program, *arguments = shlex.split(command)
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(
        [BIN / program, *arguments],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def follow_page(folder: Path) -> int:
    """Follow the page in a folder, and return how many commands were run."""
    commands = 0
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["name"]:
            (folder / block["name"]).write_text(block["text"], encoding="utf-8")
            continue
        command, _, expected = block["text"].removeprefix("$ ").partition("\n")
        assert run_command(command, folder) == expected
        commands += 1
    return commands


@pytest.mark.security
def test_tutorial_prints_what_it_shows_and_serves_its_page(tmp_path: Path) -> None:
    assert follow_page(tmp_path) == 4
    command = [BIN / "python", "page.py", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            with urllib.request.urlopen(server.stdout.readline().strip(), timeout=30) as answer:
                page = answer.read().decode()
        finally:
            server.kill()
    assert page.startswith("<h1>refund-ada</h1><p>done</p><pre>print(refund(")


def test_every_file_of_the_tutorial_compiles() -> None:
    names: list[str] = []
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if block["name"]:
            compile(block["text"], block["name"], "exec")
            names.append(block["name"])
    assert names == ["shop.py", "total.py", "question.py", "start.py", "approve.py", "page.py"]
