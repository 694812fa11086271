"""A tool's result as JSON and as text for a model, and text that can be sent."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

from ez_ptc.errors import ToolError
from ez_ptc.formats.encoding import (
    MAX_DEPTH,
    MAX_ELEMENTS,
    SCALAR_TEXTS,
    TOO_DEEP,
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
    content_of_result,
    part_text,
    parts_of_result,
)
from ez_ptc.formats.previews import Previews
from ez_ptc.messages import MediaMessage, TextMessage, ToolResult, ToolResultMessage
from ez_ptc.results.bounds import ResultKeeper, bounded_text, bounded_value, fit_text
from ez_ptc.results.json_writer import base_of
from ez_ptc.results.notes import escape_notes, gap_note
from ez_ptc.schema.standard.sentences import without_surrogates

__all__ = [
    "MAX_TEXT",
    "as_json",
    "as_text",
    "deliverable_result",
    "error_text",
    "json_output",
    "key_text",
    "result_content",
    "result_of_message",
    "result_parts",
    "sendable",
    "to_json_types",
]

# The maximum characters of all texts and numbers of a result.
MAX_TEXT: Final = 16 << 20
_MAX_INT_BITS: Final = 10_000
_WIDE_INT: Final = 1 << 64
# The maximum characters of the sentence for media that a model cannot see, besides its type and size.
_MAX_MEDIA_SENTENCE: Final = 150
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
        return to_json_types(value if parts is None else [_text_of_part(entry) for entry in parts])
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
        return _encode(value, MAX_ELEMENTS, MAX_TEXT)
    except TooManyError as error:
        raise NotEncodableError(str(error)) from None


def json_output(output: object) -> object:
    """Return a delivered output as JSON for a model: as text, if something in it has the form of a note."""
    if isinstance(output, str):
        return output
    text = json.dumps(output, ensure_ascii=False, separators=(",", ":"))
    if escape_notes(text) == text:
        return output
    return escape_notes(text)


def result_parts(output: object) -> tuple[ResultPart, ...] | None:
    """Return the parts of a tool's result, or None for a plain value; see `parts_of_result`.

    Parts other than text and media become text.
    """
    parts = parts_of_result(output)
    if parts is None:
        return None
    return tuple(
        entry if isinstance(entry, MediaMessage | TextMessage) else TextMessage(as_text(entry)) for entry in parts
    )


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
    """Return the result that a message of the conversation carries; it was bounded when the call had ended."""
    if not message.success:
        return ToolResult(success=False, error=str(message.result), max_text=None)
    try:
        output = result_parts(message.result) or to_json_types(message.result)
    except NotEncodableError as error:
        return ToolResult(success=False, error=undeliverable(message.tool_name, str(error)), max_text=None)
    return ToolResult(success=True, output=output, max_text=None)


def key_text(key: object) -> str:
    """Return the text for a dict key. Raises NotEncodableError if it would be too large."""
    try:
        return _ContentEncoder(MAX_ELEMENTS, MAX_TEXT).key(key)
    except TooManyError as error:
        raise NotEncodableError(str(error)) from None


def deliverable_result(tool: str, result: ToolResult) -> ToolResult:
    """Return a call's result as a model reads it: its output as JSON or text, in at most `result.max_text` characters.

    A longer output becomes text: the head and the tail of a text, or a note and the sketch of another value. A result
    made of parts becomes a tuple of messages, whose texts count together. The result of a call whose output cannot be
    passed on is an error. A delivered result is returned unchanged: its own `max_text` is None.
    """
    most = result.max_text
    if most is None:
        return result
    if not result.success:
        return replace(result, error=error_text(result), max_text=None)
    try:
        output = _Delivery(f"{tool}()", most, result.keeper).output(result.output)
    except NotEncodableError as error:
        message = undeliverable(tool, str(error))
        failed = replace(result, success=False, output=None, error=message, exception=ToolError(message))
        return deliverable_result(tool, failed)
    return replace(result, output=output, max_text=None)


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
    return escape_notes(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


def _text_of_part(part: ResultPart) -> str:
    if isinstance(part, MediaMessage):
        return part_text(part)
    return without_surrogates(part.text)


class _Delivery:
    """Bounds the output of one call; `most` is what is left of the bound."""

    def __init__(self, source: str, most: int, keeper: ResultKeeper | None) -> None:
        self._source = source
        self._most = most
        self._keeper = keeper

    def output(self, output: object) -> object:
        """Return an output within the bound. Raises NotEncodableError."""
        parts = parts_of_result(output)
        if parts is None:
            return self._value(output)
        if len(parts) > MAX_PARTS:
            message = f"the result is too large: it has more than {MAX_PARTS} parts"
            raise NotEncodableError(message)
        media = [entry for entry in parts if isinstance(entry, MediaMessage)]
        if sum(len(entry.data or entry.url or "") for entry in media) > MAX_MEDIA_BYTES:
            message = f"the result is too large: its media has more than {MAX_MEDIA_BYTES:,} bytes"
            raise NotEncodableError(message)
        most = self._most
        sizes = [len(part_text(entry)) + _MAX_MEDIA_SENTENCE for entry in media]
        left_out = 0
        while sum(sizes[: len(sizes) - left_out]) > most:
            left_out += 1
        note = gap_note(left_out, "pictures and files")
        self._most -= sum(sizes[: len(sizes) - left_out]) + (len(note) + 1 if left_out else 0)
        shown = {id(entry) for entry in media[: len(media) - left_out]}
        bounded = [
            entry if isinstance(entry, MediaMessage) else self._text_part(entry)
            for entry in parts
            if not isinstance(entry, MediaMessage) or id(entry) in shown
        ]
        if left_out:
            bounded.append(TextMessage(note))
        if shown:
            return tuple(bounded)
        return fit_text("\n".join(map(_text_of_part, bounded)), most)

    def _text_part(self, part: object) -> TextMessage:
        if isinstance(part, TextMessage):
            message = replace(part, text=_text(self._value(part.text)))
        else:
            message = TextMessage(_text(self._value(part)))
        # Some providers' results are one text, with the parts on lines of their own.
        self._most = max(self._most - len(message.text) - 1, 0)
        return message

    def _value(self, value: object) -> object:
        """Return a value as JSON's own types, or as text if it is too long. Raises NotEncodableError."""
        shortened = partial(bounded_value, value, self._most, source=self._source, keeper=self._keeper)
        if self._most <= 0:
            return ""
        try:
            plain = value
            if type(value) is not str:
                plain = _encode(value, self._most, self._most)
        except TooManyError:
            return shortened(plain=Previews(self._most))
        if isinstance(plain, str):
            if plain is not value and len(escape_notes(plain)) > self._most:
                return shortened(plain=Previews(self._most))  # which keeps the object, not its clean text
            text = bounded_text(plain, self._most, source=self._source, keeper=self._keeper)
            return without_surrogates(text)
        if len(_text(plain)) <= self._most:
            return plain
        return shortened(plain=Previews(self._most))


