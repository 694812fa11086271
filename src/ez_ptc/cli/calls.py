"""A tool call as a line of text, and as the question whether it may run."""

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

__all__ = ["argument_lines", "ascii_name", "call_text", "full_text", "outcome_text"]

_MAX_ARGUMENTS: Final = 20
_MIN_ARGUMENTS: Final = 5
# Of a screen: what introduces the arguments, how many more there are, and the question.
_OTHER_LINES: Final = 5
_MAX_NAME: Final = 40
_MAX_ERROR: Final = 200
_MARGIN: Final = "      "
# Fewer columns than that are no terminal of a person.
_MIN_WIDTH: Final = 40
_BLANKS: Final = re.compile(" {3,}")


def call_text(call: Mapping[str, Any]) -> str:
    """Return the call of a tool as Python writes it, from its record: `list_orders(2, status='open')`.

    Of long arguments there is only a part.
    """
    positional: Sequence[object] = call["args"]
    named: Mapping[str, object] = call["kwargs"]
    given = [*map(safe_repr, positional), *(f"{_name(name)}={safe_repr(value)}" for name, value in named.items())]
    more = [f"… {len(given) - _MAX_ARGUMENTS:,} more"] if len(given) > _MAX_ARGUMENTS else []
    return f"{_name(call['name'])}({', '.join([*given[:_MAX_ARGUMENTS], *more])})"


def outcome_text(call: Mapping[str, Any]) -> str:
    """Return in a few words what came of a call, from its record: `3 records`, `{'units': 4}`, `error: …`."""
    if call["error"] is not None:
        error = printable(str(call["error"])[: _MAX_ERROR + 1])
        return f"error: {error if len(error) <= _MAX_ERROR else error[:_MAX_ERROR] + '…'}"
    result: object = call["result"]
    if isinstance(result, Sequence) and not isinstance(result, (str, bytes)):
        items = cast("Sequence[object]", result)
        noun = "record" if items and all(isinstance(item, Mapping) for item in items) else "item"
        return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"
    return safe_repr(result)


def argument_lines(arguments: Mapping[str, object]) -> list[str]:
    """Return a line of the terminal for each argument of a call that a person is asked about, whatever is in it.

    Of what is too long the line says how much more there is, and runs of blanks are counted: none can push what
    follows off the screen, or look like a line of its own.
    """
    most = max(shutil.get_terminal_size().lines - _OTHER_LINES, _MIN_ARGUMENTS)
    lines = [_line(ascii_name(name), _visible(value)) for name, value in islice(arguments.items(), most)]
    more = len(arguments) - len(lines)
    return [*lines, f"{_MARGIN}… and {more:,} more arguments"] if more else lines


def ascii_name(name: str) -> str:
    """Return a name in characters that look like no others."""
    return _name(name.encode("ascii", "backslashreplace").decode())


def full_text(arguments: Mapping[str, object]) -> Iterator[str]:
    """Yield all of a call's arguments in lines of the terminal, each with a mark before it."""
    room = _width() - len(_MARGIN) - 2
    for name, value in arguments.items():
        text = f"{printable(name)} = {_visible(value)}"
        while text:
            part = _fitting(text, room)
            yield f"{_MARGIN}| {part}"
            text = text[len(part) :]


def _line(name: str, text: str) -> str:
    room = _width() - len(f"{_MARGIN}{name} = ")
    part = _fitting(text, room)
    if part != text:
        part = _fitting(text, max(room - len(f"... ({len(text):,} more characters)"), 1))
        part += f"… ({len(text) - len(part):,} more characters)"
    return f"{_MARGIN}{name} = {part}"


def _width() -> int:
    # A terminal whose last column is written to may begin a new line.
    return max(shutil.get_terminal_size().columns - 1, _MIN_WIDTH)


def _fitting(text: str, room: int) -> str:
    """Return as much of a text as fits into so many columns; what is not ASCII may take two."""
    if len(text) <= room and text.isascii():
        return text
    taken = 0
    for at, each in enumerate(text):
        taken += 1 if each.isascii() else 2
        if taken > room:
            return text[: max(at, 1)]
    return text


def _visible(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # CPython writes no integer of more than 4,300 digits
        text = safe_repr(value)
    return _BLANKS.sub(lambda run: f"[{len(run[0]):,} blanks]", printable(text))


def _name(name: object) -> str:
    text = printable(str(name)[: _MAX_NAME + 1])
    return text if len(text) <= _MAX_NAME else f"{text[:_MAX_NAME]}…"
