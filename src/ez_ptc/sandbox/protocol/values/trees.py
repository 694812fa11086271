"""Values as trees that JSON can carry: which types cross, their cost, and the errors of those that do not.

JSON types are written as they are. Any other value is an object with the single key ``"$"``:
``{"$": [kind, payload]}``. A dict with that key, or with keys other than strings, travels as a list
of pairs under such a mark, so nothing is ambiguous. Where a frame may have attachments, long texts and bytes are some
of them, and the payload of the kind ``at`` is the number of one.
"""

from __future__ import annotations

import dataclasses
import zoneinfo
from collections import deque
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from ..both_ends.limits import LIMITS, limit_error
from .attachments import MIN_ATTACHED, attach
from .kinds import KINDS_BY_TYPE, VALUE_KINDS, range_length
from .named_tuples import names_of
from .substitutes import UNKNOWN, TooManyError, of_base, of_special

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = [
    "KEYS",
    "KINDS",
    "MARK",
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_SQUARED_DIGITS",
    "RAISE_ELEMENTS",
    "CannotCrossError",
    "cannot_cross",
    "decimal_cost",
    "encode",
    "fraction_cost",
    "has_wide_int",
    "int_cost",
]

MARK = "$"
# The maximum nesting depth of a value; the JSON parsers on both ends recurse.
MAX_DEPTH = 100
# The default maximum of elements of a value, so that shared references cannot expand without bound.
MAX_NODES: int = LIMITS["elements"].default

_SCALARS = frozenset({str, int, float, bool, type(None)})
_FIXED = frozenset({bool, float, type(None)})
_TREE = _SCALARS | {list, dict}
# Types of keys that cross unchanged; tuples and frozen sets do if their items do.
KEYS = _SCALARS | {cls for cls, value_kind in KINDS_BY_TYPE.items() if value_kind.is_key}
_MANY = 32
_WORDS = "".join(f"{value_kind.words}, " for value_kind in VALUE_KINDS if value_kind.words)
_WHAT_CAN = f"None, numbers, str, {_WORDS}Enum and dataclass values, arrays and tables can"
# Wider integers travel as hexadecimal: CPython refuses decimal text of over 4,300 digits (about 14,000 bits).
_BIG_INT_BITS = 10_000
_WIDE_INT = 1 << 64
# The setting to raise, for an error message.
RAISE_ELEMENTS = " (Limits.elements)"
_FREE_DIGITS = 1_000
# The maximum total cost of a value's numbers: arithmetic may take the square of their lengths.
MAX_SQUARED_DIGITS = 4 * 10**10
_MAX_TEXT = 1 << 30
_SHORT_KEY = 32
# The conversion methods of other packages' tables.
_TO_RECORDS = ("to_dicts", "to_pylist")


class CannotCrossError(TypeError):
    """A value's type, depth or size does not cross; the message says which, and what does."""


def _cost(digits: int) -> int:
    if digits > _FREE_DIGITS:
        return digits * digits
    return 0


