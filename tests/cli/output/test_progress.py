"""The bars of running calls."""

import io
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cyclopts", reason="the extra `cli` is not installed")

from ez_ptc import Context, ScriptedProvider, ToolCall, ez_tool, llm
from ez_ptc.cli.app import main
from ez_ptc.cli.chat import Chat
from ez_ptc.cli.output.progress import ProgressBars
from ez_ptc.conversation.saving.history import History
from ez_ptc.messages import PendingCall
from ez_ptc.sandbox.protocol.events import ApprovalNeeded, CallEnded, CallProgress

TOOLS = """
from ez_ptc import Context, Toolkit, ez_tool

@ez_tool
def load(count: int) -> int:
    '''Load.'''
    Context.progress(1, count, "[red]part\\x1b[31m")
    return count

shown, quiet = Toolkit([load]), Toolkit([load])
"""


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Make standard error a terminal. Not as a fixture: pytest replaces the streams between fixtures and their test."""
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return stream


def test_run_shows_bars_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bar_tools.py").write_text(TOOLS)
    (tmp_path / "program.py").write_text("print(load(4))")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    terminal = terminal_of(monkeypatch)
    assert main(["run", "program.py", "--tools", "bar_tools:shown"]) == 0
    assert "1 of 4 [red]part\\x1b[31m" in terminal.getvalue()
    assert "\x1b[2K" in terminal.getvalue().rpartition("1 of 4")[2]  # they are gone at the end
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    before = terminal.getvalue()
    assert main(["run", "program.py", "--tools", "bar_tools:quiet"]) == 0
    assert (terminal.getvalue(), capsys.readouterr().out) == (before, "4\n4\n")


def test_bars_give_way_to_questions_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)

    def written(event: object) -> str:
        before = len(terminal.getvalue())
        bars.add(event)
        return terminal.getvalue()[before:]

    with ProgressBars() as bars:
        assert "copy" in written(CallProgress("1", "", "copy", 5e9))
        assert "0 of 0" in written(CallProgress("2", "", "scan", 0, 0))
        written(ApprovalNeeded(PendingCall("3", "pay", {}, ""), "p"))
        assert written(CallProgress("1", "", "copy", 6e9)) == ""
        assert "7,000,000,000" in written(CallProgress("3", "", "pay", 7e9))
        with bars.paused():
            thread = threading.Thread(target=written, args=(CallProgress("1", "", "copy", 8e9),))
            thread.start()
            thread.join()
            assert "8,000" not in terminal.getvalue()
        for number in range(100):
            written(CallProgress(f"x{number}", "", "copy", 1, 9))
        assert written(CallProgress("3", "", "pay", 9, 3)).count("\n") < 10
        for name in ("1", "2", "3"):
            written(CallEnded(name, "", "copy", None, None, 1))


def test_chat_shows_bars_of_its_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context: Any = Context  # as a plain name, for type checkers know only that it marks parameters

    @ez_tool
    def load(count: int) -> int:
        """Load."""
        context.progress(2, count)
        return count

    lines = iter(["Load.", "/quit"])
    written: list[str] = []
    terminal = terminal_of(monkeypatch)
    builder = llm().tool(load).provider(ScriptedProvider(ToolCall("1", "load", {"count": 5}), "Done."))
    with History(tmp_path / "history.sqlite") as history:
        chat = Chat(builder, history, read=lambda _: next(lines), write=written.append, ask=lambda _: "")
        assert chat.run() == 0
    assert "2 of 5" in terminal.getvalue()
    assert "Done." in "".join(written)
