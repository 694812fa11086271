"""The calls of a run that wait for a person, as text, with the commands that decide about them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.cli.calls import argument_lines, ascii_name, full_text
from ez_ptc.cli.terminal import printable
from ez_ptc.formats.content import as_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ez_ptc.messages import PendingCall

__all__ = ["PAUSED", "RunReference", "call_data", "call_name", "pending_data", "pending_lines"]

# The exit code of a command whose run waits for a person.
PAUSED: Final = 3

_MAX_CALLS: Final = 20
_ANY_TOOLKIT: Final = "module:toolkit"
_STATES: Final = {
    "needs_approval": "needs approval",
    "outcome_unknown": "may have taken effect: find out",
    "running": "is running: nothing can be decided about it until it has ended, or its process is gone",
}


@dataclass(frozen=True, slots=True)
class RunReference:
    """A run as command lines name it; without `tools`, they have a placeholder."""

    id: str
    journal: Path
    tools: str | None = None

    def resume_command(self) -> str:
        """Return the command that continues the run."""
        return self._command("resume", "--tools", self.tools or _ANY_TOOLKIT)

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
        yield f"  {call_name(call)} {_STATES[call.state]}"
        yield from full_text(call.arguments) if in_full else argument_lines(call.arguments)
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


def call_name(call: PendingCall) -> str:
    """Return a call's tool and its position in the program: `refund (2.0.1)`."""
    return f"{ascii_name(call.tool)} ({ascii_name(call.path)})"
