"""Values as trees that JSON can carry: what crosses, what it costs, and what is told of what does not.

JSON carries what JSON has. Everything else is an object with the single key ``"$"``: ``{"$": [kind, payload]}``. A dict
that has that key itself, or keys that are no strings, travels as a list of pairs under the same mark, so nothing is
ambiguous.
"""

from __future__ import annotations

import base64
import dataclasses
import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = [
    "KEYS",
    "MARK",
    "MAX_DEPTH",
    "MAX_NODES",
    "MOST_SQUARED_DIGITS",
    "CannotCrossError",
    "cannot_cross",
    "decimal_cost",
    "encode",
    "int_cost",
]

MARK = "$"
MAX_DEPTH = 100
"""Nesting levels a value may have; the JSON parsers on both ends recurse."""
MAX_NODES = 500_000
"""Elements a value may have in all, so that shared references cannot unfold without bound."""

_SCALARS = frozenset({str, int, float, bool, type(None)})
_FIXED = frozenset({bool, float, type(None)})
_TREE = _SCALARS | {list, dict}
KEYS = _SCALARS | {bytes, datetime, date, time, timedelta, Decimal, uuid.UUID}
"""Kinds of keys that cross as they are; tuples and frozen sets do where what is in them does."""
_MANY = 32
_WHAT_CAN = (
    "None, bool, int, float, str, bytes, list, tuple, set, dict, datetime, date, time, timedelta, Decimal, UUID, Enum "
    "and dataclass values can"
)
_BIG_INT_BITS = 10_000
"""Wider integers travel as hexadecimal: CPython refuses decimal text of over 4,300 digits (about 14,000 bits)."""
_WIDE_INT = 1 << 64
_FREE_DIGITS = 1_000
MOST_SQUARED_DIGITS = 4 * 10**10
"""What the numbers of a value may cost in all: what is done with them may take the square of their length."""
_MOST_TEXT = 1 << 30
_SHORT_KEY = 32


class CannotCrossError(TypeError):
    """A value has a type, a depth or a size that does not cross; the message says which and what can."""


def _cost(digits: int) -> int:
    return digits * digits if digits > _FREE_DIGITS else 0


