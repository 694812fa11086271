"""A tool's result as JSON and as text for a model, and text that can be sent."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, cast
from uuid import UUID

from ez_ptc.errors import ToolError
from ez_ptc.formats.encoding import (
    MAX_DEPTH,
    MAX_ELEMENTS,
    TOO_DEEP,
    TOO_MANY,
    NotEncodableError,
    TooManyError,
    distinct_keys,
    plain_value,
    undeliverable,
)
from ez_ptc.formats.media import (
    MAX_MEDIA_BYTES,
    MAX_PARTS,
    Media,
    ResultPart,
    Unsupported,
    base64_of,
    content_of_result,
    part_text,
    parts_of_result,
)
from ez_ptc.messages import MediaMessage, TextMessage, ToolResult, ToolResultMessage
from ez_ptc.schema.standard.sentences import without_surrogates

__all__ = [
    "MAX_RESULT_TEXT",
    "MAX_TEXT",
    "as_json",
    "as_text",
    "deliverable_result",
    "error_text",
    "key_text",
    "result_content",
    "result_of_message",
    "result_parts",
    "sendable",
    "to_json_types",
]

# The maximum characters of all texts and numbers of a result.
MAX_TEXT: Final = 16 << 20
# The default maximum of characters of one result for a model.
MAX_RESULT_TEXT: Final = 1 << 20

_MAX_INT_BITS: Final = 10_000
_WIDE_INT: Final = 1 << 64
_ARRAYS: Final = frozenset({list, tuple, set, frozenset})


def as_text(output: object) -> str:
    """Return a tool's return value as text: str unchanged, anything else as compact JSON; `None` is `null`.

    For a result made of parts, these are the texts, with a note for each media part. Never raises: a value without a
    JSON form becomes its `str()`, and one that is too large a sentence that says so.
    """
    parts = result_parts(output)
    if parts is None:
        return _text(as_json(output))
    return "\n".join(map(_text_of_part, parts))


def as_json(value: object) -> Any:  # noqa: ANN401 - any JSON
    """Return a value as JSON's own types, or a sentence with the reason why it has no such form. Never raises."""
    try:
        parts = result_parts(value)
        return to_json_types(value if parts is None else [_text_of_part(part) for part in parts])
    except NotEncodableError as error:
        return f"[This cannot be shown: {error}.]"


def to_json_types(value: object) -> Any:  # noqa: ANN401 - any JSON
    """Return a value as JSON's own types.

    Values of other classes are converted by `plain_value`. Sets and tuples become lists, bytes base64, and dates,
    durations, decimals and UUIDs become pydantic's text. A number that JSON lacks becomes the text `NaN`, `Infinity` or
    `-Infinity`. A key other than str becomes its JSON text, and entries whose keys become equal are all kept.

    Raises NotEncodableError for more than 500,000 elements, 16 MiB of text or 100 levels.
    """
    try:
        return _Encoder().value(value, 0)
    except TooManyError as error:
        raise NotEncodableError(str(error)) from None
    except RecursionError:
        raise NotEncodableError(TOO_DEEP) from None


def result_parts(output: object) -> tuple[ResultPart, ...] | None:
    """Return the parts of a tool's result, or None for a plain value; see `parts_of_result`.

    Parts other than text and media become text.
    """
    parts = parts_of_result(output)
    if parts is None:
        return None
    return tuple(part if isinstance(part, MediaMessage | TextMessage) else TextMessage(as_text(part)) for part in parts)


def result_content(
    result: ToolResult, text_part: Callable[[str], Media], media_part: Callable[[MediaMessage], Media | Unsupported]
) -> str | list[Media]:
    """Return a delivered result for a model: its error, its text, or its parts in the provider's JSON."""
    if not result.success:
        return error_text(result)
    parts = result_parts(result.output)
    if parts is None:
        return as_text(result.output)
    return content_of_result(parts, text_part, media_part)


def result_of_message(message: ToolResultMessage) -> ToolResult:
    """Return the result that a message of the conversation carries."""
    if message.success:
        return ToolResult(success=True, output=message.result)
    return ToolResult(success=False, error=str(message.result))


def key_text(key: object) -> str:
    """Return the text for a dict key. Raises NotEncodableError if it would be too large."""
    return _Encoder().key(key)


def deliverable_result(tool: str, result: ToolResult, most: int = MAX_RESULT_TEXT) -> ToolResult:
    """Return a call's result as it can be delivered to a model: its output as JSON, or the reason why it cannot be.

    Text beyond `most` characters is cut, with a sentence about the rest. A result made of parts becomes a tuple of
    messages, whose texts count together. A delivered result is returned unchanged.
    """
    if not result.success:
        return result
    try:
        if (parts := parts_of_result(result.output)) is not None:
            return replace(result, output=_check_parts(parts, most))
        output = to_json_types(result.output)
    except NotEncodableError as error:
        message = undeliverable(tool, str(error))
        return replace(result, success=False, output=None, error=message, exception=ToolError(message))
    text = _text(output)
    return replace(result, output=output if len(text) <= most else _cut(text, most))


def error_text(result: ToolResult) -> str:
    """Return the error of a failed call, as text for a model."""
    return without_surrogates(result.error_text or "the tool failed and did not say why")


