"""JSON within a budget of characters: an attempt to write a value stops as soon as it would not fit."""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.results.notes import escape_notes, gap_note

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["JsonWriter", "base_of", "cut_json", "extent", "json_text", "type_text", "without_surrogates"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MAX_DEPTH: Final = 100
_MAX_STEPS: Final = 10
_MAX_INT_BITS: Final = 10_000
_MAX_KEY: Final = 100
_MAX_NAME: Final = 40
_CLASS_NAME: Final = vars(type)["__name__"].__get__
_BINARY: Final = (bytes, bytearray)
_BASES: Final[tuple[type[Any], ...]] = (str, dict, list, tuple, set, frozenset, *_BINARY)
_SCALARS: Final = frozenset({type(None), bool, int, float})
# A class with one of these is a record, whatever it is derived from.
_RECORDS: Final = ("__dataclass_fields__", "__attrs_attrs__", "__struct_config__", "__pydantic_serializer__", "_fields")


class _FullError(Exception):
    """A value has no room, or is nested too deeply."""


def without_surrogates(text: str) -> str:
    """Return text that can be encoded as UTF-8: a lone surrogate becomes the replacement character."""
    if text.isascii():
        return text
    return _SURROGATE.sub("\ufffd", text)


def type_text(value: object) -> str:
    """Return the name of a value's type, in angle brackets; `<object>` for a name that is no identifier."""
    name = _CLASS_NAME(type(value))
    if name.isidentifier() and len(name) <= _MAX_NAME:
        return f"<{name}>"
    return "<object>"


def json_text(text: str) -> str:
    """Return foreign text as a JSON string in which nothing has the form of a note."""
    return escape_notes(json.dumps(without_surrogates(text), ensure_ascii=False))


def cut_json(text: str, room: int) -> str:
    """Return text as a JSON string of at most `room` characters: its beginning and its end, with a note between."""
    length = str.__len__(text)
    left = room - len(gap_note(length, "characters")) - 2
    if left < 0:
        return "0"
    end, end_count = _json_inside(text, left // 3, from_end=True)
    start, start_count = _json_inside(text, left - len(end))
    return f'"{start}{gap_note(length - start_count - end_count, "characters")}{end}"'


def _json_inside(text: str, room: int, *, from_end: bool = False) -> tuple[str, int]:
    """Return the beginning or the end of a text as the inside of a JSON string, and how many of its characters it has.

    It has at most `room` characters as JSON.
    """
    count = room
    while count > 0:
        window = slice(0, count)
        if from_end:
            window = slice(-count, None)
        written = json_text(str.__getitem__(text, window))[1:-1]
        if len(written) <= room:
            return written, count
        count = min(count - 1, count * room // len(written))
    return "", 0


def base_of(value: object) -> Any:  # noqa: ANN401 - the stubs of a class do not say what its unbound methods take
    """Return the type of Python's own that a text, bytes or a container is an instance of, or None for other values.

    Its methods read a value without running code of a derived class.
    """
    return next((base for base in _BASES if issubclass(type(value), base)), None)


def extent(value: object, most: int) -> int:
    """Return about how many characters and elements a value of Python's own types has.

    It stops once they are more than `most`.
    """
    count = 0
    values = [value]
    while values and count <= most:
        item = values.pop()
        base = base_of(item)
        count += 1
        if base is not None:
            count += base.__len__(item)
        elif type(item) is int:
            count += item.bit_length() // 4
        if count > most or base is None or base in {str, *_BINARY}:
            continue
        values += base.__iter__(item)
        if base is dict:
            values += dict[object, object].values(cast("dict[object, object]", item))
    return count


class JsonWriter:
    """Writes values as JSON; `plain` returns the substitute of a value of another type than JSON's."""

    def __init__(self, plain: Callable[[object], object]) -> None:
        self._plain = plain
        # With the object itself, because an id is free again once its object is gone.
        self._substitutes: dict[int, tuple[object, object]] = {}
        self._room = 0

    def simplify(self, value: object) -> object:
        """Return the value itself if it is of one of Python's own types or derived from one, else its substitute."""
        for _ in range(_MAX_STEPS):
            cls = type(value)
            if cls in _SCALARS or cls in _BASES:
                return value
            if base_of(value) is not None and not any(hasattr(cls, name) for name in _RECORDS):
                return value
            known = self._substitutes.get(id(value))
            if known is None:
                self._substitutes[id(value)] = known = (value, self._plain(value))
            value = known[1]
        return type_text(value)

    def whole(self, value: object, room: int) -> str | None:
        """Return the JSON of a value, or None if it has more than `room` characters or too many levels."""
        self._room = room
        try:
            return self._write(value, 0)
        except _FullError:
            return None

    def key(self, key: object) -> str:
        """Return a dict's key as a JSON string, cut to 100 characters."""
        key = self.simplify(key)
        if base_of(key) is not str:
            key = self.whole(key, _MAX_KEY) or type_text(key)
        return self.whole(key, _MAX_KEY) or cut_json(cast("str", key), _MAX_KEY)

    def _spend(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise _FullError

    def _write(self, value: object, depth: int) -> str:
        value = self.simplify(value)
        base = base_of(value)
        if base is None:
            return self._scalar(json.dumps(_number(cast("float | None", value))))
        size = base.__len__(value)
        if base is str:
            self._spend(size + 2)
            return self._scalar(json_text(str.__str__(cast("str", value))), size + 2)
        if base in _BINARY:
            self._spend((size + 2) // 3 * 4 + 2)
            return f'"{b64encode(cast("bytes", value)).decode()}"'
        self._spend(max(size, 1) + 1)
        if depth > _MAX_DEPTH:
            raise _FullError
        if base is not dict:
            return f"[{','.join([self._write(item, depth + 1) for item in base.__iter__(value)])}]"
        self._spend(size)
        pairs = [
            f"{self._write_key(key)}:{self._write(item, depth + 1)}"
            for key, item in dict[object, object].items(cast("dict[object, object]", value))
        ]
        return f"{{{','.join(pairs)}}}"

    def _write_key(self, key: object) -> str:
        """Return a key as a JSON string: the JSON of another value than text is the text of its key."""
        text = self._write(key, 0)
        if text.startswith('"'):
            return text
        self._spend(2)
        return json_text(text)

    def _scalar(self, text: str, spent: int = 0) -> str:
        self._spend(len(text) - spent)
        return text


def _number(value: float | None) -> object:
    """Return a number as JSON can have it: text for the rest."""
    if type(value) is int and value.bit_length() > _MAX_INT_BITS:
        return f"<an integer of {value.bit_length()} bits>"
    if type(value) is float and not math.isfinite(value):
        return "NaN" if math.isnan(value) else str(value).replace("inf", "Infinity")
    return value
