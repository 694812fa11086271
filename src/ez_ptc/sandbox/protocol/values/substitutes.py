"""Plain substitutes for instances of other classes, on either end.

An Enum member becomes its value. An instance of a class derived from a plain one is read without running its methods.
"""

from __future__ import annotations

from array import array
from collections import UserString, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import islice
from numbers import Integral, Rational, Real
from typing import Any, Final, cast
from uuid import UUID

from .tables import UNKNOWN, TooManyError, of_package

__all__ = ["UNKNOWN", "TooManyError", "of_base", "of_special"]


def of_special(value: object, most: int) -> object:
    """Return the substitute for an Enum member or a value of numpy or pandas; UNKNOWN for any other.

    Raises TooManyError if the substitute would have more than `most` elements.
    """
    if issubclass(type(value), Enum):
        return cast("Enum", value).value
    return of_package(value, most)


def of_base(value: object, most: int) -> object:
    """Return the substitute for an instance by its plain base class or by its protocol; or UNKNOWN.

    Of a possibly endless one, `most` + 1 elements are taken.
    """
    cls = type(value)
    for base, plain in _BASES.items():
        if issubclass(cls, base):
            return plain(value)
    if issubclass(cls, type | Iterator):  # an iterator would be consumed, and may be endless
        return UNKNOWN
    if issubclass(cls, Mapping):
        return dict(islice(cast("Mapping[object, object]", value).items(), most + 1))
    for interface, number in _NUMBERS.items():
        if issubclass(cls, interface):
            return number(value)
    if issubclass(cls, _COLLECTIONS):
        return list(islice(cast("Iterable[object]", value), most + 1))
    return UNKNOWN


# datetime before date, its base class.
_BASES: Final[Mapping[type, Callable[[Any], object]]] = {
    str: str.__str__,
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
    dict: lambda value: dict(dict[object, object].items(value)),
    list: lambda value: list(list[object].__iter__(value)),
    tuple: lambda value: tuple(tuple[object, ...].__iter__(value)),
    set: lambda value: set(set[object].__iter__(value)),
    frozenset: lambda value: frozenset(frozenset[object].__iter__(value)),
    bytes: lambda value: bytes(bytes.__iter__(value)),
    bytearray: lambda value: bytes(bytearray.__iter__(value)),
    memoryview: bytes,
    datetime: lambda value: datetime.combine(datetime.date(value), datetime.timetz(value)),
    date: lambda value: date.fromordinal(date.toordinal(value)),
    time: lambda value: datetime.timetz(datetime.combine(date.min, value)),
    timedelta: lambda value: timedelta(value.days, value.seconds, value.microseconds),
    Decimal: lambda value: Decimal(Decimal.__str__(value)),
    UUID: lambda value: UUID(UUID.__str__(value)),
}
_NUMBERS: Final[Mapping[type, Callable[[Any], object]]] = {Integral: int, Rational: str, Real: float, UserString: str}
_COLLECTIONS: Final = (Sequence, AbstractSet, MappingView, deque, array)