def int_cost(bits: int) -> int:
    """Return what the digits of an integer of so many bits cost."""
    return _cost(bits * 3 // 10)


def decimal_cost(value: Decimal) -> int:
    """Return what the digits of a decimal cost."""
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

    __slots__ = ("_convert", "_digits_left", "_nodes", "_plain_members", "_text_left", "_text_most")

    def __init__(
        self,
        convert: Callable[[object], object] | None,
        most_text: int,
        plain_members: Callable[[Any], Any] | None,
    ) -> None:
        self._convert = convert
        self._plain_members = plain_members
        self._nodes = 0
        self._digits_left = MOST_SQUARED_DIGITS
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
            if kind is int and not -_WIDE_INT < cast("int", value) < _WIDE_INT:
                return self._wide_int(cast("int", value))
            if kind is str:
                self._spend_text(len(cast("str", value)))
            return value
        if kind is dict:
            return self._dict(cast("dict[object, object]", value), depth)
        if kind is list:
            return self._items(cast("list[object]", value), depth)
        return self._special(value, depth)

    def _wide_int(self, value: int) -> object:
        bits = value.bit_length()
        self._spend_text(bits // 3)
        if bits <= _BIG_INT_BITS:
            return value
        self._spend_digits(int_cost(bits))
        return {MARK: ["i", hex(value)]}

    def _json_as_is(self, values: Collection[object]) -> bool:
        """Return whether JSON can carry all of `values` as they are: the common case, without a look at each."""
        kinds = set(map(type, values))
        if not kinds <= _SCALARS or (int in kinds and _has_wide_int(values)):
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
            if not kinds <= _TREE or (int in kinds and _has_wide_int(level)):
                return False
            texts += sum([len(item) for item in level if type(item) is str]) if str in kinds else 0
            dicts = cast("list[dict[str, object]]", [item for item in level if type(item) is dict])
            lists = cast("list[list[object]]", [item for item in level if type(item) is list])
            if not (dicts or lists):
                self._spend(nodes, depth)
                self._spend_text(texts)
                return True
            fields = sum(map(len, dicts))
            nodes += len(dicts) + len(lists) + fields + sum(map(len, lists))
            keys = set(chain.from_iterable(dicts))
            if self._nodes + nodes > MAX_NODES or not set(map(type, keys)) <= {str} or MARK in keys:
                return False
            longest = max(map(len, keys), default=0)
            # Mostly that is little whatever it is exactly, and need not be counted.
            is_little = longest <= _SHORT_KEY and 4 * _SHORT_KEY * nodes <= self._text_left
            texts += longest * fields if is_little else sum(map(len, chain.from_iterable(dicts)))
            below = chain(chain.from_iterable(map(dict[str, object].values, dicts)), chain.from_iterable(lists))
            level = list(below)
        return False

    def _dict(self, items: dict[object, object], depth: int) -> object:
        self._spend(len(items) + 1, depth)
        deeper = depth + 1
        tree = self.tree
        kinds = set(map(type, items))
        if kinds <= {str} and MARK not in items:
            self._spend_text(sum(map(len, cast("dict[str, object]", items))))
            if self._json_as_is(items.values()):
                return items
            return {key: tree(value, deeper) for key, value in items.items()}
        if self._plain_members is not None and not kinds <= KEYS:
            items = self._plain_members(items)
        return {MARK: ["m", [[tree(key, deeper), tree(value, deeper)] for key, value in items.items()]]}

    def _special(self, value: object, depth: int) -> object:
        kind = type(value)
        if (plain := _PLAIN.get(kind)) is not None:
            mark, payload = plain
            if isinstance(value, (bytes, bytearray)):
                self._spend_text(len(value))
            elif isinstance(value, Decimal):
                self._spend_text(len(value.as_tuple().digits))
                self._spend_digits(decimal_cost(value))
            return {MARK: [mark, payload(value)]}
        if (mark := _COLLECTIONS.get(kind)) is not None:
            return self._collection(cast("Collection[object]", value), mark, depth)
        if self._convert is not None:
            simpler = self._convert(value)
        elif (fields := _fields(kind)) is not None:
            simpler = {name: getattr(value, name) for name in fields}
        else:
            simpler = _simpler(value)
        self._spend(1, depth)
        return self.tree(simpler, depth if type(simpler) in _KNOWN else depth + 1)

    def _collection(self, items: Collection[object], mark: str, depth: int) -> object:
        if self._plain_members is not None and mark != "t" and not set(map(type, items)) <= KEYS:
            plain: Collection[object] = self._plain_members(items)
            tree = self._items(plain, depth)
            return tree if type(plain) is list else {MARK: [mark, tree]}
        return {MARK: [mark, self._items(items, depth)]}


def _simpler(value: object) -> object:
    kind = type(value)
    if issubclass(kind, Enum):
        return cast("Enum", value).value
    for base, plain in _BASES.items():
        if issubclass(kind, base):
            return plain(value)
    raise cannot_cross(value)


def _has_wide_int(values: Iterable[object]) -> bool:
    numbers = [v for v in values if type(v) is int]
    return bool(numbers) and not -_WIDE_INT < min(numbers) <= max(numbers) < _WIDE_INT


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
_KNOWN = _TREE | _PLAIN.keys() | _COLLECTIONS.keys()

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


def encode(
    value: object,
    convert: Callable[[object], object] | None = None,
    *,
    most_text: int = _MOST_TEXT,
    plain_members: Callable[[Any], Any] | None = None,
) -> object:
    """Return ``value`` as a tree that JSON can carry; what is one already is not copied.

    Args:
        value: What shall cross.
        convert: Asked for what is of no known type, records included; returns a known one or raises.
        most_text: How many characters and bytes it may have in all.
        plain_members: Asked for a dict with a key of no known type, and for a set with such a member; returns one with
            none such, or a list in place of a set.

    Raises:
        CannotCrossError: A type, the depth (100), the number of elements (500,000) or of digits does not cross.
    """
    kind = type(value)
    if kind in _FIXED or (kind is int and -_WIDE_INT < cast("int", value) < _WIDE_INT):  # nothing to count
        return value
    return _Encoder(convert, most_text, plain_members).tree(value)
