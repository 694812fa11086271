"""Values that cross the boundary, as data: one codec for both ends.

JSON carries what JSON has. Everything else is an object with the single key ``"$"``: ``{"$": [kind, payload]}``. A dict
that has that key itself, or keys that are no strings, travels as a list of pairs under the same mark, so nothing is
ambiguous. Decoding bounds nothing by itself: frames are size-capped before they come here.
"""

from __future__ import annotations

import base64
import dataclasses
import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from json import JSONDecoder, JSONEncoder
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["MAX_DEPTH", "MAX_NODES", "CannotCrossError", "cannot_cross", "dumps", "encode", "loads", "reader"]

MARK = "$"
MAX_DEPTH = 100
"""Nesting levels a value may have; the JSON parsers on both ends recurse."""
MAX_NODES = 500_000
"""Elements a value may have in all, so that shared references cannot unfold without bound."""

_SCALARS = frozenset({str, int, float, bool, type(None)})
_WHAT_CAN = (
    "None, bool, int, float, str, bytes, list, tuple, set, dict, datetime, date, time, timedelta, Decimal, UUID, Enum "
    "and dataclass values can"
)
_BIG_INT_BITS = 10_000
"""Wider integers travel as hexadecimal: CPython refuses decimal text of over 4,300 digits (about 14,000 bits)."""
_COLLISIONS = 50
_MOST_TEXT = 1 << 30


class CannotCrossError(TypeError):
    """A value has a type, a depth or a size that does not cross; the message says which and what can."""


def _describe(kind: type[object]) -> str:
    if issubclass(kind, type):
        return "a class"
    hint = " (make it a list: list(...))" if hasattr(kind, "__iter__") else ""
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    return f"{article} {kind.__name__}{hint}"