def _encode(value: object, max_elements: int, max_text: int) -> object:
    """Return a value as JSON's own types. Raises TooManyError for more than the limits, NotEncodableError for depth."""
    try:
        return _ContentEncoder(max_elements, max_text).value(value, 0)
    except RecursionError:
        raise NotEncodableError(TOO_DEEP) from None


class _ContentEncoder:
    """Encodes one value: counts elements and characters. Raises TooManyError for more than its limits."""

    __slots__ = ("_elements_left", "_max_elements", "_max_text", "_text_left")

    def __init__(self, max_elements: int, max_text: int) -> None:
        self._elements_left = self._max_elements = max_elements
        self._text_left = self._max_text = max_text

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
            self._spend(len(value) + 1, depth)
            items = [*value]
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
            message = f"the value is too large: it has more than {self._max_elements:,} elements"
            raise TooManyError(message)
        if depth > MAX_DEPTH:
            raise NotEncodableError(TOO_DEEP)

    def _spend_text(self, size: int) -> None:
        self._text_left -= size
        if self._text_left < 0:
            message = f"the value is too large: it has more than {self._max_text:,} characters"
            raise TooManyError(message)

    def _other(self, value: object, depth: int) -> object:
        if isinstance(value, MediaMessage):
            return self.value(part_text(value), depth)
        if (written := SCALAR_TEXTS.get(type(value))) is None:
            self._spend(1, depth)
            base = base_of(value)
            if base is not None and base.__len__(value) > self._elements_left + self._text_left:
                self._spend(base.__len__(value), depth)  # before it is copied
            return self.value(plain_value(value, self._elements_left), depth)
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
