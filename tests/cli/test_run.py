"""`ez-ptc run`: programs from files, with a toolkit of the user's, in the real sandbox."""

import io
import json
import logging
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ez_ptc.cli.app import main
from ez_ptc.cli.terminal import show_progress

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")

TOOLS = """
    import datetime
    import sys
    import threading
    import time
    from ez_ptc import Limits, Toolkit, ez_tool

    @ez_tool
    def find(query: str) -> list[int]:
        '''Find numbers.'''
        return []

    @ez_tool
    def double(number: int) -> int:
        '''Double a number.'''
        return 2 * number

    @ez_tool
    def today() -> datetime.date:
        '''Return a day.'''
        return datetime.date(2026, 1, 31)

    @ez_tool
    def fail() -> int:
        '''Fail.'''
        raise ValueError("no luck")

    @ez_tool
    def was_shown(line: str, seconds: float = 20) -> bool:
        '''Wait until a line stands on standard error, and return whether it does.'''
        end = time.monotonic() + seconds
        while line not in sys.stderr.getvalue() and time.monotonic() < end:
            threading.Event().wait(0.01)
        return line in sys.stderr.getvalue()

    tools = [double, today, fail, was_shown]
    toolkit = Toolkit(tools)
    spare = Toolkit([double])
    cut = Toolkit([find], limits=Limits(output=100))
    number = 7
"""