def int_cost(bits: int) -> int:
    """Return the cost of the digits of an integer of so many bits."""
    return _cost(bits * 3 // 10)


def fraction_cost(bits: int) -> int:
    """Return the cost of the digits of a fraction, whose two numbers have so many bits together: they are divided."""
    return 16 * int_cost(bits)


def decimal_cost(value: Decimal) -> int:
    """Return the cost of the digits of a decimal."""
    # Converted to an integer or a fraction, an exponent becomes as many digits.
    return _cost(max(len(str(value)), abs(value.adjusted())))


class _TreeEncoder:
    """Encodes one value: counts nodes, and refuses types that do not cross."""

    __slots__ = (
        "_attached",
        "_convert",
        "_digits_left",
        "_most",
        "_nodes",
        "_plain_members",
        "_text_left",
        "_text_most",
    )

    def __init__(
        self,
        convert: Callable[[object, int], object] | None,
        most_text: int,
        plain_members: Callable[[Any], Any] | None,
        most: int,
        attached: list[bytes] | None,
    ) -> None:
        self._attached = attached
        self._convert = convert
        self._plain_members = plain_members
        self._most = most
        self._nodes = 0
        self._digits_left = MAX_SQUARED_DIGITS
        self._text_most = most_text
        self._text_left = most_text

    def _spend(self, nodes: int, depth: int) -> None:
        self._nodes += nodes
        if self._nodes > self._most:
            message = limit_error("elements", limit=self._most)
            raise CannotCrossError(message)
        if depth > MAX_DEPTH:
            message = f"the value refers to itself or is nested deeper than {MAX_DEPTH} levels"
            raise CannotCrossError(message)

    def _spend_text(self, size: int) -> None:
        """Count text and bytes: one long text may occur in a value a thousand times without using memory yet."""
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
        cls = type(value)
        if cls in _SCALARS:
            if cls is int and not -_WIDE_INT < cast("int", value) < _WIDE_INT:
                number = cast("int", value)
                bits = number.bit_length()
                self._spend_text(bits // 3)
                if bits <= _BIG_INT_BITS:
                    return number
                self._spend_digits(int_cost(bits))
                return {MARK: ["i", hex(number)]}
            return self._text(cast("str", value)) if cls is str else value
        if cls is dict:
            return self._dict(cast("dict[object, object]", value), depth)
        if cls is list:
            return self._items(cast("list[object]", value), depth)
        return self._special(value, depth)

    def _text(self, text: str) -> object:
        self._spend_text(len(text))
        if self._attached is not None and len(text) >= MIN_ATTACHED:
            return {MARK: ["at", attach(text, self._attached)]}
        return text

    def _json_as_is(self, values: Collection[object]) -> bool:
        """Return whether JSON can carry all of `values` unchanged: the common case, without visiting each."""
        kinds = set(map(type, values))
        if not kinds <= _SCALARS or (int in kinds and has_wide_int(values)):
            return False
        if str in kinds:
            lengths = [len(v) for v in values if type(v) is str]
            if self._has_attachments(lengths):
                return False
            self._spend_text(sum(lengths))
        return True

    def _has_attachments(self, lengths: list[int]) -> bool:
        return self._attached is not None and max(lengths, default=0) >= MIN_ATTACHED

    def _items(self, items: Iterable[object], depth: int) -> list[object]:
        values = list(items)
        self._spend(len(values) + 1, depth)
        if self._json_as_is(values) or (len(values) >= _MANY and self._tree_as_is(values, depth)):
            return values
        deeper = depth + 1
        return [self.tree(item, deeper) for item in values]

    def _tree_as_is(self, values: list[object], depth: int) -> bool:
        """Return whether JSON can carry `values` and everything below: many records, visited level by level."""
        nodes, texts, level = 0, 0, values
        for _ in range(MAX_DEPTH - depth):
            kinds = set(map(type, level))
            if not kinds <= _TREE or (int in kinds and has_wide_int(level)):
                return False
            lengths = [len(item) for item in level if type(item) is str] if str in kinds else []
            if self._has_attachments(lengths):
                return False
            texts += sum(lengths)
            dicts = cast("list[dict[str, object]]", [item for item in level if type(item) is dict])
            lists = cast("list[list[object]]", [item for item in level if type(item) is list])
            if not (dicts or lists):
                self._spend(nodes, depth)
                self._spend_text(texts)
                return True
            fields = sum(map(len, dicts))
            nodes += len(dicts) + len(lists) + fields + sum(map(len, lists))
            keys = set(chain.from_iterable(dicts))
            if self._nodes + nodes > self._most or not set(map(type, keys)) <= {str} or MARK in keys:
                return False
            longest = max(map(len, keys), default=0)
            # Usually far below the limit, and then not counted exactly.
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
        cls = type(value)
        if cls in _BYTES and self._attached is not None and len(cast("bytes", value)) >= MIN_ATTACHED:
            self._spend_text(len(cast("bytes", value)))
            return {MARK: ["at", attach(cast("bytes", value), self._attached)]}
        value_kind = KINDS_BY_TYPE.get(cls)
        if value_kind is not None and value_kind.write is not None and (cls not in _PAID or self._pays(value)):
            written = value_kind.write(value)
            if value_kind.has_parts:
                written = self._items(cast("list[object]", written), depth)
            elif type(written) is str and cls not in _PAID:
                self._spend_text(len(written))
            return {MARK: [value_kind.mark, written]}
        if cls in _COLLECTIONS:
            return self._collection(cast("Collection[object]", value), KINDS_BY_TYPE[cls].mark, depth)
        if cls is deque:
            items = cast("deque[object]", value)
            return {MARK: ["dq", [self._items(items, depth), items.maxlen]]}
        if (names := names_of(value)) is not None:
            items = tuple[object, ...].__iter__(cast("tuple[object, ...]", value))
            self._spend(len(names[1]), depth)
            self._spend_text(sum(map(len, names[1]), len(names[0])))
            return {MARK: ["nt", [names[0], list(names[1]), self._items(items, depth)]]}
        try:
            simpler = (self._convert or _simpler)(value, self._most)
        except TooManyError as error:
            message = f"{error}{RAISE_ELEMENTS}"
            raise CannotCrossError(message) from None
        self._spend(1, depth)
        return self.tree(simpler, depth if type(simpler) in KINDS else depth + 1)

    def _pays(self, value: object) -> bool:
        """Count a value's cost; return whether it crosses as its own type."""
        if isinstance(value, (bytes, bytearray)):
            self._spend_text(len(value))
        elif isinstance(value, Decimal):
            self._spend_text(len(value.as_tuple().digits))
            self._spend_digits(decimal_cost(value))
        elif isinstance(value, Fraction):
            # At most the length of its hexadecimal text, which the reader counts.
            bits = value.numerator.bit_length() + value.denominator.bit_length() + 16
            self._spend_text(bits // 3)
            self._spend_digits(fraction_cost(bits))
        elif isinstance(value, range):
            # Its reader may iterate over it.
            length = range_length(value)
            if self._convert is not None and length > self._most:
                return False
            self._spend(length, 0)
        elif isinstance(value, zoneinfo.ZoneInfo):
            return type(value.key) is str
        return True

    def _collection(self, items: Collection[object], mark: str, depth: int) -> object:
        if self._plain_members is not None and mark != "t" and not set(map(type, items)) <= KEYS:
            plain: Collection[object] = self._plain_members(items)
            tree = self._items(plain, depth)
            if type(plain) is list:
                return tree
            return {MARK: [mark, tree]}
        return {MARK: [mark, self._items(items, depth)]}


def _simpler(value: object, most: int) -> object:
    cls = type(value)
    if hasattr(cls, "__dataclass_fields__"):  # it travels as a record
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(cast("Any", cls))}
    plain = of_special(value, most)
    if plain is UNKNOWN and (plain := of_base(value, most)) is UNKNOWN:
        raise cannot_cross(value)
    return plain


def has_wide_int(values: Iterable[object]) -> bool:
    """Return whether an integer among `values` has more than 64 bits."""
    numbers = [v for v in values if type(v) is int]
    return bool(numbers) and not -_WIDE_INT < min(numbers) <= max(numbers) < _WIDE_INT


def cannot_cross(value: object) -> CannotCrossError:
    """Return the error for a value whose type does not cross."""
    cls = type(value)
    article = "an" if cls.__name__[:1].lower() in "aeiou" else "a"
    described = f"{article} {cls.__name__}"
    method = next((method for method in _TO_RECORDS if hasattr(cls, method)), None)
    if issubclass(cls, type):
        described = "a class"
    elif method is not None:
        described += f" (make it a list of records: .{method}())"
    elif hasattr(cls, "__next__"):
        described += " (make it a list: list(...))"
    return CannotCrossError(f"{described} cannot cross the sandbox boundary; {_WHAT_CAN}")


_COLLECTIONS = {tuple, set, frozenset}
# The types whose instances cross as their own type; a range does if it is short.
KINDS = _TREE | KINDS_BY_TYPE.keys()
_BYTES = {bytes, bytearray}
# Types whose cost is not the length of their text.
_PAID = {*_BYTES, Decimal, Fraction, range, zoneinfo.ZoneInfo}


def encode(
    value: object,
    convert: Callable[[object, int], object] | None = None,
    *,
    most_text: int = _MAX_TEXT,
    plain_members: Callable[[Any], Any] | None = None,
    most: int = MAX_NODES,
    attached: list[bytes] | None = None,
) -> object:
    """Return `value` as a tree that JSON can carry; a value that is one already is not copied.

    Args:
        value: The value.
        convert: Called with a value of unknown type, records included, and its maximum of elements; returns a known one
            or raises.
        most_text: The maximum of characters and bytes in total.
        plain_members: Called with a dict that has a key of unknown type, or a set with such a member; returns one with
            known types only, or a list instead of a set.
        most: The maximum of elements in total.
        attached: The pieces of the frame's attachments, to be extended; None if it has none.

    Raises:
        CannotCrossError: A type, the depth (100), or the number of elements or digits does not cross.
    """
    cls = type(value)
    if cls in _FIXED or (cls is int and -_WIDE_INT < cast("int", value) < _WIDE_INT):  # nothing to count
        return value
    return _TreeEncoder(convert, most_text, plain_members, most, attached).tree(value)
