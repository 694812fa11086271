"""JSON to and from a provider: received values are checked before use, and requests are encodable."""

import json
import math
import re
from collections.abc import Iterable
from typing import Any, Final, TypeGuard, cast

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.content import sendable
from ez_ptc.formats.prompt import TextDelta
from ez_ptc.schema.arguments.nesting import is_nested_deeper
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.standard.sentences import without_surrogates

__all__ = [
    "MAX_LEVELS",
    "TextPieces",
    "begins_object",
    "encodable_body",
    "encodable_text",
    "is_count",
    "is_cut",
    "is_object",
    "join_pieces",
    "json_problem",
    "move_split_character",
    "one_line",
    "parse",
    "parse_body",
]

# The maximum nesting depth of a provider's JSON: more than the 100 levels allowed for a call's arguments.
MAX_LEVELS: Final = 128

# As in a tool's result; Python itself reads and writes slightly more.
_MAX_BITS: Final = 10_000
# The largest integer that every JSON parser reads exactly.
_MAX_COUNT: Final = 2**53
_MAX_QUOTED: Final = 600
_WORDS: Final = ("true", "false", "null", "NaN", "-Infinity")
_CUT_ESCAPE: Final = re.compile(r"\\?u?[0-9a-fA-F]{0,4}")
_CUT_NUMBER: Final = re.compile(r"\.|(?:\.\d+)?[eE][+-]?")
_HIGH: Final = ("\ud800", "\udbff")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def parse(data: str | bytes) -> object:
    """Parse a provider's JSON text.

    NaN, infinities and numbers beyond a float become None. Raises ValueError for invalid JSON, and RecursionError for
    extreme nesting.
    """
    text = data.removeprefix("\ufeff") if isinstance(data, str) else data.decode("utf-8-sig")
    if is_nested_deeper(text.encode(errors="surrogatepass"), 2 * MAX_LEVELS):
        message = "it is nested far too deeply"
        raise RecursionError(message)
    return _DECODER.decode(text)


def parse_body(data: str | bytes) -> object:
    """Parse a whole answer as `parse` does; raise ConnectionFailedError for an object without its end.

    A server that names no length ends a body by closing the connection, as does a connection that is lost.
    """
    try:
        return parse(data)
    except json.JSONDecodeError as error:
        if not _is_cut_object(error):
            raise
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            raise
    message = "the connection was lost before the answer was complete; ask again"
    raise ConnectionFailedError(message)


def is_object(text: str) -> bool:
    """Return whether text is the whole JSON of an object."""
    try:
        return isinstance(parse(text), dict)
    except (ValueError, RecursionError):
        return False


def begins_object(text: str) -> bool:
    """Return whether text is the JSON of an object, or may be its beginning."""
    try:
        return isinstance(parse(text), dict)
    except json.JSONDecodeError as error:
        return _is_cut_object(error)
    except RecursionError:
        return False


def _is_cut_object(error: json.JSONDecodeError) -> bool:
    """Return whether the text of an error is the beginning of an object that is valid so far."""
    if not error.doc.lstrip().startswith("{") or error.msg == "Extra data":
        return False
    rest = error.doc[error.pos :].rstrip()
    if error.msg.startswith("Invalid \\"):
        return _CUT_ESCAPE.fullmatch(rest) is not None
    is_in_value = _CUT_NUMBER.fullmatch(rest) is not None or any(word.startswith(rest) for word in _WORDS)
    return is_in_value or error.msg.startswith("Unterminated string")


def json_problem(value: object) -> str | None:
    """Return the reason why a value cannot be saved or sent as JSON, or None."""
    level: list[object] = [value]
    for _ in range(MAX_LEVELS):
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                fields = cast("dict[object, object]", item)
                if not all(isinstance(key, str) for key in fields):
                    return "a key that is not text"
                inner.extend(fields.values())
            elif isinstance(item, list | tuple):
                inner.extend(cast("Iterable[object]", item))
            elif (problem := _scalar_problem(item)) is not None:
                return problem
        if not inner:
            return None
        level = inner
    return f"more than {MAX_LEVELS} levels"


def _scalar_problem(value: object) -> str | None:
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, float) and not math.isfinite(value):
        return f"the number {value}"
    if value is None or isinstance(value, int | float | str):
        return None
    return safe_repr(value)


def encodable_body(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request that can be sent as UTF-8. Raises ProviderError if it is not JSON."""
    try:
        return sendable(body)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the request cannot be sent: something in the conversation or its options is not JSON: {error}"
        raise ProviderError(message) from error


def is_count(value: object) -> TypeGuard[int]:
    """Return whether a value is a number of tokens."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT


def join_pieces(pieces: Iterable[str]) -> str:
    """Join pieces of a text; characters split between two pieces become whole."""
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", errors="surrogatepass").decode("utf-16"), "".join(pieces))


def is_cut(text: str) -> bool:
    """Return whether a text ends in the first half of a character (a high surrogate)."""
    return _HIGH[0] <= text[-1:] <= _HIGH[1]


def move_split_character(before: str, after: str) -> tuple[str, str]:
    """Return two consecutive texts; a character split between them is moved to the second."""
    if before and after and _PAIR.fullmatch(before[-1] + after[0]):
        return before[:-1], join_pieces([before[-1], after])
    return before, after


def encodable_text(text: str) -> str:
    """Return text that can be encoded as UTF-8: split characters are joined, a lone half becomes U+FFFD."""
    return without_surrogates(join_pieces([text]))


def one_line(said: object) -> str:
    """Return text of a provider as one line of at most 600 characters, quoted unless it is plain printable text."""
    text = said if isinstance(said, str) else safe_repr(said)
    line = " ".join(text[:_MAX_QUOTED].split())
    if line == text and line.isprintable() and "`" not in line:
        return line
    written = repr(line)
    is_whole = len(text) <= _MAX_QUOTED and len(written) <= _MAX_QUOTED
    if is_whole:
        return written
    return f"{written[:-1][: _MAX_QUOTED - 2]}…{written[0]}"


class TextPieces:
    """The text of a stream: half a character at the end of a piece waits for its other half."""

    def __init__(self) -> None:
        self._half = ""

    def deltas(self, *pieces: str) -> list[TextDelta]:
        """Return the text that is complete after these pieces."""
        text = "".join((self._half, *pieces))
        self._half = text[-1:] if is_cut(text) else ""
        if complete := text.removesuffix(self._half):
            return [TextDelta(encodable_text(complete))]
        return []

    def end(self) -> list[TextDelta]:
        """Return the rest: half a character, if any."""
        half, self._half = self._half, ""
        if half:
            return [TextDelta(encodable_text(half))]
        return []


def _finite(text: str) -> float | None:
    number = float(text)
    if math.isfinite(number):
        return number
    return None


_DECODER: Final = json.JSONDecoder(parse_constant=_finite, parse_float=_finite)
