"""The demo's output on the console."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.syntax import Syntax
from rich.text import Text

from ez_ptc.cli.calls import call_text, outcome_text
from ez_ptc.cli.terminal import printable_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from rich.console import Console
    from rich.progress import TaskID

    from examples.demo.recording import Recording

__all__ = ["Bars", "Screen"]

_STAGES: Final = {"check": "Checking the model", "download": "Downloading the model", "load": "Loading the model"}


class Bars:
    """Progress bars for the stages of preparing a model; without a terminal, a line for each quarter."""

    def __init__(self, progress: Progress) -> None:
        self._progress: Final = progress
        self._tasks: Final[dict[str, TaskID]] = {}
        self._quarters: Final[dict[str, int]] = {}

    def __call__(self, stage: str, /, *, done: int, total: int) -> None:
        """Show how far a stage is."""
        console, name = self._progress.console, _STAGES.get(stage, stage)
        if not console.is_terminal:
            quarter = done * 4 // max(total, 1)
            if self._quarters.get(stage, -1) < quarter:
                self._quarters[stage] = quarter
                console.print(f"{name}: {quarter * 25} %, {done / 1e6:,.0f} of {total / 1e6:,.0f} MB", highlight=False)
            return
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)


class Screen:
    """Prints the demo to a console, step by step."""

    def __init__(self, console: Console) -> None:
        self._console: Final = console

    def print(self, text: str, style: str = "") -> None:
        """Print a paragraph."""
        self._console.print(Text(printable_lines(text), style))

    def announce_recording(self, recording: Recording) -> None:
        """Announce a recorded run, and explain which parts are recorded."""
        text = (
            f"{recording.model} wrote the programs below on {recording.date}; no model is used now. "
            "The programs run now: the calls, the answers and the checks are live."
        )
        self._console.print(Panel(Text(text), title="RECORDED RUN", border_style="yellow", style="yellow"))

    @contextmanager
    def bars(self) -> Generator[Bars]:
        """Show progress bars while the context lasts."""
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self._console) as progress:
            yield Bars(progress)

    def show_question(self, number: int, text: str) -> None:
        """Show a question."""
        self._console.print()
        self._console.rule(Text(f"Question {number}", "bold"), align="left")
        self._console.print(Text(text, "bold cyan"))

    @contextmanager
    def show_thinking(self, *, is_retry: bool) -> Generator[None]:
        """Show that the model is writing."""
        with self._console.status("The model fixes its program" if is_retry else "The model writes a program"):
            yield

    def show_program(self, program: str) -> None:
        """Show a program."""
        code = Syntax(printable_lines(program.strip()), "python", background_color="default", word_wrap=True)
        self._console.print(Panel(code, title="the program", title_align="left", border_style="dim"))

    def show_call(self, call: Mapping[str, Any]) -> None:
        """Show a tool call that has ended."""
        line = Text("  → ", "dim").append(call_text(call), "default").append(f"  {outcome_text(call)}")
        self._console.print(line, overflow="ellipsis", no_wrap=True)

    def show_failure(self, reason: str) -> None:
        """Show the error of a program."""
        self._console.print(
            Panel(Text(printable_lines(reason)), title="it failed", title_align="left", border_style="red")
        )

    def show_answer(self, text: str, *, is_right: bool, expected: Mapping[str, float]) -> None:
        """Show an answer, and whether it is correct."""
        self._console.print(Text(printable_lines(text) or "no answer", "bold green" if is_right else "bold red"))
        if is_right:
            self._console.print(Text("✔ correct according to the database", "green"))
        else:
            facts = ", ".join(f"{name}: {number:g}" for name, number in expected.items())
            self._console.print(Text(f"✘ wrong; the database says {facts}", "red"))
