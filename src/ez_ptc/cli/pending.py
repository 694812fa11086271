"""The calls of a run that wait for a person, as text, with the commands that decide about them."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.cli.terminal import printable
from ez_ptc.formats.content import as_json
from ez_ptc.tools.approvals.questions import write_question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ez_ptc.messages import PendingCall

__all__ = ["PAUSED", "RunReference", "call_data", "pending_data", "pending_lines"]

# The exit code of a command whose run waits for a person.
PAUSED: Final = 3

_MAX_CALLS: Final = 20
_ANY_TOOLKIT: Final = "module:toolkit"
# The lines with a question: the run's, three empty ones, the commands, and the next prompt of the shell.
_OTHER_LINES: Final = 8


@dataclass(frozen=True, slots=True)
class RunReference:
    """A run as command lines name it, and for whom it is; without `tools`, they have a placeholder."""

    id: str
    journal: Path | str
    tools: str | None = None
    principal: str | None = None

    def resume_command(self) -> str:
        """Return the command that continues the run."""
        principal = () if self.principal is None else ("--principal", self.principal)
        return self._command("resume", "--tools", self.tools or _ANY_TOOLKIT, *principal)

    def show_command(self) -> str:
        """Return the command that shows the run without cutting anything."""
        return self._command("show", "--full")

    def call_commands(self, call: PendingCall) -> list[str]:
        """Return the commands that decide about a call, the usual one first."""
        if call.state == "running":
            return []
        if call.state == "needs_approval":
            return [self._command("approve", call.path), self._command("deny", call.path)]
        return [
            self._command("settle", call.path, "--did-not-happen"),
            self._command("settle", call.path, "--happened", "null"),
        ]

    def _command(self, verb: str, *words: str) -> str:
        # An escaped name is not the run's or the file's, but what is printed must not control the terminal.
        command = ["ez-ptc", "runs", verb, self.id, *words, "--journal", str(self.journal)]
        return " ".join(shlex.quote(printable(word)) for word in command)


def pending_lines(run: RunReference, calls: Sequence[PendingCall], *, in_full: bool = False) -> Iterator[str]:
    """Yield the lines of a terminal that show what waits, and what to do next; `in_full` cuts no argument."""
    is_running = any(call.state == "running" for call in calls)
    if not calls:
        yield "To continue the run:"
    elif is_running:
        yield f"Run {printable(run.id)} has these calls under way:"
    elif len(calls) == 1:
        yield f"Run {printable(run.id)} waits for a decision about 1 call:"
    else:
        yield f"Run {printable(run.id)} waits for decisions about {len(calls):,} calls:"
    shown = calls if in_full else calls[:_MAX_CALLS]
    for call in shown:
        yield ""
        columns, lines = shutil.get_terminal_size()
        yield from write_question(call, columns=columns, lines=None if in_full else lines - _OTHER_LINES).split("\n")
        yield ""
        if call.state == "running":
            yield "    nothing can be decided about it until it has ended, or its process is gone"
        for command in run.call_commands(call):
            yield f"    {command}"
    if len(shown) < len(calls):
        yield f"  … and {len(calls) - len(shown):,} more: {run.show_command()}"
    if is_running:
        return
    if calls:
        yield "Then continue it:"
    yield f"    {run.resume_command()}"


def pending_data(run: RunReference, calls: Sequence[PendingCall]) -> dict[str, Any]:
    """Return the same as JSON: each call with its commands, and the command that continues the run."""
    return {
        "pending": [{**call_data(call), "commands": run.call_commands(call)} for call in calls],
        "resume_command": run.resume_command(),
    }


def call_data(call: PendingCall) -> dict[str, Any]:
    """Return a call as JSON."""
    return {field.name: as_json(getattr(call, field.name)) for field in fields(call)}
