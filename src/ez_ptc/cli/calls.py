"""Tool calls as text, on one line for a log or as they happen, and foreign text in lines of the terminal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.cli.terminal import printable
from ez_ptc.results.json_writer import base_of
from ez_ptc.sandbox.protocol.events import ApprovalNeeded, CallEnded, CallProgress, CallStarted
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ez_ptc.cli.output.progress import ProgressBars
    from ez_ptc.sandbox.protocol.execution import ExecutionResult

__all__ = ["CallLines", "call_text", "outcome_text", "quote_lines"]

_SEQUENCES: Final[frozenset[Any]] = frozenset({list, tuple})
_MAX_ARGUMENTS: Final = 20
_MAX_NAME: Final = 40
_MAX_ERROR: Final = 200
_MARGIN: Final = "      "
# A terminal with fewer columns is not a person's.
_MIN_WIDTH: Final = 40


def call_text(call: Mapping[str, Any]) -> str:
    """Return a call as Python code, from its record: `list_orders(2, status='open')`. Long arguments are cut."""
    positional: Sequence[object] = call["args"]
    named: Mapping[str, object] = call["kwargs"]
    arguments = [safe_repr(value) for value in positional]
    arguments += [f"{_short_name(name)}={safe_repr(value)}" for name, value in named.items()]
    omitted = len(arguments) - _MAX_ARGUMENTS
    if omitted > 0:
        arguments = [*arguments[:_MAX_ARGUMENTS], f"… {omitted:,} more"]
    return f"{_short_name(call['name'])}({', '.join(arguments)})"


def outcome_text(call: Mapping[str, Any]) -> str:
    """Return the outcome of a call in a few words, from its record: `3 records`, `{'units': 4}`, `error: …`."""
    if call["error"] is not None:
        error = printable(str(call["error"])[: _MAX_ERROR + 1])
        if len(error) > _MAX_ERROR:
            error = f"{error[:_MAX_ERROR]}…"
        return f"error: {error}"
    result: object = call["result"]
    base = base_of(result)
    if base in _SEQUENCES:
        items: Sequence[object] = [*base.__iter__(result)]  # no code of a derived class
        noun = "item"
        if items and all(isinstance(item, Mapping) for item in items):
            noun = "record"
        if len(items) == 1:
            return f"1 {noun}"
        return f"{len(items)} {noun}s"
    return safe_repr(result)


def quote_lines(text: str, most: int | None = None) -> Iterator[str]:
    """Yield the first `most` lines of foreign text, or all, as lines of the terminal, each with a mark in front."""
    # Writing to the last column may begin a new line.
    columns = max(shutil.get_terminal_size().columns - 1, _MIN_WIDTH) - len(_MARGIN) - 2
    lines = text.splitlines()
    for line in lines[:most]:
        readable = printable(line.expandtabs(4))
        while True:
            beginning = _cut_to_columns(readable, columns)
            yield f"{_MARGIN}| {beginning}"
            readable = readable[len(beginning) :]
            if not readable or most is not None:
                break
    if most is not None and len(lines) > most:
        yield f"{_MARGIN}… and {len(lines) - most:,} more lines"


def _cut_to_columns(text: str, columns: int) -> str:
    """Return the beginning of a text with at most so many columns; a character outside ASCII may take two."""
    if len(text) <= columns and text.isascii():
        return text
    used = 0
    for index, character in enumerate(text):
        used += 1 if character.isascii() else 2
        if used > columns:
            return text[: max(index, 1)]
    return text


def _short_name(name: object) -> str:
    text = printable(str(name)[: _MAX_NAME + 1])
    if len(text) > _MAX_NAME:
        text = f"{text[:_MAX_NAME]}…"
    return text


class CallLines:
    """A line for each call, once it has ended; with `shows_starts`, its beginning stands there while it runs.

    No beginning may stand there while a person is asked: a question begins a line of its own.
    """

    def __init__(self, bars: ProgressBars, *, shows_starts: bool) -> None:
        """Write above some bars, which are hidden meanwhile."""
        self._bars: Final = bars
        self._shows_starts: Final = shows_starts
        self._running: Final[dict[str, CallStarted]] = {}
        self._shown: Final[set[str]] = set()
        # The call whose beginning is the last line, which has no end yet.
        self._open: str | None = None

    def add(self, event: object) -> None:
        """Show what an event says of a call."""
        if isinstance(event, CallEnded):
            self._end(event)
        elif isinstance(event, ApprovalNeeded | CallProgress):
            self.end_line()
        elif isinstance(event, CallStarted):
            self.end_line()
            self._running[event.id] = event
            if self._shows_starts:
                self._open = event.id
                self._write(call_text(_record(event)))

    def end_line(self) -> None:
        """End the line of a call that is running."""
        if self._open is not None:
            self._open = None
            self._write("\n")

    def add_rest(self, result: ExecutionResult) -> None:
        """Show the calls of a result without an event, such as refused ones."""
        self.end_line()
        for call in result.tool_calls:
            if call["path"] not in self._shown:
                self._write(f"{call_text(call)} -> {outcome_text(call)}\n")

    def _end(self, event: CallEnded) -> None:
        started = self._running.pop(event.id, None)
        if started is None:
            return
        record = {**_record(started), "result": event.result, "error": event.error}
        self._shown.add(started.path)
        if self._open == event.id:
            self._open = None
            self._write(f" -> {outcome_text(record)}\n")
        else:
            self.end_line()
            self._write(f"{call_text(record)} -> {outcome_text(record)}\n")

    def _write(self, text: str) -> None:
        with self._bars.paused():
            sys.stderr.write(text)
            sys.stderr.flush()


def _record(event: CallStarted) -> dict[str, Any]:
    return {"name": event.tool, "args": event.args, "kwargs": event.kwargs}