class _Encoder:
    """One walk over one value: counts nodes, refuses what does not cross."""

    __slots__ = ("_convert", "_nodes", "_text_left", "_text_most")

    def __init__(self, convert: Callable[[object], object] | None, most_text: int) -> None:
        self._convert = convert
        self._nodes = 0
        self._text_most = most_text
        self._text_left = most_text

    def _spend(self, nodes: int, depth: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            message = f"the value is too large: it has more than {MAX_NODES:,} elements"
            raise CannotCrossError(message)
        if depth > MAX_DEPTH:
            message = f"the value refers to itself or is nested deeper than {MAX_DEPTH} levels"
            raise CannotCrossError(message)

    def _spend_text(self, size: int) -> None:
        """Count text and bytes: one long text may stand in a value a thousand times without taking memory yet."""
        self._text_left -= size
        if self._text_left < 0:
            message = f"the value is too large: it has more than {self._text_most:,} characters and bytes"
            raise CannotCrossError(message)

    def tree(self, value: object, depth: int = 0) -> object:
        kind = type(value)
        if kind in _SCALARS:
            if kind is int and cast("int", value).bit_length() > _BIG_INT_BITS:
                return {MARK: ["i", hex(cast("int", value))]}
            if kind is str:
                self._spend_text(len(cast("str", value)))
            return value
        if kind is dict:
            return self._dict(cast("dict[object, object]", value), depth)
        if kind is list:
            return self._items(cast("list[object]", value), depth)
        return self._special(value, depth)

    def _json_as_is(self, values: Collection[object]) -> bool:
        """Return whether JSON can carry all of `values` as they are: the common case, without a look at each."""
        kinds = set(map(type, values))
        if not kinds <= _SCALARS:
            return False
        if int in kinds and any(type(v) is int and v.bit_length() > _BIG_INT_BITS for v in values):
            return False
        if str in kinds:
            self._spend_text(sum(len(v) for v in values if type(v) is str))
        return True

    def _items(self, items: Iterable[object], depth: int) -> list[object]:
        values = list(items)
        self._spend(len(values) + 1, depth)
        if self._json_as_is(values):
            return values
        deeper = depth + 1
        return [self.tree(item, deeper) for item in values]

    def _dict(self, items: dict[object, object], depth: int) -> object:
        self._spend(len(items) + 1, depth)
        deeper = depth + 1
        tree = self.tree
        if set(map(type, items)) <= {str} and MARK not in items:
            if self._json_as_is(items.values()):
                return items
            return {key: tree(value, deeper) for key, value in items.items()}
        return {MARK: ["m", [[tree(key, deeper), tree(value, deeper)] for key, value in items.items()]]}

    def _special(self, value: object, depth: int) -> object:
        kind = type(value)
        if (plain := _PLAIN.get(kind)) is not None:
            mark, payload = plain
            if isinstance(value, (bytes, bytearray)):
                self._spend_text(len(value))
            return {MARK: [mark, payload(value)]}
        if (mark := _COLLECTIONS.get(kind)) is not None:
            return {MARK: [mark, self._items(cast("Iterable[object]", value), depth)]}
        if (fields := _fields(kind)) is not None:
            return self._dict({name: getattr(value, name) for name in fields}, depth)
        self._spend(1, depth)
        return self.tree(self._simpler(value), depth + 1)

    def _simpler(self, value: object) -> object:
        kind = type(value)
        if issubclass(kind, Enum):
            return cast("Enum", value).value
        for base, plain in _BASES.items():
            if issubclass(kind, base):
                return plain(value)
        if self._convert is not None:
            return self._convert(value)
        raise cannot_cross(value)


def cannot_cross(value: object) -> CannotCrossError:
    """Return the error for a value whose type does not cross."""
    return CannotCrossError(f"{_describe(type(value))} cannot cross the sandbox boundary; {_WHAT_CAN}")


def _fields(kind: type[object]) -> tuple[str, ...] | None:
    """Return the field names of a dataclass or named tuple class: both travel as records."""
    if hasattr(kind, "__dataclass_fields__"):
        return tuple(field.name for field in dataclasses.fields(cast("Any", kind)))
    names = vars(kind).get("_fields") if tuple in kind.__mro__ else None
    return cast("tuple[str, ...]", names) if isinstance(names, tuple) else None


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


_PLAIN: Mapping[type, tuple[str, Callable[[Any], object]]] = {
    bytes: ("b", _base64),
    bytearray: ("b", _base64),
    datetime: ("dt", datetime.isoformat),
    date: ("d", date.isoformat),
    time: ("tm", time.isoformat),
    timedelta: ("td", lambda value: [value.days, value.seconds, value.microseconds]),
    Decimal: ("dec", str),
    uuid.UUID: ("u", str),
}
_COLLECTIONS: Mapping[type, str] = {tuple: "t", set: "s", frozenset: "fs"}

# What a subclass's instance is below, found without running the subclass's own methods. datetime comes
# before date, being a subclass of it.
_BASES: Mapping[type, Callable[[Any], object]] = {
    str: str.__str__,
    int: int.__pos__,
    float: float.__pos__,
    dict: lambda value: dict(dict[object, object].items(value)),
    list: lambda value: list(list[object].__iter__(value)),
    tuple: lambda value: tuple(tuple[object, ...].__iter__(value)),
    set: lambda value: set(set[object].__iter__(value)),
    frozenset: lambda value: frozenset(frozenset[object].__iter__(value)),
    bytes: lambda value: bytes(bytes.__iter__(value)),
    bytearray: lambda value: bytes(bytearray.__iter__(value)),
    datetime: lambda value: datetime.fromisoformat(datetime.isoformat(value)),
    date: lambda value: date.fromisoformat(date.isoformat(value)),
    time: lambda value: time.fromisoformat(time.isoformat(value)),
    timedelta: lambda value: timedelta(value.days, value.seconds, value.microseconds),
    Decimal: lambda value: Decimal(Decimal.__str__(value)),
    uuid.UUID: lambda value: uuid.UUID(uuid.UUID.__str__(value)),
}


def encode(value: object, convert: Callable[[object], object] | None = None, most_text: int = _MOST_TEXT) -> object:
    """Return ``value`` as a tree that JSON can carry.

    Args:
        value: What shall cross.
        convert: Asked for what is of no known type; returns a known one or raises :class:`CannotCrossError`.
        most_text: How many characters and bytes it may have in all.

    Raises:
        CannotCrossError: A type, the depth (100) or the number of elements (500,000) does not cross.
    """
    return _Encoder(convert, most_text).tree(value)


_text = JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def dumps(tree: object) -> bytes:
    """Return an encoded tree as JSON in UTF-8; lone surrogates pass as they are."""
    return _text(tree).encode("utf-8", "surrogatepass")


def _few_collisions(keys: list[object]) -> None:
    """Refuse keys chosen to collide: hashes of numbers are not randomised, and a million equal ones take hours."""
    if len(keys) <= _COLLISIONS:
        return
    hashes = sorted(map(hash, keys))
    if any(a == b for a, b in zip(hashes, hashes[_COLLISIONS:], strict=False)):
        message = "too many keys with one hash"
        raise ValueError(message)


def _set(items: list[object]) -> set[object]:
    _few_collisions(items)
    return set(items)


def _pairs(items: list[list[object]]) -> dict[object, object]:
    _few_collisions([key for key, _ in items])
    return {key: value for key, value in items}  # noqa: C416 - a pair of any other length must raise


_DECODERS: Mapping[str, Callable[[object], object]] = {
    "t": lambda payload: tuple(cast("list[object]", payload)),
    "s": lambda payload: _set(cast("list[object]", payload)),
    "fs": lambda payload: frozenset(_set(cast("list[object]", payload))),
    "m": lambda payload: _pairs(cast("list[list[object]]", payload)),
    "b": lambda payload: base64.b64decode(cast("str", payload), validate=True),
    "dt": lambda payload: datetime.fromisoformat(cast("str", payload)),
    "d": lambda payload: date.fromisoformat(cast("str", payload)),
    "tm": lambda payload: time.fromisoformat(cast("str", payload)),
    "td": lambda payload: timedelta(*cast("list[int]", payload)),
    "dec": lambda payload: Decimal(cast("str", payload)),
    "u": lambda payload: uuid.UUID(cast("str", payload)),
    "i": lambda payload: int(cast("str", payload), 16),
}


def _unmark(found: dict[str, object]) -> object:
    if MARK not in found:
        return found
    kind, payload = cast("list[object]", found[MARK])
    return _DECODERS[cast("str", kind)](payload)


# Made once, and before a program can put something else into the json module.
_marked = JSONDecoder(object_hook=_unmark).decode
_plain = JSONDecoder().decode


def loads(data: bytes) -> object:
    """Return what :func:`dumps` was given, decoded.

    Args:
        data: JSON in UTF-8.

    Raises:
        ValueError: Not JSON, or not what :func:`encode` makes. Also TypeError, LookupError, ArithmeticError,
            AttributeError and RecursionError where bytes were made to confuse; whoever reads from a worker catches
            them all.
    """
    text = data.decode("utf-8", "surrogatepass")
    return _marked(text) if b'"$"' in data else _plain(text)


def reader(record: Callable[[dict[str, object]], object]) -> Callable[[bytes], object]:
    """Return a function like :func:`loads` in whose results each dict is what ``record`` makes of it."""
    decode = JSONDecoder(object_hook=lambda found: _unmark(found) if MARK in found else record(found)).decode
    return lambda data: decode(data.decode("utf-8", "surrogatepass"))
