"""Reading the shapes of results, and comparing results with them. Both look at a bounded number of values."""

from __future__ import annotations

from collections import deque
from itertools import islice
from pathlib import PurePath
from typing import Any, Final, cast

from ez_ptc.results.json_writer import base_of
from ez_ptc.toolkit.shapes.result_shape import (
    ANY,
    MAX_DEPTH,
    MAX_NAMES,
    NOTHING,
    SCALARS,
    ResultShape,
    are_names,
    union_of,
)
from ez_ptc.toolkit.shapes.witnesses import Witness

__all__ = ["fits", "shape_of"]

# The maximum values of one result that are looked at.
_MAX_VALUES: Final = 5_000
_SEQUENCES: Final = (list, tuple, set, frozenset, deque)
_FIRST: Final = Witness(0, 0)


def shape_of(value: object, witness: Witness = _FIRST) -> ResultShape:
    """Return the shape of one result; of a large one, that of its first values. No code of a value's class is run."""
    return _ShapeReader(witness).read(value, MAX_DEPTH).merged(NOTHING)


def fits(shape: ResultShape, value: object) -> bool:
    """Return whether a shape is sure to accept a result, as far as a shape is read from it."""
    return _Comparison().fits(shape, value)


class _ShapeReader:
    """Reads a bounded number of values."""

    def __init__(self, witness: Witness) -> None:
        self._witnesses: Final = frozenset({witness})
        self._values_left = _MAX_VALUES

    def read(self, value: object, depth: int) -> ResultShape:
        """Return the shape of a value with so many levels below it."""
        self._values_left -= 1
        scalar = SCALARS.get(type(value))
        if scalar is not None:
            return _PLAIN[scalar]
        base = base_of(value)
        if base is str or base is bytes:
            return _PLAIN[base.__name__]
        if base is dict:
            return self._read_object(cast("dict[object, object]", value), dict[object, object], depth)
        if base in _SEQUENCES or type(value) is deque:
            return self._read_items(base or deque[object], value, depth)
        fields = _fields_of(value)
        if fields is not None:
            return self._read_object(fields, dict[object, object], depth)
        return _PLAIN[ANY]

    def _read_object(self, value: Any, base: Any, depth: int) -> ResultShape:  # noqa: ANN401 - as `base_of` returns it
        if not depth:
            return _PLAIN["dict"]
        keys = list[object](islice(base.__iter__(value), MAX_NAMES + 1))
        members = islice(base.items(value), max(self._values_left, 0))
        if are_names(keys):
            fields = {cast("str", key): self.read(item, depth - 1) for key, item in members}
            if len(fields) < len(keys):  # there were too many values
                return _PLAIN["dict"]
            return ResultShape(fields=fields, witnesses=dict.fromkeys(fields, self._witnesses)).union(NOTHING)
        return ResultShape(values=union_of(self.read(item, depth - 1) for _, item in members))

    def _read_items(self, base: Any, value: Any, depth: int) -> ResultShape:  # noqa: ANN401 - as `base_of` returns it
        if not depth:
            return _PLAIN["list"]
        items = islice(base.__iter__(value), max(self._values_left, 0))
        read = union_of(self.read(item, depth - 1) for item in items if self._values_left > 0)
        return ResultShape(items=read if base.__len__(value) else NOTHING)


_PLAIN: Final = {scalar: ResultShape(frozenset({scalar})) for scalar in (*SCALARS.values(), ANY, "dict", "list")}


def _fields_of(value: object) -> dict[str, object] | None:
    """Return the fields of a record of pydantic or of a dataclass, without running its code; None for other values."""
    if isinstance(value, PurePath):
        return None
    cls = cast("Any", type(value))
    names = getattr(cls, "__pydantic_fields__", None) or getattr(cls, "__dataclass_fields__", None)
    if not isinstance(names, dict):
        return None
    try:
        held = cast("dict[str, object]", object.__getattribute__(value, "__dict__"))
    except AttributeError:  # it has slots
        return None
    return {name: held[name] for name in cast("dict[str, object]", names) if name in held}


class _Comparison:
    """Compares a bounded number of values with shapes."""

    def __init__(self) -> None:
        self._values_left = _MAX_VALUES

    def fits(self, shape: ResultShape, value: object) -> bool:
        """Return whether a shape is sure to accept a value."""
        self._values_left -= 1
        if self._values_left < 0 or ANY in shape.kinds:
            return True
        scalar = SCALARS.get(type(value))
        if scalar is not None:
            return scalar in shape.kinds or (scalar == "int" and "float" in shape.kinds)
        if type(value) is dict:
            return self._fits_object(shape, cast("dict[object, object]", value))
        if type(value) is list:
            items = cast("list[object]", value)
            inner = shape.items
            if not items or "list" in shape.kinds:
                return "list" in shape.kinds or inner is not None
            return bool(inner) and all(self.fits(inner, item) for item in islice(items, max(self._values_left, 0)))
        return False

    def _fits_object(self, shape: ResultShape, value: dict[object, object]) -> bool:
        if "dict" in shape.kinds:
            return True
        if shape.values is not None:
            inner = shape.values
            return all(self.fits(inner, item) for item in islice(value.values(), max(self._values_left, 0)))
        fields = shape.fields
        if fields is None or not all(type(key) is str and key in fields for key in value):
            return False
        missing = len(fields) > len(value) and not fields.keys() - value.keys() <= shape.optional
        return not missing and all(self.fits(fields[cast("str", key)], item) for key, item in value.items())
