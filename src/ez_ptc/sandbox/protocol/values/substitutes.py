"""Plain substitutes for instances of other classes, on either end.

An Enum member becomes its value. An instance of a class derived from a plain one is read without running its methods.
"""

from __future__ import annotations

from array import array
from collections import UserString, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from itertools import islice
from numbers import Integral, Rational, Real
from typing import Any, Final, cast

from .kinds import VALUE_KINDS
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


# Of two that derive from one another, such as datetime and date, the table has the derived one first.
_BASES: Final[Mapping[type, Callable[[Any], object]]] = {
    str: str.__str__,
    int: int.__pos__,
    float: float.__pos__,
    dict: lambda value: dict(dict[object, object].items(value)),
    list: lambda value: list(list[object].__iter__(value)),
    memoryview: bytes,
    **{
        cls: value_kind.of_derived
        for value_kind in VALUE_KINDS
        if value_kind.of_derived is not None
        for cls in value_kind.types
    },
}
_NUMBERS: Final[Mapping[type, Callable[[Any], object]]] = {Integral: int, Rational: str, Real: float, UserString: str}
_COLLECTIONS: Final = (Sequence, AbstractSet, MappingView, deque, array)
