"""The one table of the kinds of values that cross, besides those of JSON. A new kind is an entry here.

A value is written as its kind's mark and a payload: text, or a short list. Reading checks types, since the payload may
come from a program: a wrong one raises an ordinary exception. The reader counts what a payload may cost. Journals keep
marks, so no mark changes its meaning.
"""

from __future__ import annotations

import base64
import functools
import ipaddress
import pathlib
import uuid
import zoneinfo
from collections import deque
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, cast

from .named_tuples import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["CONTAINERS", "DECODERS", "KINDS_BY_TYPE", "VALUE_KINDS", "ValueKind", "parts_of", "range_length"]

_MICROSECOND: Final = timedelta(microseconds=1)


def range_length(items: range) -> int:
    """Return the number of items; `len` fails for the longest ranges."""
    return max(0, (items.stop - items.start + items.step - (1 if items.step > 0 else -1)) // items.step)


# Time zones -----------------------------------------------------------------------------------------------------------


@functools.cache
def _keys() -> frozenset[str]:
    # One set, because each lookup of a missing zone would search the disk.
    return frozenset(zoneinfo.available_timezones())


def _zone(key: str) -> tzinfo:
    if key not in _keys():
        message = "a time zone that is not known here"
        raise ValueError(message)
    return zoneinfo.ZoneInfo(key)


def _encode_fixed_zone(zone: timezone) -> list[object]:
    offset, *name = cast("Any", zone).__getinitargs__()
    return [offset // _MICROSECOND, *name]


def _decode_fixed_zone(payload: object) -> timezone:
    offset, *name = cast("list[Any]", payload)
    return timezone(timedelta(microseconds=offset), *(item for item in name if item is not None))


def _moment(moment: datetime | time) -> object:
    zone = moment.tzinfo
    # ISO text does not express the second of two equal times, nor a zone with rules or a name.
    if not moment.fold and (zone is None or (type(zone) is timezone and len(cast("Any", zone).__getinitargs__()) == 1)):
        return moment.isoformat()
    key: str | None = zone.key if type(zone) is zoneinfo.ZoneInfo else None
    offset = moment.utcoffset()
    fixed: list[object] = []
    if type(zone) is timezone:
        fixed = _encode_fixed_zone(zone)
    elif offset is not None:
        fixed = [offset // _MICROSECOND, moment.tzname()]
    return [moment.replace(tzinfo=None, fold=0).isoformat(), moment.fold, fixed, key]


def _read_moment(kind: type[datetime | time], payload: object) -> datetime | time:
    if type(payload) is str:
        return kind.fromisoformat(payload)
    text, fold, fixed, key = cast("list[Any]", payload)
    zone: tzinfo | None = None
    if key is not None and (key in _keys() or not fixed):
        zone = _zone(key)
    elif fixed:  # a zone unknown here keeps its name and offset
        zone = _decode_fixed_zone([fixed[0], key] if key else fixed)
    return cast("Any", kind.fromisoformat(text)).replace(tzinfo=zone, fold=fold)


# Numbers, in hexadecimal: CPython refuses decimal text of over 4,300 digits -------------------------------------------


def _hex(*numbers: int) -> str:
    return "/".join(f"{number:x}" for number in numbers)


def _numbers(payload: object) -> list[int]:
    return [int(text, 16) for text in cast("str", payload).split("/")]


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _from_base64(payload: object) -> bytes:
    return base64.b64decode(cast("str", payload), validate=True)


_FROM_TEXT: Final[Mapping[str, Callable[[str], object]]] = {
    "PurePosixPath": pathlib.PurePosixPath,
    "PosixPath": pathlib.Path,
    "PureWindowsPath": pathlib.PureWindowsPath,
    "WindowsPath": pathlib.PureWindowsPath,
    "IPv4Address": ipaddress.IPv4Address,
    "IPv4Interface": ipaddress.IPv4Interface,
    "IPv4Network": ipaddress.IPv4Network,
    "IPv6Address": ipaddress.IPv6Address,
    "IPv6Interface": ipaddress.IPv6Interface,
    "IPv6Network": ipaddress.IPv6Network,
}


def _from_text(payload: object) -> object:
    name, _, text = cast("str", payload).partition(" ")
    return _FROM_TEXT[name](text)


# Keys and members chosen to collide: hashes of numbers are not randomized, and a million equal ones take hours --------

_COLLISIONS: Final = 50


def _few_collisions(keys: list[object]) -> None:
    if len(keys) <= _COLLISIONS:
        return
    hashes = sorted(map(hash, keys))
    if any(a == b for a, b in zip(hashes, hashes[_COLLISIONS:], strict=False)):
        message = "too many keys with one hash"
        raise ValueError(message)


def _set(payload: object) -> set[object]:
    items = cast("list[object]", payload)
    _few_collisions(items)
    return set(items)


def _pairs(payload: object) -> dict[object, object]:
    items = cast("list[tuple[object, object]]", payload)
    _few_collisions([key for key, _ in items])
    return dict(items)


# The table ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value.

    Attributes:
        types: Its classes. Their instances, and none of derived classes, are written as this kind.
        mark: Its mark, which no other kind has.
        read: Makes the value of a payload.
        write: Makes the payload of a value; None if the encoder writes it, with its items.
        has_parts: Whether the payload is a list of values, which are written in their turn.
        is_key: Whether it crosses unchanged as a key of a dict and as a member of a set.
        of_derived: Makes a value of an instance of a derived class, without running the methods of that class.
        json_format: The format of its text in JSON, as in a JSON Schema. A model reads it, and the name of the first
            class, as the type of a result. If it is "", JSON has Python's own text, of no declared type.
        json_text: Makes that text; None to write it as pydantic does.
        words: What an error calls it that lists for a model what can cross; "" if other words include it.
    """

    types: tuple[type, ...]
    mark: str
    read: Callable[[Any], object]
    write: Callable[[Any], object] | None = None
    has_parts: bool = False
    is_key: bool = True
    of_derived: Callable[[Any], object] | None = None
    json_format: str = ""
    json_text: Callable[[Any], str] | None = None
    words: str = ""


VALUE_KINDS: Final[tuple[ValueKind, ...]] = (
    ValueKind((), "i", lambda payload: int(payload, 16)),  # an int of more digits than JSON's readers take
    ValueKind((), "m", _pairs),  # a dict with other keys than text, or with the mark itself as a key
    ValueKind(
        (complex,),
        "c",
        lambda payload: complex(*payload),
        lambda value: [value.real, value.imag],
        of_derived=complex.__pos__,
    ),
    ValueKind(
        (Fraction,),
        "fr",
        lambda payload: Fraction(*_numbers(payload)),
        lambda value: _hex(value.numerator, value.denominator),
    ),
    ValueKind(
        (bytes,),
        "b",
        _from_base64,
        _base64,
        of_derived=lambda value: bytes(bytes.__iter__(value)),
        json_format="binary",
        json_text=_base64,
        words="bytes",
    ),
    ValueKind(
        (bytearray,),
        "b",
        _from_base64,
        _base64,
        is_key=False,
        of_derived=lambda value: bytes(bytearray.__iter__(value)),
        json_format="binary",
        json_text=_base64,
    ),
    ValueKind(
        (tuple,),
        "t",
        tuple,
        is_key=False,
        of_derived=lambda value: tuple(tuple[object, ...].__iter__(value)),
        words="collections",
    ),
    ValueKind((set,), "s", _set, is_key=False, of_derived=lambda value: set(set[object].__iter__(value))),
    ValueKind(
        (frozenset,),
        "fs",
        lambda payload: frozenset(_set(payload)),
        is_key=False,
        of_derived=lambda value: frozenset(frozenset[object].__iter__(value)),
    ),
    ValueKind((deque,), "dq", lambda payload: deque[object](*payload), is_key=False),
    ValueKind((Row,), "nt", lambda payload: Row(*payload), is_key=False),
    ValueKind(
        (range,),
        "rg",
        lambda payload: range(*_numbers(payload)),
        lambda value: _hex(value.start, value.stop, value.step),
        is_key=False,
    ),
    ValueKind(
        (slice,),
        "sl",
        lambda payload: slice(*payload),
        lambda value: [value.start, value.stop, value.step],
        has_parts=True,
        is_key=False,  # it has no hash before Python 3.12
        words="slice",
    ),
    ValueKind(
        (datetime,),
        "dt",
        lambda payload: _read_moment(datetime, payload),
        _moment,
        of_derived=lambda value: datetime.combine(datetime.date(value), datetime.timetz(value)),
        json_format="date-time",
        words="dates and times",
    ),
    ValueKind(
        (date,),
        "d",
        date.fromisoformat,
        date.isoformat,
        of_derived=lambda value: date.fromordinal(date.toordinal(value)),
        json_format="date",
        json_text=date.isoformat,
    ),
    ValueKind(
        (time,),
        "tm",
        lambda payload: _read_moment(time, payload),
        _moment,
        of_derived=lambda value: datetime.timetz(datetime.combine(date.min, value)),
        json_format="time",
    ),
    ValueKind(
        (timedelta,),
        "td",
        lambda payload: timedelta(*payload),
        lambda value: [value.days, value.seconds, value.microseconds],
        of_derived=lambda value: timedelta(value.days, value.seconds, value.microseconds),
        json_format="duration",
    ),
    ValueKind((timezone,), "tz", _decode_fixed_zone, _encode_fixed_zone),
    ValueKind((zoneinfo.ZoneInfo,), "z", _zone, lambda value: value.key),
    ValueKind(
        (Decimal,),
        "dec",
        Decimal,
        str,
        of_derived=lambda value: Decimal(Decimal.__str__(value)),
        json_format="decimal",
        json_text=str,
        words="Decimal",
    ),
    ValueKind(
        (uuid.UUID,),
        "u",
        uuid.UUID,
        str,
        of_derived=lambda value: uuid.UUID(uuid.UUID.__str__(value)),
        json_format="uuid",
        json_text=str,
        words="UUID",
    ),
    ValueKind(
        (
            *(pathlib.PurePosixPath, pathlib.PosixPath, pathlib.PureWindowsPath, pathlib.WindowsPath),
            *(ipaddress.IPv4Address, ipaddress.IPv4Interface, ipaddress.IPv4Network),
            *(ipaddress.IPv6Address, ipaddress.IPv6Interface, ipaddress.IPv6Network),
        ),
        "x",
        _from_text,
        lambda value: f"{type(value).__name__} {value}",
        words="Path",
    ),
)

KINDS_BY_TYPE: Final[Mapping[type, ValueKind]] = {
    cls: value_kind for value_kind in VALUE_KINDS for cls in value_kind.types
}
# The types of values that hold others, with those of JSON.
CONTAINERS: Final = frozenset(
    {list, dict}.union(
        *(value_kind.types for value_kind in VALUE_KINDS if value_kind.write is None or value_kind.has_parts)
    )
)
# The payload reader of each mark.
DECODERS: Final[Mapping[str, Callable[[Any], object]]] = {
    value_kind.mark: value_kind.read for value_kind in VALUE_KINDS
}


def parts_of(container: object) -> Iterable[object]:
    """Return the values that one of `CONTAINERS` holds: of a dict, the keys and the values."""
    cls = type(container)
    if cls is dict:
        fields = cast("dict[object, object]", container)
        return chain(fields, fields.values())
    value_kind = KINDS_BY_TYPE.get(cls)
    if value_kind is None or value_kind.write is None:
        return cast("Iterable[object]", container)
    return cast("Iterable[object]", value_kind.write(container))
