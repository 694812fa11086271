"""Questions about calls, for a person to decide. Every question about a call is written here.

Each argument begins a line with its name, and has a budget of lines. Its value is cut there, and the rest counted, so
no argument can push another out of sight. Continuation lines begin with a bar. Names outside ASCII are escaped.
Four spaces of indentation below an empty line make Markdown show the arguments unchanged.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from ez_ptc.messages import PendingCall
from ez_ptc.tools.approvals.visible_text import ascii_text, columns_of
from ez_ptc.tools.approvals.visible_values import measure, share_columns, visible_value

__all__ = ["argument_lines", "call_heading", "name_text", "write_question"]

_COLUMNS: Final = 80
_LINES: Final = 40
_INDENT: Final = "    "
_BAR: Final = "    | "
# With fewer columns, a value could not even show its length. No person's screen is that narrow.
_MIN_WIDTH: Final = 48
_MIN_LINES: Final = 3
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")


def write_question(call: PendingCall, *, columns: int = _COLUMNS, lines: int | None = _LINES) -> str:
    """Return the question whether a call may run, or whether it took effect, with its arguments.

    Args:
        call: The call.
        columns: The columns of the screen; fewer than 48 count as 48.
        lines: The most lines of the question, at least 5. None cuts nothing: for a person asking to see everything.
    """
    width = max(columns, _MIN_WIDTH) - 1
    heading = f"Allow {call_heading(call, width)}?"
    if call.state == "outcome_unknown":
        heading = f"Did {call_heading(call, width)} take effect?"
    elif call.state == "running":
        heading = f"{call_heading(call, width)} is running."
    left = None if lines is None else lines - 2
    return "\n".join([heading, "", *argument_lines(call.arguments, columns=columns, lines=left)])


def call_heading(call: PendingCall, width: int = _COLUMNS) -> str:
    """Return a call's tool and its position in its program: `refund (2.0.1)`; long names are cut."""
    name = _middle_cut(name_text(call.tool), width // 3)
    return f"{name} ({_middle_cut(ascii_text(call.path), width // 4)})" if call.path else name


def argument_lines(
    arguments: Mapping[str, object], *, columns: int = _COLUMNS, lines: int | None = _LINES
) -> list[str]:
    """Return a call's arguments as text, in at most `lines` lines, but never fewer than 3; None cuts nothing."""
    # Writing to the last column may begin a new line.
    width = max(columns, _MIN_WIDTH) - 1
    if not arguments:
        return [f"{_INDENT}(no arguments)"]
    if lines is None:
        return [line for name, value in arguments.items() for line in _wrap(_start(name), visible_value(value), width)]
    lines = max(lines, _MIN_LINES)
    names = list(arguments)
    reserved = 0 if len(names) <= lines else max(lines // 3, 1)
    shown = dict(islice(arguments.items(), lines - reserved))
    needs = [_lines_needed(*argument, width=width, most=lines) for argument in shown.items()]
    shares = share_columns(needs, lines - reserved)
    written: list[str] = []
    for (name, value), share in zip(shown.items(), shares, strict=True):
        start = _start(name, width)
        written += _wrap(start, visible_value(value, _room(start, share, width)), width)
    return [*written, *_other_names(names[len(shown) :], width, reserved)]


def _start(name: str, width: int | None = None) -> str:
    text = name_text(name)
    return f"{_INDENT}{text if width is None else _middle_cut(text, width // 3)} = "


def name_text(name: str) -> str:
    """Return the name of a tool or an argument in ASCII: bare if it is a plain one, else in quotes."""
    text = ascii_text(name)
    return text if _PLAIN_NAME.fullmatch(text) else f'"{text}"'


def _middle_cut(text: str, most: int) -> str:
    """Return ASCII text in at most `most` columns, without its middle: names differ at their beginning or end."""
    if len(text) <= most:
        return text
    cut = f"…{len(text) - most:,}…"
    left = max(most - columns_of(cut), 2)
    return f"{text[: left - left // 2]}{cut}{text[len(text) - left // 2 :]}"


def _room(start: str, lines: int, width: int) -> int:
    """Return the number of columns for a value on `lines` lines, the first of them after `start`."""
    # A character of two columns may leave one unused in each line.
    room = width - columns_of(start) - 1
    return room + (lines - 1) * (width - len(_BAR) - 1)


def _lines_needed(name: str, value: object, *, width: int, most: int) -> int:
    start = _start(name, width)
    needed = measure(value, _room(start, most, width))
    return next((lines for lines in range(1, most) if _room(start, lines, width) >= needed), most)


def _wrap(start: str, text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text; those after the first begin with a bar."""
    line, used = [start], columns_of(start)
    for character in text:
        size = 1 if character <= "~" else 2
        if used + size > width:
            yield "".join(line)
            line, used = [_BAR], len(_BAR)
        line.append(character)
        used += size
    yield "".join(line)


def _other_names(names: list[str], width: int, lines: int) -> list[str]:
    """Return lines with the names of arguments without a line, as far as there is room, and the count of the rest."""
    written, line = list[str](), f"{_INDENT}and {len(names):,} more arguments:"
    for position, name in enumerate(names):
        text = f" {_middle_cut(name_text(name), width // 3)},"
        rest = f" … and {len(names) - position:,} more"
        is_last_line = len(written) == lines - 1
        if columns_of(line + text) + is_last_line * columns_of(rest) > width:
            if is_last_line:
                return [*written, line + rest]
            written.append(line)
            line = _BAR.rstrip()
        line += text
    return [*written, line.removesuffix(",")] if names else []