def sendable(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request without lone surrogates, which JSON can spell but UTF-8 cannot encode."""
    text = json.dumps(body, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return cast("dict[str, Any]", json.loads(without_surrogates(text)))
    return body


def _text(plain: object) -> str:
    if isinstance(plain, str):
        return plain
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def _cut(text: str, most: int) -> str:
    sentence = f"\n[{len(text):,} characters in all, of which this is the beginning: ask for less.]"
    return text[: max(most - len(sentence), 0)] + sentence


def _text_of_part(part: ResultPart) -> str:
    if isinstance(part, MediaMessage):
        return part_text(part)
    return without_surrogates(part.text)


def _check_parts(parts: tuple[object, ...], most: int) -> tuple[ResultPart, ...]:
    """Return the parts of a result. Raises NotEncodableError for too many parts or too large media."""
    if len(parts) > MAX_PARTS:
        message = f"the result is too large: it has more than {MAX_PARTS} parts"
        raise NotEncodableError(message)
    size = sum(len(part.data or part.url or "") for part in parts if isinstance(part, MediaMessage))
    if size > MAX_MEDIA_BYTES:
        message = f"the result is too large: its media has more than {MAX_MEDIA_BYTES:,} bytes"
        raise NotEncodableError(message)
    bounded: list[ResultPart] = []
    for part in parts:
        if isinstance(part, MediaMessage):
            bounded.append(part)
            continue
        text_message = part if isinstance(part, TextMessage) else TextMessage(_text(to_json_types(part)))
        if len(text_message.text) > most:
            text_message = replace(text_message, text=_cut(text_message.text, most))
        most -= len(text_message.text)
        bounded.append(text_message)
    return tuple(bounded)


class _Encoder:
    """Encodes one value: counts elements and characters, and stops at the limits."""

    __slots__ = ("_elements_left", "_text_left")

    def __init__(self) -> None:
        self._elements_left = MAX_ELEMENTS
        self._text_left = MAX_TEXT

    def value(self, value: Any, depth: int) -> Any:  # noqa: ANN401 - any value, and any JSON
        cls = cast("type[object]", type(value))
        if cls is str:
            self._spend_text(len(value))
            return value if value.isascii() else without_surrogates(value)
        if value is None or cls is bool:
            return value
        if cls is int or cls is float:
            return self._number(value)
        if cls is dict:
            self._spend(len(value) + 1, depth)
            if not _has_good_keys(value):
                value = distinct_keys(value, self.key)
            self._spend_text(sum(map(len, value)))
            deeper = depth + 1
            return {key: self.value(item, deeper) for key, item in value.items()}
        if cls in _ARRAYS:
            items = [*value]
            self._spend(len(items) + 1, depth)
            deeper = depth + 1
            return [self.value(item, deeper) for item in items]
        return self._other(value, depth)

    def key(self, key: object) -> str:
        if type(key) is str:
            return without_surrogates(key)
        plain = self.value(key, 0)
        if isinstance(plain, str):
            return plain
        return json.dumps(plain, ensure_ascii=False)

    def _spend(self, elements: int, depth: int) -> None:
        self._elements_left -= elements
        if self._elements_left < 0:
            raise NotEncodableError(TOO_MANY)
        if depth > MAX_DEPTH:
            raise NotEncodableError(TOO_DEEP)

    def _spend_text(self, size: int) -> None:
        self._text_left -= size
        if self._text_left < 0:
            message = f"the value is too large: it has more than {MAX_TEXT:,} characters"
            raise NotEncodableError(message)

    def _other(self, value: object, depth: int) -> object:
        if isinstance(value, MediaMessage):
            return self.value(part_text(value), depth)
        if (written := _TEXTS.get(type(value))) is None:
            self._spend(1, depth)
            return self.value(plain_value(value), depth)
        text = written(value)
        self._spend_text(len(text))
        return text

    def _number(self, value: float) -> object:
        if type(value) is float:
            if math.isfinite(value):
                return value
            if math.isnan(value):
                return "NaN"
            return "Infinity" if value > 0 else "-Infinity"
        if -_WIDE_INT < value < _WIDE_INT:
            return value
        # Python refuses to write integers of more than a few thousand digits, and no model reads one.
        bits = cast("int", value).bit_length()
        self._spend_text(min(bits, _MAX_INT_BITS) // 3)
        if bits <= _MAX_INT_BITS:
            return value
        return f"<an integer of {bits} bits>"


def _has_good_keys(items: dict[Any, object]) -> bool:
    """Return whether all keys are text that can be sent."""
    return set(map(type, items)) <= {str} and (
        (joined := "".join(items)).isascii() or without_surrogates(joined) == joined
    )


def _as_pydantic_writes(value: object) -> str:
    from pydantic_core import to_jsonable_python

    return cast("str", to_jsonable_python(value))


_TEXTS: Final[Mapping[type, Callable[[Any], str]]] = {
    bytes: base64_of,
    bytearray: base64_of,
    Decimal: str,
    UUID: str,
    date: date.isoformat,
    datetime: _as_pydantic_writes,
    time: _as_pydantic_writes,
    timedelta: _as_pydantic_writes,
}
