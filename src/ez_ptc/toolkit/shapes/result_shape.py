"""The merged shape of a tool's results: their types and the names of their fields, without any value.

A shape accepts every result that was merged into it. Keys of objects are names only as long as the objects look like
records: an object with many keys, with keys that look like values, or with other keys from one to the next is a map,
of which only the shape of the values is known. A map stays one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import reduce
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from ez_ptc.results.json_writer import base_of
from ez_ptc.toolkit.shapes.keys import MAX_NAMES, are_names, is_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["ANY", "MAX_DEPTH", "NOTHING", "SCALARS", "ResultShape", "shape_of"]

ANY: Final = "Any"
"""The kind of a value that can be anything."""
MAX_DEPTH: Final = 6
"""Levels of a shape; what is deeper is a `dict` or `list` of anything."""
SCALARS: Final[Mapping[type, str]] = {
    type(None): "None",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    bytes: "bytes",
    datetime: "datetime",
    date: "date",
    time: "time",
    timedelta: "timedelta",
    Decimal: "Decimal",
    UUID: "UUID",
}
"""The kinds of values without parts."""
# The maximum values of one result that are looked at, and the maximum parts of a shape.
_MAX_VALUES: Final = 5_000
_MAX_PARTS: Final = 400
# Objects with more keys are maps, if all values are alike, or if no key is in each object.
_MAX_ALIKE: Final = 12
_SEQUENCES: Final = (list, tuple, set, frozenset, deque)


@dataclass(frozen=True, slots=True)
class ResultShape:
    """A shape: the union of the kinds of values, of an object, and of a list.

    Attributes:
        kinds: The kinds of values without parts, of `SCALARS`, `ANY`, and `dict` and `list` of anything.
        fields: The shapes of the fields of records, by name, or None if no record was seen.
        optional: The names of fields that some record has lacked.
        values: The shape of the values of maps, or None if no map was seen.
        items: The shape of the items of lists, empty if all lists were, or None if no list was seen.
    """

    kinds: frozenset[str] = frozenset()
    fields: Mapping[str, ResultShape] | None = None
    optional: frozenset[str] = frozenset()
    values: ResultShape | None = None
    items: ResultShape | None = None

    def __bool__(self) -> bool:
        """Whether any value was seen."""
        return bool(self.names)

    @property
    def names(self) -> set[str]:
        """The kinds of values, with `dict` and `list` for objects and lists."""
        names = set(self.kinds)
        if self.fields is not None or self.values is not None:
            names.add("dict")
        if self.items is not None:
            names.add("list")
        return names

    @property
    def parts(self) -> int:
        """The number of shapes in it, itself included."""
        inner = (*(self.fields or {}).values(), self.values, self.items)
        return 1 + sum(shape.parts for shape in inner if shape is not None)

    def merged(self, other: ResultShape) -> ResultShape:
        """Return the shape of the results of both, of a bounded size."""
        shape = self.union(other)
        depth = MAX_DEPTH
        while shape.parts > _MAX_PARTS and depth:
            depth -= 1
            shape = shape.cut(depth)
        return shape

    def union(self, other: ResultShape) -> ResultShape:
        """Return the shape of the results of both, of any size."""
        kinds = self.kinds | other.kinds
        if "float" in kinds:
            kinds -= {"int"}  # an int is a float to programs
        items, values = _either(self.items, other.items), _either(self.values, other.values)
        fields, optional = self.fields, self.optional
        if fields is None:
            fields, optional = other.fields, other.optional
        elif other.fields is not None:
            optional = self.optional | other.optional | (fields.keys() ^ other.fields.keys())
            fields = dict(fields)
            for name, shape in other.fields.items():
                fields[name] = fields[name].union(shape) if name in fields else shape
        if fields is not None and (values is not None or not _is_record(fields, optional)):
            values, fields, optional = _union([values or NOTHING, *fields.values()]), None, frozenset[str]()
        return ResultShape(kinds, fields, optional, values, items)

    def cut(self, depth: int) -> ResultShape:
        """Return the shape with so many levels below it; deeper ones are a `dict` or `list` of anything."""
        if depth <= 0:
            return ResultShape(frozenset(self.names))
        values, items = (None if part is None else part.cut(depth - 1) for part in (self.values, self.items))
        fields = self.fields
        if fields is not None:
            fields = {name: shape.cut(depth - 1) for name, shape in fields.items()}
        return ResultShape(self.kinds, fields, self.optional, values, items)

    def shown(self) -> ResultShape:
        """Return the shape for other callers: with the names that are in each of the results only.

        What is in a list, in a map, or beside another type may come from a single result, so it has no names.
        """
        fields = {name: part.shown() for name, part in (self.fields or {}).items() if name not in self.optional}
        fields = {name: part for name, part in fields.items() if is_shown(name)}
        if fields and self.names == {"dict"} and self.values is None:
            return ResultShape(fields=fields)
        return self.unnamed()

    def unnamed(self) -> ResultShape:
        """Return the shape without names of fields."""
        values, items = (None if part is None else part.unnamed() for part in (self.values, self.items))
        kinds = self.kinds if self.fields is None else self.kinds | {"dict"}
        return ResultShape(kinds, None, frozenset(), values, items)

    def differences(self, other: ResultShape, path: str = "") -> list[str]:
        """Return what this shape does not accept in another one, such as "[].total: expected int, got str"."""
        if ANY in self.kinds:
            return []
        known, new = self.names, other.names
        strange = new - known - ({"int"} if "float" in known else set())
        if strange:
            got = " | ".join(sorted(strange))
            return [f"{path or 'result'}: expected {' | '.join(sorted(known)) or 'nothing'}, got {got}"]
        found = list[str]()
        if "dict" not in self.kinds:
            found += self._object_differences(other, path)
        if self.items and other.items:
            found += self.items.differences(other.items, f"{path}[]")
        return found

    def _object_differences(self, other: ResultShape, path: str) -> list[str]:
        if self.values is not None:
            theirs = _union([other.values or NOTHING, *(other.fields or {}).values()])
            return self.values.differences(theirs, f"{path}[…]") if self.values and theirs else []
        if other.values is not None or "dict" in other.kinds:
            return [f"{path or 'result'}: expected the fields {', '.join(self.fields or ())}; its keys are others"]
        found = list[str]()
        fields, theirs = self.fields or {}, other.fields
        if theirs is None:
            return found
        for name, shape in fields.items():
            at = f"{path}.{name}".lstrip(".")
            if name not in self.optional and (name not in theirs or name in other.optional):
                found.append(f"{at}: missing")
            if name in theirs:
                found += shape.differences(theirs[name], at)
        return found + [f"{path}.{name}: new".lstrip(".") for name in theirs if name not in fields]

    def fits(self, value: object) -> bool:
        """Return whether the shape is sure to accept a result, as far as a shape is read from it."""
        return _Comparison().fits(self, value)

    def to_schema(self, depth: int = MAX_DEPTH) -> dict[str, Any]:
        """Return the shape as JSON Schema, down to some levels below it."""
        names = self.names
        if ANY in names:
            return {}
        branches: list[dict[str, Any]] = []
        if "dict" in names:
            branches.append({"type": "object"})
            if depth and "dict" not in self.kinds:
                branches[0] |= self._object_schema(depth - 1)
        if "list" in names:
            branches.append({"type": "array"})
            if depth and self.items and "list" not in self.kinds:
                branches[-1]["items"] = self.items.to_schema(depth - 1)
        # None comes last, as in annotations.
        branches += [_SCHEMAS[kind] for kind in _SCHEMAS if kind in names]
        return branches[0] if len(branches) == 1 else {"anyOf": branches} if branches else {}

    def _object_schema(self, depth: int) -> dict[str, Any]:
        if self.fields is None:
            return {"additionalProperties": (self.values or NOTHING).to_schema(depth)}
        properties = {name: shape.to_schema(depth) for name, shape in self.fields.items()}
        return {"properties": properties, "required": [name for name in properties if name not in self.optional]}


NOTHING: Final = ResultShape()
"""The shape of no value."""

_SCHEMAS: Final[Mapping[str, dict[str, Any]]] = {
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "bytes": {"type": "string", "format": "binary"},
    "datetime": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "time"},
    "timedelta": {"type": "string", "format": "duration"},
    "Decimal": {"type": "string", "format": "decimal"},
    "UUID": {"type": "string", "format": "uuid"},
    "None": {"type": "null"},
}


def shape_of(value: object) -> ResultShape:
    """Return the shape of one result; of a large one, that of its first values. No code of a value's class is run."""
    return _Reader().read(value, MAX_DEPTH).merged(NOTHING)


