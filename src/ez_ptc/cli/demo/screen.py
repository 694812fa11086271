"""What a person sees of the demo."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rich.panel import Panel
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.syntax import Syntax
from rich.text import Text

from ez_ptc.cli.calls import call_text, outcome_text
from ez_ptc.cli.terminal import harmless

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from rich.console import Console
    from rich.progress import TaskID

    from ez_ptc.cli.demo.recording import Recording

__all__ = ["Bars", "Screen"]

_STAGES: Final = {"check": "Checking the model", "download": "Downloading the model", "load": "Loading the model"}


class Bars:
    """Shows how far the stages of getting a model ready are, a bar for each."""

    def __init__(self, progress: Progress) -> None:
        self._progress: Final = progress
        self._tasks: Final[dict[str, TaskID]] = {}

    def __call__(self, stage: str, /, *, done: int, total: int) -> None:
        """Show how far a stage is."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(_STAGES.get(stage, stage), total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)


class Screen:
    """Writes the demo to a console, line by line as it happens."""

    def __init__(self, console: Console) -> None:
        self._console: Final = console

    def say(self, text: str, style: str = "") -> None:
        """Write a paragraph."""
        self._console.print(Text(harmless(text), style))

    def recording(self, recording: Recording) -> None:
        """Say that what follows is a recorded run, and what of it is recorded."""
        text = (
            f"The programs below were written by {recording.model} on {recording.date}; no model is asked now. "
            "They are run now: the calls, the answers and the checks are of this moment."
        )
        self._console.print(Panel(Text(text), title="RECORDED RUN", border_style="yellow", style="yellow"))

    @contextmanager
    def bars(self) -> Generator[Bars]:
        """Show progress bars while the context lasts."""
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self._console) as progress:
            yield Bars(progress)

    def question(self, number: int, text: str) -> None:
        """Show a question."""
        self._console.print()
        self._console.rule(Text(f"Question {number}", "bold"), align="left")
        self._console.print(Text(text, "bold cyan"))

    @contextmanager
    def thinking(self, *, again: bool) -> Generator[None]:
        """Show that the model is writing."""
        words = "The model mends its program" if again else "The model writes a program"
        with self._console.status(words):
            yield

    def wrote(self, program: str) -> None:
        """Show a program."""
        code = Syntax(harmless(program.strip()), "python", background_color="default", word_wrap=True)
        self._console.print(Panel(code, title="the program", title_align="left", border_style="dim"))

    def called(self, call: Mapping[str, Any]) -> None:
        """Show a tool call that has ended."""
        line = Text("  → ", "dim").append(call_text(call), "default").append(f"  {outcome_text(call)}")
        self._console.print(line, overflow="ellipsis", no_wrap=True)

    def failed(self, reason: str) -> None:
        """Show why a program gave no answer."""
        self._console.print(Panel(Text(harmless(reason)), title="it failed", title_align="left", border_style="red"))

    def answer(self, text: str, *, right: bool, expected: Mapping[str, float]) -> None:
        """Show an answer, and whether it is right."""
        self._console.print(Text(harmless(text) or "no answer", "bold green" if right else "bold red"))
        if right:
            self._console.print(Text("✔ right: the database says the same", "green"))
        else:
            facts = ", ".join(f"{name}: {number:g}" for name, number in expected.items())
            self._console.print(Text(f"✘ wrong: the database says {facts}", "red"))
