"""The host's fast path for `ez_ptc.sandbox.protocol.values.codec`, the codec both ends share.

pydantic's JSON takes a fifth of the time, but accepts less: lone surrogates, deep nesting and the marks of values JSON
does not have are left to the shared codec. Any text that both accept, they read equally.
"""

from __future__ import annotations

import sys
from collections import deque
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import from_json, to_json

from ez_ptc.errors import ProtocolError
from ez_ptc.results.json_writer import base_of
from ez_ptc.sandbox.protocol.values import codec as values
from ez_ptc.sandbox.protocol.values.kinds import KINDS_BY_TYPE
from ez_ptc.schema.arguments.nesting import is_nested_deeper

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ez_ptc.sandbox.protocol.values.attachments import Attachment

__all__ = [
    "NoExactFormError",
    "call_tree",
    "dumps",
    "exact_form",
    "fields_of",
    "loads",
    "loads_recorded",
    "memory_of",
    "recorded_tree",
]

# A level of a value takes at most four brackets with its marks, and the frame around it a few.
_MAX_BRACKET_DEPTH = 4 * (values.MAX_DEPTH + 8)
# What a value and its place take at most, and in addition to that a container and a deque.
_VALUE_BYTES: Final = 100
_CONTAINER_BYTES: Final = 200
_DEQUE_BYTES: Final = 1_000
_WIDE_CHARACTER_BYTES: Final = 4
_BINARY: Final = (bytes, bytearray)


def loads(data: bytes, max_elements: int = values.MAX_NODES, attachments: Sequence[Attachment] = ()) -> object:
    """Same as `values.loads`, but faster; deep nesting raises RecursionError before it is parsed."""
    if b'"$"' not in data and not attachments:
        try:
            return from_json(data, cache_strings="keys")
        except ValueError:
            pass  # perhaps valid: the shared codec decides
    if is_nested_deeper(data, _MAX_BRACKET_DEPTH):
        message = "nested too deeply"
        raise RecursionError(message)
    return values.loads(data, max_elements, attachments)


def dumps(tree: object) -> bytes:
    """Return an encoded tree as JSON; `values.loads` restores the tree."""
    try:
        return to_json(tree, inf_nan_mode="constants")
    except ValueError:
        return values.dumps(tree)


loads_recorded = partial(loads, max_elements=sys.maxsize)
"""Same as `loads`, for what a journal has: the limit of elements was that of the program."""


def recorded_tree(value: object) -> object:
    """Return a value from a program as a tree for a journal.

    Its elements were limited with its frame. Raises ProtocolError for a value that no honest worker sends.
    """
    try:
        return values.encode(value, most=sys.maxsize)
    except values.CannotCrossError as error:
        message = f"a value that no record can have: {error}"
        raise ProtocolError(message) from None


def call_tree(args: Iterable[object], kwargs: Mapping[str, object]) -> list[object]:
    """Return a call's arguments as a tree for a journal, as `recorded_tree` does each of them."""
    named: dict[str, object] = {name: recorded_tree(value) for name, value in kwargs.items()}
    if values.MARK in named:
        return [[*map(recorded_tree, args)], {values.MARK: ["m", [*map(list[object], named.items())]]}]
    return [[*map(recorded_tree, args)], named]


class NoExactFormError(Exception):
    """A value has no form that is different for different values."""


def exact_form(value: object) -> object:
    """Return a value as a tree, equal for equal values of the same types, and for no others.

    Records are those of pydantic and dataclasses. Raises NoExactFormError for what has other parts, such as a secret.
    """
    try:
        return _in_order(values.encode(value, fields_of))
    except (values.CannotCrossError, RecursionError, ValueError):
        raise NoExactFormError from None


def fields_of(value: object, most: int) -> object:
    """Return a record's fields with its class. Raises NoExactFormError for any other object."""
    del most
    cls = cast("Any", type(value))
    names = getattr(cls, "__pydantic_fields__", None) or getattr(cls, "__dataclass_fields__", None)
    if not names:
        raise NoExactFormError
    extra: dict[str, object] = getattr(value, "__pydantic_extra__", None) or {}
    fields: dict[str, object] = {name: getattr(value, name, None) for name in names}
    return [f"{cls.__module__}.{cls.__qualname__}", fields, dict(extra)]


def _in_order(tree: object) -> object:
    """Return an encoded tree with its keys and the members of its sets in order: equal values have them in any."""
    if isinstance(tree, list | tuple):
        return [_in_order(item) for item in cast("Sequence[object]", tree)]
    if not isinstance(tree, dict):
        return tree
    fields = cast("dict[str, object]", tree)
    ordered = {key: _in_order(fields[key]) for key in sorted(fields)}
    mark = ordered.get("$")
    if isinstance(mark, list) and mark[0] in {"s", "fs", "m"}:
        name, members = cast("list[Any]", mark)
        ordered["$"] = [name, sorted(members, key=dumps)]
    elif isinstance(mark, list) and mark[0] == "dec":
        ordered["$"] = ["dec", _shortest_decimal(cast("list[str]", mark)[1])]
    return ordered


def _shortest_decimal(text: str) -> list[object]:
    """Return the parts of a decimal number without the zeros at its end: `5`, `5.0` and `50E-1` are equal."""
    sign, digits, exponent = Decimal(text).as_tuple()
    if isinstance(exponent, str):  # not a number, or infinite
        return [text]
    shortest = "".join(map(str, digits)).rstrip("0")
    return [sign, shortest, exponent + len(digits) - len(shortest)] if shortest else [sign]


def memory_of(value: object, most: int) -> int:
    """Return an upper estimate of the bytes of memory that a value takes, whose types are those that cross.

    It stops once there are more than `most`. Of any other object only the place is counted, and no code is run.
    """
    size = 0
    left: list[object] = [value]
    while left and size <= most:
        item = left.pop()
        base = base_of(item)
        size += _VALUE_BYTES
        if base is str:
            text = cast("str", item)
            size += str.__len__(text) * (1 if str.isascii(text) else _WIDE_CHARACTER_BYTES)
        elif base is not None:
            size += base.__len__(item)
            if base not in _BINARY:
                size += _CONTAINER_BYTES
                left += base.__iter__(item)
            if base is dict:
                left += dict[object, object].values(cast("dict[object, object]", item))
        elif type(item) is deque:
            size += _DEQUE_BYTES
            left += cast("deque[object]", item)
        elif type(item) is int:
            size += item.bit_length() // 7
        elif (value_kind := KINDS_BY_TYPE.get(type(item))) is not None and value_kind.write is not None:
            written = value_kind.write(item)
            if value_kind.has_parts:
                left += cast("list[object]", written)
            else:
                size += len(str(written))  # the digits of a decimal, and others
    return size