class _Reader:
    """Reads a bounded number of values."""

    def __init__(self) -> None:
        self._values_left = _MAX_VALUES

    def read(self, value: object, depth: int) -> ResultShape:
        """Return the shape of a value with so many levels below it."""
        self._values_left -= 1
        kind = SCALARS.get(type(value))
        if kind is not None:
            return _PLAIN[kind]
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
            return ResultShape(fields=fields).union(NOTHING)
        return ResultShape(values=_union(self.read(item, depth - 1) for _, item in members))

    def _read_items(self, base: Any, value: Any, depth: int) -> ResultShape:  # noqa: ANN401 - as `base_of` returns it
        if not depth:
            return _PLAIN["list"]
        items = islice(base.__iter__(value), max(self._values_left, 0))
        read = _union(self.read(item, depth - 1) for item in items if self._values_left > 0)
        return ResultShape(items=read if base.__len__(value) else NOTHING)


_PLAIN: Final = {kind: ResultShape(frozenset({kind})) for kind in (*SCALARS.values(), ANY, "dict", "list")}


def _fields_of(value: object) -> dict[str, object] | None:
    """Return the fields of a record of pydantic or of a dataclass, without running its code; None for other values."""
    if isinstance(value, PurePath):
        return None
    kind = cast("Any", type(value))
    names = getattr(kind, "__pydantic_fields__", None) or getattr(kind, "__dataclass_fields__", None)
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
        kind = SCALARS.get(type(value))
        if kind is not None:
            return kind in shape.kinds or (kind == "int" and "float" in shape.kinds)
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


def _either(one: ResultShape | None, other: ResultShape | None) -> ResultShape | None:
    if one is None or other is None:
        return other if one is None else one
    return one.union(other)


def _union(shapes: Iterable[ResultShape]) -> ResultShape:
    return reduce(ResultShape.union, shapes, NOTHING)


def _is_record(fields: Mapping[str, ResultShape], optional: frozenset[str]) -> bool:
    """Return whether objects with these fields are records: their keys are few, and mostly the same."""
    if len(fields) == 1:  # it varies with no other
        return True
    always = len(fields) - len(optional)
    outlines = {(frozenset(shape.names), frozenset(shape.fields or ())) for shape in fields.values()}
    if len(outlines) == 1 and all(shape.names == {"dict"} for shape in fields.values()):
        return False  # rows by a key that is a value
    if len(outlines) == 1:
        return len(fields) <= _MAX_ALIKE and 2 * always >= len(fields)
    return len(fields) <= (MAX_NAMES if always else _MAX_ALIKE)
