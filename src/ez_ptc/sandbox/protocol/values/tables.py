"""Substitutes for values of numpy and pandas: Python's own values, and records for the rows of a table.

Neither package is imported: their classes are recognized by name. Nothing is rounded and no row is left out. A value
Python does not have, such as nanoseconds, becomes text.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["UNKNOWN", "TooManyError", "of_package"]

# The answer for a value without a substitute.
UNKNOWN: Final = object()

_NUMBERS: Final = "iubf"
_TIMES: Final = "mM"
_FINE: Final = ("ns", "ps", "fs", "as")
_MAX_YEAR: Final = 9999


class TooManyError(ValueError):
    """A table or array has too many elements to cross; the message has the number and what to do."""


def of_package(value: Any, most: int) -> object:  # noqa: ANN401 - an instance of any class
    """Return the substitute for a value of numpy or pandas; UNKNOWN for other classes.

    Raises TooManyError if the substitute would have more than `most` elements.
    """
    cls = cast("type[object]", type(value))
    for base in cls.__mro__[:-1]:
        module = cast("object", base.__module__)
        package = ""
        if isinstance(module, str):
            package = module.partition(".")[0]
        if package == "numpy":
            return _of_numpy(value, most)
        if package == "pandas":
            names = (ancestor.__name__ for ancestor in cls.__mro__)
            convert = next((_PANDAS[name] for name in names if name in _PANDAS), None)
            if convert is not None:
                return convert(value, most)
            break
    return UNKNOWN


# numpy ----------------------------------------------------------------------------------------------------------------


def _of_numpy(value: Any, most: int) -> object:  # noqa: ANN401 - an array or a number, or something else of numpy's
    cls = cast("type[object]", type(value))
    if not hasattr(cls, "tolist"):
        return str(value) if any(base.__name__ == "dtype" for base in cls.__mro__) else UNKNOWN
    if value.size > most:
        message = f"an array of shape {value.shape} has more than {most:,} elements: take a part of it"
        raise TooManyError(message)
    names: tuple[str, ...] | None = value.dtype.names
    if names:
        return list(value) if value.shape else {name: value[name] for name in names}
    if value.dtype.kind in _TIMES:
        return _times(value)
    plain = value.tolist()
    if type(plain) is type(value):
        # A number that Python's may be too narrow for.
        narrow: Any = complex(value) if value.dtype.kind == "c" else float(value)
        return narrow if narrow == value or value != value else str(value)  # noqa: PLR0124 - no number differs from itself
    return plain


def _times(value: Any) -> object:  # noqa: ANN401 - an array or a number of moments or durations
    plain = value.tolist()
    if not _has_int(plain):
        return plain
    if value.dtype.str.rstrip("]").endswith(_FINE):
        # Python's have no finer parts than microseconds, but many values are whole microseconds.
        narrow = value.astype(f"{value.dtype.kind}8[us]")
        is_same = (narrow.astype(value.dtype) == value) | (value != value)  # noqa: PLR0124 - no time is not itself
        if bool(is_same.all()) and not _has_int(plain := narrow.tolist()):
            return plain
    if value.shape:
        return [_times(item) for item in value]
    if value != value:  # noqa: PLR0124 - as does no time
        return None
    return str(value)


def _has_int(plain: object) -> bool:
    if isinstance(plain, list):
        return any(map(_has_int, cast("list[object]", plain)))
    return isinstance(plain, int)


# pandas ---------------------------------------------------------------------------------------------------------------


def _moment(value: Any, _most: int) -> object:  # noqa: ANN401 - a Timestamp
    if value.nanosecond or not 1 <= value.year <= _MAX_YEAR:
        return value.isoformat()
    return datetime.combine(datetime.date(value), datetime.timetz(value))


def _duration(value: Any, _most: int) -> object:  # noqa: ANN401 - a Timedelta
    if value.nanoseconds:
        return value.isoformat()
    return timedelta(value.days, value.seconds, value.microseconds)


def _list(value: Any, most: int) -> list[object]:  # noqa: ANN401 - an Index or an array
    _check(len(value), 1, most, value)
    return value.tolist()


def _series(value: Any, most: int) -> object:  # noqa: ANN401 - a Series
    labels = _labels(value.index)
    _check(len(value), 1 + 2 * len(labels), most, value)
    cells = _cells(value)
    if not labels:
        return cells
    if all(name is None for name in value.index.names) and value.index.is_unique:
        return dict(zip(value.index.tolist(), cells, strict=True))
    return _records([*labels, ("value" if value.name is None else value.name, cells)])


def _frame(value: Any, most: int) -> object:  # noqa: ANN401 - a DataFrame
    labels = _labels(value.index)
    names = value.columns.tolist()
    _check(len(value), 1 + len(labels) + len(names), most, value)
    cells = [(name, _cells(value.iloc[:, number])) for number, name in enumerate(names)]
    if labels or cells:
        return _records([*labels, *cells])
    return [dict[object, object]() for _ in range(len(value))]


def _check(rows: int, width: int, most: int, value: Any) -> None:  # noqa: ANN401 - anything of pandas'
    if rows * width > most:
        class_name = type(value).__name__
        fits = f"at most {most // width:,} of its rows: filter it, sum it up, or take them in parts (.iloc[start:end])"
        size = f"{rows:,} rows has {rows * width:,} elements, more than {most:,}"
        message = f"a {class_name} of {size}; there is room for {fits}"
        raise TooManyError(message)


def _labels(index: Any) -> list[tuple[object, list[object]]]:  # noqa: ANN401 - an Index
    """Return the columns made from an index: none for unnamed row numbers."""
    if index.nlevels > 1:
        return [
            (f"level_{level}" if name is None else name, index.get_level_values(level).tolist())
            for level, name in enumerate(index.names)
        ]
    if index.name is None:
        if index.dtype.kind in "iu":
            return []
        return [("index", index.tolist())]
    return [(index.name, index.tolist())]


def _cells(column: Any) -> list[object]:  # noqa: ANN401 - a Series
    items = column.tolist()
    if column.dtype.kind in _NUMBERS:
        return items
    # In a column of other values than numbers, NaN marks a missing one.
    return [None if type(item) is float and item != item else item for item in items]  # noqa: PLR0124 - no number


def _records(columns: Iterable[tuple[object, list[object]]]) -> list[dict[object, object]]:
    cells = dict[object, list[object]]()
    for name, column in columns:
        free, number = name, 1
        while free in cells:
            number += 1
            free = f"{name} ({number})"
        cells[free] = column
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


_PANDAS: Final[Mapping[str, Callable[[Any, int], object]]] = {
    "NaTType": lambda _value, _most: None,
    "NAType": lambda _value, _most: None,
    "Timestamp": _moment,
    "Timedelta": _duration,
    "ExtensionDtype": lambda value, _most: str(value),
    "Period": lambda value, _most: str(value),
    "Interval": lambda value, _most: str(value),
    "DataFrame": _frame,
    "Series": _series,
    "Index": _list,
    "ExtensionArray": _list,
}
