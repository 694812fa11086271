"""Write docs/cli-reference.md from the help texts of the command line; a test compares them."""

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["PAGE", "help_text", "main", "render"]

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "cli-reference.md"
_HEAD: Final = """\
# Command line

All commands of `ez-ptc`, with their own help texts; `scripts/make_cli_reference.py` writes this page. The command
needs the extra `cli` ([installation](getting-started.md#installation)).

The exit code is 0 for success, 1 for a failed program or missing isolation, 2 if the command itself failed, and 3 if a
run waits for a decision.
"""
_COMMANDS: Final = re.compile(r"^╭─ Commands ─.*?\n(.*?)^╰", re.MULTILINE | re.DOTALL)
_COMMAND: Final = re.compile(r"^│ (\w[\w-]*) {2,}\S", re.MULTILINE)


def help_text(command: list[str]) -> str:
    """Return what a command prints for `--help`, 100 characters wide."""
    from ez_ptc.cli.app import main as run_command_line

    before = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR", "TERM")}
    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            run_command_line([*command, "--help"])
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    return "\n".join(line.rstrip() for line in printed.getvalue().splitlines()).strip("\n")


def render() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *_sections([])])


def _sections(command: list[str]) -> Iterator[str]:
    text = help_text(command)
    yield f"## `{' '.join(['ez-ptc', *command])}`\n"
    yield f"```text\n{text}\n```\n"
    for names in _COMMANDS.findall(text):
        for name in _COMMAND.findall(names):
            yield from _sections([*command, name])


def main() -> None:
    """Write the page."""
    PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
