"""One bound for every text that a model reads: a longer text, value or error is shortened, with a note about the rest.

Each function takes the maximum length of the text it returns, notes included, and a keeper, which keeps the whole and
returns the name that the note mentions. Text within the bound is returned as it is, but for forms of our notes.
"""

from collections.abc import Callable
from typing import Final, Protocol

from ez_ptc.results.notes import escape_notes, gap_note, location_text, note
from ez_ptc.results.sketch import sketch, type_text

__all__ = ["MAX_TEXT", "ResultKeeper", "bounded_error", "bounded_text", "bounded_value"]

MAX_TEXT: Final = 30_000
"""The default maximum of characters of a text for a model."""


class ResultKeeper(Protocol):
    """Keeps the whole of a result whose text for a model is shortened."""

    def keep(self, value: object, *, source: str) -> str | None:
        """Keep a value; return its name, or None if it cannot be kept.

        `source` describes the value's origin, such as the tool's name.
        """
        ...


def bounded_text(text: str, max_length: int, *, source: str, keeper: ResultKeeper | None = None) -> str:
    """Return text of at most `max_length` characters: of a longer one the head and the tail, cut at line ends.

    Args:
        text: The text.
        max_length: The maximum number of characters, notes included.
        source: The text's origin, such as a tool's name, for the keeper.
        keeper: Keeps the whole text if it is cut.
    """
    whole = _whole(text, max_length)
    if whole is not None:
        return whole
    return _head_and_tail(text, max_length, _location(text, source, keeper))


def bounded_error(text: str, max_length: int, *, source: str, keeper: ResultKeeper | None = None) -> str:
    """Same as `bounded_text`, for the text of an error: most of what is shown are its last lines, with its message."""
    return bounded_text(text, max_length, source=source, keeper=keeper)


def bounded_value(
    value: object,
    max_length: int,
    *,
    source: str,
    keeper: ResultKeeper | None = None,
    plain: Callable[[object], object] = type_text,
) -> str:
    """Return the JSON of a value in at most `max_length` characters: of a longer one a sketch, which is JSON too.

    Args:
        value: The value.
        max_length: The maximum number of characters, notes included.
        source: The value's origin, such as a tool's name, for the keeper.
        keeper: Keeps the whole value if it is shortened.
        plain: Returns the substitute of a value of another type than JSON's, which is looked into in turn.
    """
    if type(value) is str:
        return bounded_text(value, max_length, source=source, keeper=keeper)
    return sketch(value, max_length, plain=plain)


def _whole(text: str, max_length: int) -> str | None:
    if len(text) > max_length:
        return None
    escaped = escape_notes(text)
    return escaped if len(escaped) <= max_length else None


def _location(value: object, source: str, keeper: ResultKeeper | None) -> str | None:
    name = None if keeper is None else keeper.keep(value, source=source)
    return None if name is None else note(location_text(name))


def _head_and_tail(text: str, max_length: int, location: str | None) -> str:
    ending = "" if location is None else f"\n{location}"
    gap = f"\n{gap_note(len(text), 'characters')}\n"
    room = max_length - len(gap) - len(ending)
    if room < 0:
        return escape_notes(text[:max_length])[:max_length]
    tail = room // 3
    head = escape_notes(text[: room - tail])[: room - tail]
    ending_text = escape_notes(text[len(text) - tail :])
    return f"{head}{gap}{ending_text[len(ending_text) - tail :]}{ending}"
