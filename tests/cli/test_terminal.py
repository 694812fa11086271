"""What a command writes to a terminal, to a pipe, and to one that takes few characters."""

import io
import json
import os
import pty
import select
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ez_ptc import Toolkit
from ez_ptc.cli.app import main
from ez_ptc.cli.terminal import discard_pending_input, printable, printable_lines, write

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
TOOLS = """
    from ez_ptc import ToolError, Toolkit, ez_tool

    @ez_tool
    def put(value: object) -> object:
        '''Put it.'''
        return value

    @ez_tool
    def fail() -> int:
        '''Fail.'''
        raise ToolError("\\x1b]0;pwned\\x07\\x1b[2Jhost says:\\r approved\\u202e\\ud800")

    toolkit = Toolkit([put, fail])
"""
COMMAND = [sys.executable, "-c", "import sys; from ez_ptc.cli.app import main; sys.exit(main())"]
FORGING = "print('\\x1b]0;pwned\\x07 \\x1b[31m a\\rb \\u202e \\x9b2J \\x08 \\u2028 é €1\\xa0000 \\t.')\nfail()"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "my_tools.py").write_text(textwrap.dedent(TOOLS))
    return tmp_path


def in_terminal(project: Path, program: str, *options: str) -> str:
    """Return what a person sees of a program that is run in a terminal."""
    (project / "program.py").write_text(program, encoding="utf-8")
    command = [*COMMAND, "run", "program.py", "--tools", "my_tools:toolkit", *options]
    environment = {**os.environ, "PYTHONPATH": SOURCE, "PYTHONIOENCODING": "utf-8", "TERM": "dumb"}
    master, slave = pty.openpty()
    with subprocess.Popen(command, cwd=project, env=environment, stdin=slave, stdout=slave, stderr=slave):
        os.close(slave)
        seen = b""
        while True:
            try:
                part = os.read(master, 1 << 16)
            except OSError:  # what a terminal says whose last writer has gone
                break
            if not part:
                break
            seen += part
    os.close(master)
    return seen.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[None]:
    """Keep the shared sandbox open from one command to the next."""
    with Toolkit([]) as toolkit:
        toolkit.execute("")
        yield


@pytest.fixture
def run(
    project: Path, monkeypatch: pytest.MonkeyPatch, sandbox: None
) -> Iterator[Callable[..., tuple[int, bytes, bytes]]]:
    """Run a program as the command does, with streams of an encoding that lead to another program."""
    del sandbox
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(program: str, *options: str, encoding: str) -> tuple[int, bytes, bytes]:
        (project / "program.py").write_text(program, encoding="utf-8")
        written = io.BytesIO(), io.BytesIO()
        out, err = (io.TextIOWrapper(each, encoding=encoding) for each in written)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        code = main(["run", "program.py", "--tools", "my_tools:toolkit", *options])
        out.flush()
        err.flush()
        return code, written[0].getvalue(), written[1].getvalue()

    yield run
    sys.modules.pop("my_tools", None)


def test_program_output_cannot_control_terminal(project: Path) -> None:
    seen = in_terminal(project, FORGING, "--calls")
    assert not [each for each in seen if not each.isprintable() and each not in "\n\t\xa0"]
    for escaped in ("\\x1b]0;pwned\\x07", "a\\rb", "\\u202e", "\\x9b2J", "\\x08", "\\u2028"):
        assert escaped in seen
    assert "é €1\xa0000 \t." in seen
    assert "fail() -> error: " in seen


def test_pipe_gets_unchanged_output(run: Callable[..., tuple[int, bytes, bytes]]) -> None:
    _, output, _ = run("print('\\x1b[31mred\\x1b[0m é')", encoding="utf-8")
    assert output.decode() == "\x1b[31mred\x1b[0m é\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "cp1252"])
@pytest.mark.parametrize("options", [(), ("--calls",), ("--json",)])
@pytest.mark.parametrize(
    "program",
    [
        "print('é € \\u4e16')\nput('\\ud800')",
        "{'\\ud800': '\\ud800', 'é': '\\u4e16'}",
        "put(10**5_000)",
        "[10**5_000, float('nan'), float('-inf'), b'\\xff', {1: 2}, (3,)]",
        "raise ValueError('é \\u4e16 \\ud800')",
        "fail()",
    ],
)
@pytest.mark.sampled(every=5)
def test_any_output_fits_any_stream_encoding(
    run: Callable[..., tuple[int, bytes, bytes]], program: str, options: tuple[str, ...], encoding: str
) -> None:
    code, output, _ = run(program, *options, encoding=encoding)
    assert code in {0, 1}
    if options == ("--json",):
        assert output.isascii()
        json.loads(output)


def test_pending_input_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    with os.fdopen(master, "wb", buffering=0) as keyboard, os.fdopen(slave) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        keyboard.write(b"y\n")
        assert select.select([terminal], [], [], 60)[0]
        discard_pending_input()
        assert not select.select([terminal], [], [], 0)[0]
        keyboard.write(b"no\n")
        assert terminal.readline() == "no\n"


def test_piped_input_is_not_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    discard_pending_input()
    assert sys.stdin.readline() == "y\n"


def test_characters_are_escaped_as_in_python() -> None:
    assert printable("a\x1b\n\u202e\ud800é\x7f") == "a\\x1b\\n\\u202e\\ud800é\\x7f"
    assert printable_lines("a\r\n\tb") == "a\\r\n\tb"


def test_foreign_line_ends_are_accepted() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    write(terminal, "one\r\ntwo\rthree")
    assert terminal.getvalue() == "one\ntwo\\rthree"
