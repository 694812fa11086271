"""One bound for every text that a model reads: a longer text, value or error is shortened, with a note about the rest.

Each function takes the maximum length of the text it returns, notes included, and a keeper, which keeps the whole and
returns the name that the note mentions. Text within the bound is returned as it is, but for forms of our notes.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, runtime_checkable

from ez_ptc.results.json_writer import JsonWriter, type_text
from ez_ptc.results.notes import escape_notes, gap_note, location_text, note
from ez_ptc.results.robust_repr import message_of
from ez_ptc.results.sketch import size_text, sketch

__all__ = [
    "MAX_ERROR",
    "MAX_TEXT",
    "ResultKeeper",
    "bounded_error",
    "bounded_text",
    "bounded_value",
    "exception_text",
    "fit_text",
]

# The maximum characters of an exception's text for a model.
MAX_ERROR: Final = 4_000

MAX_TEXT: Final = 30_000
"""The default maximum of characters of a text for a model."""

_MIN_SKETCH: Final = 50


@runtime_checkable
class ResultKeeper(Protocol):
    """Keeps the whole of a result whose text for a model is shortened."""

    def keep(self, value: object, *, source: str) -> str | None:
        """Keep a value; return its name, or None if it cannot be kept.

        `source` describes the value's origin, such as the tool's name.
        """
        ...


def bounded_text(
    text: str, max_length: int, *, source: str, keeper: ResultKeeper | None = None, is_whole: bool = True
) -> str:
    """Return foreign text in at most `max_length` characters: of a longer one the head and the tail, cut at line ends.

    Args:
        text: The text.
        max_length: The maximum number of characters, notes included.
        source: The text's origin, such as a tool's name, for the keeper.
        keeper: Keeps the text if it is cut.
        is_whole: Whether nothing was cut from the text before.
    """
    return _shorten(text, max_length, 3, _Keeping(source, keeper, is_whole=is_whole))


def bounded_error(
    text: str, max_length: int, *, source: str, keeper: ResultKeeper | None = None, is_whole: bool = True
) -> str:
    """Same as `bounded_text`, for an error: half of what is shown are its last lines, where its message is."""
    return _shorten(text, max_length, 2, _Keeping(source, keeper, is_whole=is_whole))


def bounded_value(
    value: object,
    max_length: int,
    *,
    source: str,
    keeper: ResultKeeper | None = None,
    plain: Callable[[object], object] = type_text,
) -> str:
    """Return the JSON of a value in at most `max_length` characters: of a longer one a note, and a sketch as JSON.

    Args:
        value: The value; a text is returned as `bounded_text` does.
        max_length: The maximum number of characters, notes included.
        source: The value's origin, such as a tool's name, for the keeper.
        keeper: Keeps the whole value if it is shortened.
        plain: Returns the substitute of a value of another type than JSON's, which is looked into in turn.
    """
    if type(value) is str:
        return bounded_text(value, max_length, source=source, keeper=keeper)
    writer = JsonWriter(plain)
    whole = writer.whole(value, max_length)
    if whole is not None:
        return whole
    about = f"{size_text(writer.simplify(value))}, shortened to {max_length:,} characters"
    location = _Keeping(source, keeper).location(value)
    heading = note(f"{about}; {location}" if location else about)
    room = max_length - len(heading) - 1
    if room < _MIN_SKETCH:
        return fit_text(heading, max_length)
    return f"{heading}\n{sketch(value, room, plain=plain)}"


def fit_text(text: str, max_length: int) -> str:
    """Return text of ours in at most `max_length` characters; foreign text in it is escaped already."""
    if len(text) <= max_length:
        return text
    return _join_ends(text, text, len(text), max_length, tail_share=2)


def _shorten(text: str, max_length: int, tail_share: int, keeping: "_Keeping") -> str:
    if len(text) <= max_length:
        escaped = escape_notes(text)
        if len(escaped) <= max_length:
            return escaped
    location = keeping.location(text)
    if location:
        location = f"\n{note(location)}"
    # Never more of the text than is shown: it may be a thousand times longer.
    head, tail = (escape_notes(end) for end in (text[:max_length], text[-max_length:]))
    shortened = _join_ends(head, tail, len(text), max_length - len(location), tail_share=tail_share)
    return f"{shortened}{location}"[:max_length]


class _Keeping(NamedTuple):
    """Where a value goes if a text shows a part of it."""

    source: str
    keeper: ResultKeeper | None
    is_whole: bool = True

    def location(self, value: object) -> str:
        """Keep a value, and return where; "" without a keeper."""
        if self.keeper is None:
            return ""
        return location_text(self.keeper.keep(value, source=self.source), is_whole=self.is_whole)


def _join_ends(head: str, tail: str, length: int, max_length: int, *, tail_share: int) -> str:
    """Return the beginning of `head`, the note about what is left out of `length` characters, and the end of `tail`."""
    gap = gap_note(length, "characters")
    room = max_length - len(gap) - 2
    if room < len(gap):
        # Too short for more than one of the ends, or for anything but the beginning.
        if room < 0:
            return head[: max(max_length, 0)]
        return f"{head[:room]}\n{gap}"
    tail_room = room // tail_share
    head, tail = head[: room - tail_room], tail[len(tail) - tail_room :]
    # At a line end, if that costs at most half of what is shown.
    line_end, line_start = head.rfind("\n"), tail.find("\n")
    if line_end * 2 >= len(head):
        head = head[:line_end]
    left_out = length - len(head) - len(tail)
    if 0 <= line_start * 2 <= len(tail):
        tail = tail[line_start + 1 :]
        left_out += line_start + 1
    elif tail:
        # The middle of a line must not read like a line that begins as ours do, such as "Hint:".
        tail = f"…{tail[1:]}"
        left_out += 1
    gap = gap_note(left_out, "characters")
    return f"{head}\n{gap}\n{tail}"


def exception_text(
    error: BaseException, message: str | None = None, *, most: int = MAX_ERROR, keeper: ResultKeeper | None = None
) -> str:
    """Return the text a model reads of an exception: its message or a given one, never a traceback.

    At most `most` characters: the first and the last lines of a longer message, of which `keeper` keeps the whole. The
    class name stands in for an empty message, and precedes a KeyError's, which is only the key.
    """
    name = type(error).__name__
    if message is None:
        message = message_of(error)
    if isinstance(error, KeyError) and not message.startswith(f"{name}: "):
        message = f"{name}: {message}"
    elif not message.strip():
        message = name
    return bounded_error(message, most, source=name, keeper=keeper)
