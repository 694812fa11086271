"""The codec of both ends: values to bytes, and back.

:mod:`.trees` turns a value into a tree, and this module a tree into JSON. Decoding has no size limit of its own: frames
are limited before they come here.
"""

from __future__ import annotations

from decimal import Decimal
from json import JSONDecoder, JSONEncoder, encoder
from typing import TYPE_CHECKING, Any, cast

from .kinds import DECODERS, range_length
from .named_tuples import Row, names_of
from .trees import (
    KEYS,
    KINDS,
    MARK,
    MAX_DEPTH,
    MAX_NODES,
    MAX_SQUARED_DIGITS,
    CannotCrossError,
    cannot_cross,
    decimal_cost,
    encode,
    fraction_cost,
    has_wide_int,
    int_cost,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .attachments import Attachment

__all__ = [
    "KEYS",
    "KINDS",
    "MARK",
    "MAX_DEPTH",
    "MAX_NODES",
    "CannotCrossError",
    "Row",
    "cannot_cross",
    "dumps",
    "encode",
    "has_wide_int",
    "loads",
    "names_of",
    "reader",
    "text",
]

_NUMBERS = frozenset({"i", "dec"})

_slowly = JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_quickly = getattr(encoder, "c_make_encoder", None)
# JSONEncoder creates its encoder for each text, which takes longer than encoding most texts.
_pieces: Callable[[object, int], Iterable[str]] = (
    _quickly(None, _slowly.default, encoder.encode_basestring, None, ":", ",", *(False, False, True))
    if _quickly is not None
    else lambda tree, _: _slowly.iterencode(tree)
)


def text(tree: object) -> str:
    """Return an encoded tree as JSON."""
    return "".join(_pieces(tree, 0))


def dumps(tree: object) -> bytes:
    """Return an encoded tree as JSON in UTF-8; lone surrogates pass unchanged."""
    return text(tree).encode("utf-8", "surrogatepass")


class _Bounded:
    """Decodes the marks of one text, and counts its digits, the elements of its ranges, and its attachments."""

    def __init__(self, elements: int, attachments: Sequence[Attachment]) -> None:
        self._attachments = attachments
        self._attachments_read = 0
        self._digits_left = MAX_SQUARED_DIGITS
        self._elements_left = elements

    def unmark(self, found: dict[str, object]) -> object:
        if MARK not in found:
            return found
        mark, payload = cast("list[Any]", found[MARK])
        if mark == "at":
            return self._attachment(payload)
        if mark == "fr":
            self._spend_digits(fraction_cost(4 * len(payload)))
        value = DECODERS[mark](payload)
        if mark in _NUMBERS and isinstance(value, (int, Decimal)):
            self._spend_digits(decimal_cost(value) if isinstance(value, Decimal) else int_cost(value.bit_length()))
        elif isinstance(value, range):
            self._elements_left -= range_length(value)
            if self._elements_left < 0:
                message = "ranges of too many elements"
                raise ValueError(message)
        return value

    def _attachment(self, number: object) -> str | bytes:
        # Each once, and in order: repeated, one would take the memory of many where it is written out.
        if type(number) is not int or number != self._attachments_read:
            message = "attachments out of order"
            raise ValueError(message)
        self._attachments_read += 1
        return self._attachments[number].read()

    def end(self) -> None:
        """Raise ValueError if there are attachments without a mark."""
        if self._attachments_read < len(self._attachments):
            message = "attachments without a mark"
            raise ValueError(message)

    def _spend_digits(self, cost: int) -> None:
        self._digits_left -= cost
        if self._digits_left < 0:
            message = "numbers with too many digits"
            raise ValueError(message)


# Created before a program can replace parts of the json module.
_plain = JSONDecoder().decode


def loads(data: bytes, elements: int = MAX_NODES, attachments: Sequence[Attachment] = ()) -> object:
    """Return the value that :func:`dumps` encoded.

    Args:
        data: JSON in UTF-8.
        elements: The maximum of elements in all ranges together.
        attachments: Those of the frame. Each needs one mark, in order.

    Raises:
        ValueError: Not JSON, or not made by :func:`encode`. Hostile bytes may also raise TypeError, LookupError,
            ArithmeticError, AttributeError and RecursionError; readers of a worker's bytes catch them all.
    """
    text = data.decode("utf-8", "surrogatepass")
    if b'"$"' in data or attachments:
        bounded = _Bounded(elements, attachments)
        value = JSONDecoder(object_hook=bounded.unmark).decode(text)
        bounded.end()
        return value
    return _plain(text)


def reader(
    record: Callable[[dict[str, object]], object], *, marked: bool = True, attachments: Sequence[Attachment] = ()
) -> Callable[[bytes], object]:
    """Return a function like :func:`loads` that passes each dict through `record`.

    It reads the trusted host's bytes: nothing is bounded, and anything after the value is ignored. `marked` says
    whether they may contain marks.
    """

    def unmark(found: dict[str, object]) -> object:
        if MARK in found:
            mark, payload = cast("list[object]", found[MARK])
            if mark == "at":
                return attachments[cast("int", payload)].read()
            return DECODERS[cast("str", mark)](payload)
        return record(found)

    scan: Callable[[str, int], tuple[object, int]] = vars(JSONDecoder(object_hook=unmark if marked else record))[
        "scan_once"
    ]
    return lambda data: scan(data.decode("utf-8", "surrogatepass"), 0)[0]
