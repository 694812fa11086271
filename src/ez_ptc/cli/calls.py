"""Tool calls as text: one line for a log, several for an approval."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.cli.terminal import printable
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["argument_lines", "ascii_name", "call_text", "full_text", "outcome_text", "quote_lines"]

_MAX_ARGUMENTS: Final = 20
_MIN_ARGUMENTS: Final = 5
# Lines of an approval in addition to the arguments: the introduction, the number of omitted ones, and the question.
_OTHER_LINES: Final = 5
_MAX_NAME: Final = 40
_MAX_ERROR: Final = 200
_MARGIN: Final = "      "
# A terminal with fewer columns is not a person's.
_MIN_WIDTH: Final = 40
_BLANKS: Final = re.compile(" {3,}")


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
    if isinstance(result, Sequence) and not isinstance(result, (str, bytes)):
        items = cast("Sequence[object]", result)
        noun = "item"
        if items and all(isinstance(item, Mapping) for item in items):
            noun = "record"
        if len(items) == 1:
            return f"1 {noun}"
        return f"{len(items)} {noun}s"
    return safe_repr(result)


def argument_lines(arguments: Mapping[str, object]) -> list[str]:
    """Return one line of the terminal for each argument of a call, for an approval.

    Long arguments are cut, with the number of omitted characters, and runs of blanks are counted: no argument can push
    the question off the screen, or look like another line.
    """
    max_lines = max(shutil.get_terminal_size().lines - _OTHER_LINES, _MIN_ARGUMENTS)
    lines: list[str] = []
    for name, value in islice(arguments.items(), max_lines):
        start, text = f"{_MARGIN}{ascii_name(name)} = ", _visible(value)
        columns = _width() - len(start)
        beginning = _cut_to_columns(text, columns)
        if beginning != text:
            beginning = _cut_to_columns(text, max(columns - len(f"... ({len(text):,} more characters)"), 1))
            beginning += f"… ({len(text) - len(beginning):,} more characters)"
        lines.append(start + beginning)
    if omitted := len(arguments) - len(lines):
        lines.append(f"{_MARGIN}… and {omitted:,} more arguments")
    return lines


def ascii_name(name: str) -> str:
    """Return a name in ASCII: other characters may look like different ones."""
    return _short_name(name.encode("ascii", "backslashreplace").decode())


def full_text(arguments: Mapping[str, object]) -> Iterator[str]:
    """Yield all of a call's arguments as lines of the terminal, each with a mark in front."""
    columns = _width() - len(_MARGIN) - 2
    for name, value in arguments.items():
        text = f"{printable(name)} = {_visible(value)}"
        while text:
            line = _cut_to_columns(text, columns)
            yield f"{_MARGIN}| {line}"
            text = text[len(line) :]


def quote_lines(text: str, most: int | None = None) -> Iterator[str]:
    """Yield the first `most` lines of foreign text, or all, as lines of the terminal, each with a mark in front."""
    columns = _width() - len(_MARGIN) - 2
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


def _width() -> int:
    # Writing to the last column may begin a new line.
    return max(shutil.get_terminal_size().columns - 1, _MIN_WIDTH)


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


def _visible(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # CPython refuses integers with more than 4,300 digits
        text = safe_repr(value)
    return _BLANKS.sub(lambda run: f"[{len(run[0]):,} blanks]", printable(text))


def _short_name(name: object) -> str:
    text = printable(str(name)[: _MAX_NAME + 1])
    if len(text) > _MAX_NAME:
        text = f"{text[:_MAX_NAME]}…"
    return text