Run = Callable[..., int]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the module `my_tools` in it, and the present folder."""
    (tmp_path / "my_tools.py").write_text(textwrap.dedent(TOOLS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    loaded = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - loaded:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


@pytest.fixture
def run(project: Path) -> Run:
    """Write a program to a file and run it."""

    def run(program: str, *options: str, tools: str = "my_tools:toolkit") -> int:
        (project / "program.py").write_text(program)
        return main(["run", "program.py", "--tools", tools, *options])

    return run


def test_program_output_is_printed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("for n in range(3):\n    print(double(n))") == 0
    captured = capsys.readouterr()
    assert captured.out == "0\n2\n4\n"
    assert captured.err == ""


def test_value_of_silent_program_is_printed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("double(21)") == 0
    assert capsys.readouterr().out == "42\n"


def test_failure_is_printed_on_standard_error(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print('before')\nfail()") == 1
    captured = capsys.readouterr()
    assert captured.out == "before\n"
    assert "no luck" in captured.err
    assert "fail()" in captured.err


def test_facts_of_a_failure_are_printed_as_a_model_reads_them(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys; print('x' * 300); print('unfinished', end='', file=sys.stderr); print(find('tea')[0])"
    assert run(code, tools="my_tools:cut") == 1
    lines = capsys.readouterr().err.splitlines()
    assert "find(query='tea') returned []" in "".join(lines[-2:])
    assert "more bytes were cut: print less" in lines[-1]


def test_cut_output_of_a_success_is_said_to_be_cut(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print('x' * 300)", tools="my_tools:cut") == 0
    captured = capsys.readouterr()
    assert (len(captured.out), captured.err) == (100, "[201 more bytes were cut: print less.]\n")


def test_calls_option_shows_calls(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print(double(4))\ntry:\n    fail()\nexcept Exception:\n    pass", "--calls") == 0
    captured = capsys.readouterr()
    assert captured.out == "8\n"
    first, second = captured.err.splitlines()
    assert first == "double(4) -> 8"
    assert second.startswith("fail() -> error: ")


def test_calls_are_shown_while_the_program_runs(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print(double(4), was_shown('double(4) -> 8'), was_shown('never', 0))", "--calls") == 0
    assert capsys.readouterr().out == "8 True False\n"


def test_program_is_read_from_standard_input(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("print('é', double(1))".encode())))
    assert main(["run", "-", "--tools", "my_tools:toolkit"]) == 0
    assert capsys.readouterr().out == "é 2\n"


def test_json_has_the_whole_result(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print('hello')\n(today(), b'\\x00\\xff', float('nan'))", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["output"] == "hello\n"
    assert result["return_value"] == ["2026-01-31", "AP8=", "NaN"]
    assert result["success"] is True
    assert result["error"] is None
    assert result["status"] == "done"
    (call,) = result["tool_calls"]
    assert (call["name"], call["args"], call["result"]) == ("today", [], "2026-01-31")


def test_json_includes_values_without_json_form(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("{'\\ud800': '\\ud800', 'n': 10**5_000, 1: float('-inf')}", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["return_value"] == {"\ufffd": "\ufffd", "n": "<an integer of 16610 bits>", "1": "-Infinity"}


def test_json_has_error_and_exit_code_one(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print(nothing)", "--json") == 1
    result = json.loads(capsys.readouterr().out)
    assert result["success"] is False
    assert "nothing" in result["error"]
    # They are for the toolkit: the progress has the caller's context.
    assert {"keeper", "max_text", "progress"}.isdisjoint(result)


def test_timeout_option_stops_program(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("while True:\n    pass", "--timeout", "0.2") == 1
    assert "0.2" in capsys.readouterr().err


@pytest.mark.parametrize("timeout", ["inf", "nan", "-inf", "0", "-1", "1e300", "31622400", "-0.0", "1e-400"])
def test_invalid_timeout_is_explained(timeout: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print(1)", "--timeout", timeout) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("ez-ptc: --timeout: expected a positive number of seconds, at most a year, got ")
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_byte_order_mark_is_ignored(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "program.py").write_bytes(b"\xef\xbb\xbfprint(double(4))\r\n")
    assert main(["run", "program.py", "--tools", "my_tools:toolkit"]) == 0
    assert capsys.readouterr().out == "8\n"


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ("my_tools", "expected the tools as module:name, such as shop:toolkit, got 'my_tools'"),
        ("my_tools:", "expected the tools as module:name"),
        (":toolkit", "expected the tools as module:name"),
        ("my_tols:toolkit", "no module 'my_tols' in "),
        ("my_tools.deeper:toolkit", "no module 'my_tools.deeper' in "),
        ("my_tools.py:toolkit", "my_tools instead of my_tools.py"),
        ("./folder/my_tools.py:toolkit", "folder.my_tools instead of ./folder/my_tools.py"),
        ("my_tools:tolkit", "my_tools has no 'tolkit'; its Toolkits: toolkit, spare"),
        ("my_tools:number", "expected my_tools:number to be a Toolkit, got int: write toolkit = Toolkit([...])"),
        ("my_tools:tools", "expected my_tools:tools to be a Toolkit, got list"),
        ("my_tools:double", "expected my_tools:double to be a Toolkit, got Tool"),
    ],
)
def test_missing_toolkit_is_explained(tools: str, words: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print(1)", tools=tools) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("ez-ptc: ")
    assert words in captured.err
    assert not captured.out


def test_module_with_missing_import_raises_as_python(project: Path, run: Run) -> None:
    """The mistake is in the user's module, and Python's own words name it best."""
    (project / "broken.py").write_text("import nowhere_to_be_found")
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        run("print(1)", tools="broken:toolkit")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.py", None, "No such file or directory: missing.py"),
        (".", None, "Is a directory: ."),
        ("latin.py", "print('é')".encode("latin-1"), "latin.py is not UTF-8 text"),
    ],
)
def test_unreadable_program_is_explained(
    name: str, content: bytes | None, words: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (project / name).write_bytes(content)
    assert main(["run", name, "--tools", "my_tools:toolkit"]) == 2
    assert f"cannot read the program: {words}" in capsys.readouterr().err


def test_options_may_come_before_the_program(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "program.py").write_text("print(double(5))")
    assert main(["run", "--json", "--tools", "my_tools:toolkit", "program.py"]) == 0
    assert json.loads(capsys.readouterr().out)["output"] == "10\n"


def test_unknown_option_is_not_a_program(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "program.py", "--tools", "my_tools:toolkit", "--fast"]) == 2
    assert "--fast" in capsys.readouterr().err


def test_sandbox_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("ez_ptc.sandbox")
    with show_progress():
        log.info("loading %s", "pandas\x1b[2J")
    log.info("and nothing more")
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "ez-ptc: loading pandas\\x1b[2J\n")


def test_mistakes_of_program_are_printed_without_running_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "program.py").write_text("print(double(2))\nprint(duble(3), len(7))\n")
    assert main(["check", "program.py", "--tools", "my_tools:toolkit"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("program.py:2: NameError: name 'duble' is not defined\n")
    assert "Suggestion: print(double(3), len(7)) [undefined-name]\n" in printed
    assert "[built-in-arguments]\n" in printed
    assert "4" not in printed.splitlines()


def test_check_of_right_program_prints_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "program.py").write_text("print(double(2))\n")
    assert main(["check", "program.py", "--tools", "my_tools:toolkit"]) == 0
    assert capsys.readouterr().out == ""


def test_no_file_of_the_folder_replaces_an_installed_module(project: Path) -> None:
    for name in ("typing_extensions", "anyio", "pydantic", "sqlite3", "opentelemetry"):
        (project / f"{name}.py").write_text("raise SystemExit('a file of the folder ran')")
    (project / "program.py").write_text("print(double(4))")
    start = "import sys; sys.path.remove(''); from ez_ptc.cli.app import main; raise SystemExit(main())"
    command = [sys.executable, "-c", start, "run", "program.py", "--tools", "my_tools:toolkit"]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.stdout, ended.returncode) == ("8\n", 0), ended.stderr


def test_installed_package_that_hides_the_folders_is_named(
    project: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "json").mkdir()
    (project / "json/shop.py").write_text("")
    assert run("1", tools="json.shop:toolkit") == 2
    assert "no module 'json.shop' in " in (printed := capsys.readouterr().err)
    assert "which is found first: rename yours" in printed


def test_prints_of_the_module_are_no_output(project: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "my_tools.py").write_text(f"print('loading')\n{textwrap.dedent(TOOLS)}")
    assert run("print(double(4))", "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["output"] == "8\n"
    assert "loading" in printed.err
