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
from itertools import chain
from json import JSONDecoder, JSONEncoder, encoder
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["MAX_DEPTH", "MAX_NODES", "CannotCrossError", "cannot_cross", "dumps", "encode", "loads", "reader", "text"]

MARK = "$"
MAX_DEPTH = 100
"""Nesting levels a value may have; the JSON parsers on both ends recurse."""
MAX_NODES = 500_000
"""Elements a value may have in all, so that shared references cannot unfold without bound."""

_SCALARS = frozenset({str, int, float, bool, type(None)})
_TREE = _SCALARS | {list, dict}
_MANY = 32
_WHAT_CAN = (
    "None, bool, int, float, str, bytes, list, tuple, set, dict, datetime, date, time, timedelta, Decimal, UUID, Enum "
    "and dataclass values can"
)
_BIG_INT_BITS = 10_000
"""Wider integers travel as hexadecimal: CPython refuses decimal text of over 4,300 digits (about 14,000 bits)."""
_BIG_INT = 1 << _BIG_INT_BITS
_FREE_DIGITS = 1_000
_MOST_SQUARED_DIGITS = 4 * 10**10
"""What the numbers of a value may cost in all: what is done with them may take the square of their length."""
_COLLISIONS = 50
_MOST_TEXT = 1 << 30


class CannotCrossError(TypeError):
    """A value has a type, a depth or a size that does not cross; the message says which and what can."""


def _cost(digits: int) -> int:
    return digits * digits if digits > _FREE_DIGITS else 0


def _int_cost(bits: int) -> int:
    return _cost(bits * 3 // 10)


def _decimal_cost(value: Decimal) -> int:
    # Where it becomes an integer or a fraction, an exponent is as many digits.
    return _cost(max(len(str(value)), abs(value.adjusted())))


def _describe(kind: type[object]) -> str:
    if issubclass(kind, type):
        return "a class"
    hint = " (make it a list: list(...))" if hasattr(kind, "__iter__") else ""
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    return f"{article} {kind.__name__}{hint}"


class _Encoder:
    """One walk over one value: counts nodes, refuses what does not cross."""

    __slots__ = ("_convert", "_digits_left", "_nodes", "_text_left", "_text_most")

    def __init__(self, convert: Callable[[object], object] | None, most_text: int) -> None:
        self._convert = convert
        self._nodes = 0
        self._digits_left = _MOST_SQUARED_DIGITS
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

    def _spend_digits(self, cost: int) -> None:
        self._digits_left -= cost
        if self._digits_left < 0:
            message = "the value is too large: its numbers have too many digits (200,000 in one, or 10,000 in 400)"
            raise CannotCrossError(message)

    def tree(self, value: object, depth: int = 0) -> object:
        kind = type(value)
        if kind in _SCALARS:
            if kind is int and (bits := cast("int", value).bit_length()) > _BIG_INT_BITS:
                self._spend_digits(_int_cost(bits))
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
        if not kinds <= _SCALARS or (int in kinds and _has_big_int(values)):
            return False
        if str in kinds:
            self._spend_text(sum([len(v) for v in values if type(v) is str]))
        return True

    def _items(self, items: Iterable[object], depth: int) -> list[object]:
        values = list(items)
        self._spend(len(values) + 1, depth)
        if self._json_as_is(values) or (len(values) >= _MANY and self._tree_as_is(values, depth)):
            return values
        deeper = depth + 1
        return [self.tree(item, deeper) for item in values]

    def _tree_as_is(self, values: list[object], depth: int) -> bool:
        """Return whether JSON can carry `values` and all below them: many records, one look at each level."""
        nodes, texts, level = 0, 0, values
        for _ in range(MAX_DEPTH - depth):
            kinds = set(map(type, level))
            if not kinds <= _TREE or (int in kinds and _has_big_int(level)):
                return False
            texts += sum([len(item) for item in level if type(item) is str]) if str in kinds else 0
            dicts = cast("list[dict[object, object]]", [item for item in level if type(item) is dict])
            lists = cast("list[list[object]]", [item for item in level if type(item) is list])
            if not (dicts or lists):
                self._spend(nodes, depth)
                self._spend_text(texts)
                return True
            nodes += len(dicts) + len(lists) + sum(map(len, dicts)) + sum(map(len, lists))
            if self._nodes + nodes > MAX_NODES or not _have_plain_keys(dicts):
                return False
            below = chain(chain.from_iterable(map(dict[object, object].values, dicts)), chain.from_iterable(lists))
            level = list(below)
        return False

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
            elif isinstance(value, Decimal):
                self._spend_digits(_decimal_cost(value))
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


def _has_big_int(values: Iterable[object]) -> bool:
    numbers = [v for v in values if type(v) is int]
    return bool(numbers) and not -_BIG_INT < min(numbers) <= max(numbers) < _BIG_INT


def _have_plain_keys(dicts: list[dict[object, object]]) -> bool:
    keys = set(chain.from_iterable(dicts))
    return set(map(type, keys)) <= {str} and MARK not in keys


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
    """Return ``value`` as a tree that JSON can carry; what is one already is not copied.

    Args:
        value: What shall cross.
        convert: Asked for what is of no known type; returns a known one or raises :class:`CannotCrossError`.
        most_text: How many characters and bytes it may have in all.

    Raises:
        CannotCrossError: A type, the depth (100), the number of elements (500,000) or of digits does not cross.
    """
    return _Encoder(convert, most_text).tree(value)


_slowly = JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_quickly = getattr(encoder, "c_make_encoder", None)
# JSONEncoder makes its encoder anew for each text, which takes longer than most texts do.
_pieces: Callable[[object, int], Iterable[str]] = (
    _quickly(None, _slowly.default, encoder.encode_basestring, None, ":", ",", *(False, False, True))
    if _quickly is not None
    else lambda tree, _: _slowly.iterencode(tree)
)


def text(tree: object) -> str:
    """Return an encoded tree as JSON."""
    return "".join(_pieces(tree, 0))


def dumps(tree: object) -> bytes:
    """Return an encoded tree as JSON in UTF-8; lone surrogates pass as they are."""
    return text(tree).encode("utf-8", "surrogatepass")


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


class _Bounded:
    """Decodes the marks of one text, and counts the digits in it."""

    def __init__(self) -> None:
        self._left = _MOST_SQUARED_DIGITS

    def unmark(self, found: dict[str, object]) -> object:
        value = _unmark(found)
        if isinstance(value, (int, Decimal)):
            cost = _decimal_cost(value) if isinstance(value, Decimal) else _int_cost(value.bit_length())
            self._left -= cost
            if self._left < 0:
                message = "numbers with too many digits"
                raise ValueError(message)
        return value


# Made once, and before a program can put something else into the json module.
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
    return JSONDecoder(object_hook=_Bounded().unmark).decode(text) if b'"$"' in data else _plain(text)


def reader(record: Callable[[dict[str, object]], object], *, marked: bool = True) -> Callable[[bytes], object]:
    """Return a function like :func:`loads` in whose results each dict is what ``record`` makes of it.

    What it reads is the host's: nothing is bounded, and nothing after the value is looked at. ``marked`` says whether
    values that JSON does not have may be in it.
    """

    def unmark(found: dict[str, object]) -> object:
        return _unmark(found) if MARK in found else record(found)

    decode = JSONDecoder(object_hook=unmark if marked else record).raw_decode
    return lambda data: decode(data.decode("utf-8", "surrogatepass"))[0]
