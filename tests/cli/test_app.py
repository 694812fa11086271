"""The command line as a whole: what is typed, what comes back."""

import subprocess
import sys
from pathlib import Path

import pytest

from ez_ptc.cli import demo
from ez_ptc.cli.app import main

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")


@pytest.mark.parametrize(("missing", "requirement"), [("cyclopts", "cyclopts>=4"), ("rich.console", "rich>=14")])
def test_missing_extra_names_install_command(
    missing: str, requirement: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["doctor"]) == 2
    assert capsys.readouterr().err.endswith(f'install it with: pip install "{requirement}"\n')


def test_importing_cli_imports_no_extra() -> None:
    """The command is installed without its extra as well, and must start to say so."""
    script = (
        "import sys; import ez_ptc.cli.app; "
        "print([name for name in ('cyclopts', 'rich', 'openai', 'xllamacpp') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_help_imports_neither_journals_nor_pydantic() -> None:
    script = (
        "import sys; from ez_ptc.cli.app import main; main(['runs', '--help']); "
        "print([name for name in ('pydantic_core', 'sqlite3', 'ez_ptc.messages') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ez-ptc ")


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("demo", "run", "ask", "chat", "doctor"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dance"], "dance"),
        (["run"], "file"),
        (["run", "program.py"], "--tools"),
        (["run", "program.py", "--tools", "a:b", "--timeout", "soon"], "soon"),
        (["run", "program.py", "--tools", "a:b", "--timeout", "0"], "timeout"),
        (["doctor", "--yaml"], "--yaml"),
    ],
)
def test_invalid_command_line_is_explained(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words.lower() in captured.err.lower()
    assert not captured.out


def test_installed_package_says_where_the_demo_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = tmp_path / "examples/demo/command.py"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("raise SystemExit('a program of the project that the package is installed in')")
    monkeypatch.setattr(demo, "__file__", str(tmp_path / "packages/ez_ptc/cli/demo.py"))
    assert main(["demo"]) == 2
    captured = capsys.readouterr()
    assert "clone the repository and run `make demo` there" in captured.err
    assert "ez-ptc chat --tools" in captured.err
    assert not captured.out


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["dance"], "ez-ptc --help"),
        (["serve"], "ez-ptc serve --help"),
        (["runs", "lst"], "ez-ptc runs --help"),
        (["chat", "shop:toolkit"], "--tools shop:toolkit\nFor its arguments and options: ez-ptc chat --help"),
        (["chat", "Hello"], "QUESTION --tools shop:toolkit\nFor its arguments and options: ez-ptc chat --help"),
        (["ask", "How", "many?", "--tools", "a:b"], 'in quotes: ez-ptc ask "How many lamps are there?" --tools sho'),
        (
            ["runs", "list", "x.db"],
            "an option, such as --journal x.db\nFor its arguments and options: ez-ptc runs list",
        ),
        (
            ["run", "total.py"],
            "as module:name; for `toolkit = Toolkit([...])` in shop.py: --tools shop:toolkit\nFor it",
        ),
        (
            ["run", "total.py", "shop:toolkit"],
            "in shop.py: --tools shop:toolkit\nFor its arguments and options: ez-ptc",
        ),
    ],
)
def test_wrong_command_names_its_help(arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert hint in capsys.readouterr().err


FULL = "ez-ptc: cannot write the output: No space left on device; make room, or send it elsewhere\n"
EMPTY = "the program is empty: write Python statements that call the tools and print the result\n"
STREAMS = {
    "a closed output": ("run - --tools shop:toolkit", ">&-", 0, ""),
    "a closed input": ("run - --tools shop:toolkit", "<&-", 1, EMPTY),
    "a closed error output": ("run missing.py --tools shop:toolkit", "2>&-", 2, ""),
    "all of them closed": ("doctor", "<&- >&- 2>&-", 0, ""),
    "a full disk": ("run - --tools shop:toolkit", "> /dev/full", 2, FULL),
    "a full disk for a table": ("doctor", "> /dev/full", 2, FULL),
    "a full disk for help": ("--help", "> /dev/full", 2, FULL),
}


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full and the sandbox are those of Linux")
@pytest.mark.parametrize("name", STREAMS)
def test_command_runs_with_any_standard_streams(name: str, tmp_path: Path) -> None:
    command, streams, code, message = STREAMS[name]
    (tmp_path / "shop.py").write_text("from ez_ptc import Toolkit\ntoolkit = Toolkit([])\n", encoding="utf-8")
    line = f"echo 'print(7)' | ( {sys.executable} -m ez_ptc.cli {command} {streams} )"

    done = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (code, message)
