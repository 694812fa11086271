"""Values JSON does not have: each kind has a mark, and functions that write and read its payload.

A payload is text or a short list. Reading checks types, since the payload may come from a program: a wrong one raises
an ordinary exception. The reader counts what a payload may cost.
"""

from __future__ import annotations

import base64
import functools
import ipaddress
import pathlib
import uuid
import zoneinfo
from collections import deque
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast

from .named_tuples import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DECODERS", "SCALARS", "range_length"]

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


def _moment(moment: Any) -> object:  # noqa: ANN401 - a datetime or a time
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
_TEXTS: Final = (
    *(pathlib.PurePosixPath, pathlib.PosixPath, pathlib.PureWindowsPath, pathlib.WindowsPath),
    *(ipaddress.IPv4Address, ipaddress.IPv4Interface, ipaddress.IPv4Network),
    *(ipaddress.IPv6Address, ipaddress.IPv6Interface, ipaddress.IPv6Network),
)

# The mark and the payload writer of each kind of value without inner values.
SCALARS: Final[Mapping[type, tuple[str, Callable[[Any], object]]]] = {
    bytes: ("b", _base64),
    bytearray: ("b", _base64),
    datetime: ("dt", _moment),
    date: ("d", date.isoformat),
    time: ("tm", _moment),
    timedelta: ("td", lambda value: [value.days, value.seconds, value.microseconds]),
    Decimal: ("dec", str),
    uuid.UUID: ("u", str),
    complex: ("c", lambda value: [value.real, value.imag]),
    Fraction: ("fr", lambda value: _hex(value.numerator, value.denominator)),
    range: ("rg", lambda value: _hex(value.start, value.stop, value.step)),
    timezone: ("tz", _encode_fixed_zone),
    zoneinfo.ZoneInfo: ("z", lambda value: value.key),
    **{kind: ("x", lambda value: f"{type(value).__name__} {value}") for kind in _TEXTS},
}


def _row(payload: object) -> Row:
    name, fields, items = cast("list[Any]", payload)
    return Row(name, fields, items)


def _complex(payload: object) -> complex:
    real, imaginary = cast("list[float]", payload)
    return complex(real, imaginary)


def _deque(payload: object) -> deque[object]:
    items, most = cast("list[Any]", payload)
    return deque(items, most)


def _from_text(payload: object) -> object:
    name, _, text = cast("str", payload).partition(" ")
    return _FROM_TEXT[name](text)


# The payload reader of each mark; sets and dicts are read where their keys are counted.
DECODERS: Final[Mapping[str, Callable[[object], object]]] = {
    "t": lambda payload: tuple(cast("list[object]", payload)),
    "b": lambda payload: base64.b64decode(cast("str", payload), validate=True),
    "dt": lambda payload: _read_moment(datetime, payload),
    "d": lambda payload: date.fromisoformat(cast("str", payload)),
    "tm": lambda payload: _read_moment(time, payload),
    "td": lambda payload: timedelta(*cast("list[int]", payload)),
    "dec": lambda payload: Decimal(cast("str", payload)),
    "u": lambda payload: uuid.UUID(cast("str", payload)),
    "i": lambda payload: int(cast("str", payload), 16),
    "c": _complex,
    "fr": lambda payload: Fraction(*_numbers(payload)),
    "rg": lambda payload: range(*_numbers(payload)),
    "tz": _decode_fixed_zone,
    "z": lambda payload: _zone(cast("str", payload)),
    "x": _from_text,
    "dq": _deque,
    "nt": _row,
}
