"""The merged shape of a tool's results: their types and the names of their fields, without any value.

A shape accepts every result that was merged into it. Keys of objects are names only as long as the objects look like
records: an object with many keys, with keys that look like values, or with other keys from one to the next is a map,
of which only the shape of the values is known. A map stays one.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.sandbox.protocol.values.kinds import VALUE_KINDS
from ez_ptc.toolkit.shapes.witnesses import Witness, are_enough, are_of_several_calls, gather

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = [
    "ANY",
    "MAX_DEPTH",
    "MAX_NAMES",
    "MAX_PARTS",
    "NOTHING",
    "SCALARS",
    "ResultShape",
    "are_names",
    "is_name",
    "is_shown",
    "union_of",
]

MAX_NAMES: Final = 100
"""The maximum names of one object."""
_NAME: Final = re.compile(r"[^\W\d][\w$-]{0,39}|[$@][^\W\d]\w{0,38}")
# Numbers of orders, dates and hashes: a long number, a number after a separator, or many digits.
_NUMBER: Final = re.compile(r"\d{4}|[_-]\d{3}")
_DIGIT: Final = re.compile(r"\d")
_DIGITS: Final = re.compile(r"\d+")
_MAX_DIGITS: Final = 8
# Words in lower case, upper case or camel case, with digits only at the end.
_PLAIN: Final = re.compile(
    r"(?:[a-z]+|[A-Z]{1,10})(?:[A-Z][a-z]+|[A-Z]{2,4}(?![a-z]))*\d{0,2}|[A-Z][a-z]+(?:[A-Z][a-z]+)*\d{0,2}"
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAX_SHOWN: Final = 30
_MAX_WORDS: Final = 3
# More keys than these that differ in a number only are a series, such as `user1`, `user2`.
_MAX_SERIES: Final = 3

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
    **{value_kind.types[0]: value_kind.types[0].__name__ for value_kind in VALUE_KINDS if value_kind.json_format},
}
"""The kinds of values without parts."""
MAX_PARTS: Final = 400
"""The maximum shapes in one."""
# Objects with more keys are maps, if all values are alike, or if no key is in each object.
_MAX_ALIKE: Final = 12


@dataclass(frozen=True, slots=True)
class ResultShape:
    """A shape: the union of the kinds of values, of an object, and of a list.

    Attributes:
        kinds: The kinds of values without parts, of `SCALARS`, `ANY`, and `dict` and `list` of anything.
        fields: The shapes of the fields of records, by name, or None if no record was seen.
        optional: The names of fields that some record has lacked.
        values: The shape of the values of maps, or None if no map was seen.
        items: The shape of the items of lists, empty if all lists were, or None if no list was seen.
        is_open: Whether the records may have had fields that are not in `fields`.
        witnesses: The results that had each field.
    """

    kinds: frozenset[str] = frozenset()
    fields: Mapping[str, ResultShape] | None = None
    optional: frozenset[str] = frozenset()
    values: ResultShape | None = None
    items: ResultShape | None = None
    is_open: bool = False
    witnesses: Mapping[str, frozenset[Witness]] = field(default_factory=dict[str, "frozenset[Witness]"], compare=False)

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
        while shape.parts > MAX_PARTS and depth:
            depth -= 1
            shape = shape.cut(depth)
        return shape

    def union(self, other: ResultShape) -> ResultShape:
        """Return the shape of the results of both, of any size."""
        kinds = self.kinds | other.kinds
        if "float" in kinds:
            kinds -= {"int"}  # an int is a float to programs
        items, values = _either(self.items, other.items), _either(self.values, other.values)
        record = self._record_union(other)
        fields = record.fields
        if fields is not None and (values is not None or not _is_record(fields, record.optional)):
            return ResultShape(kinds, values=union_of([values or NOTHING, *fields.values()]), items=items)
        return replace(record, kinds=kinds, values=values, items=items)

    def _record_union(self, other: ResultShape) -> ResultShape:
        """Return the shape of the records of both only."""
        if self.fields is None or other.fields is None:
            one = other if self.fields is None else self
            return ResultShape(fields=one.fields, optional=one.optional, is_open=one.is_open, witnesses=one.witnesses)
        optional = self.optional | other.optional
        if not other.is_open:
            optional |= self.fields.keys() - other.fields.keys()
        if not self.is_open:
            optional |= other.fields.keys() - self.fields.keys()
        fields, witnesses = dict(self.fields), dict(self.witnesses)
        for name, shape in other.fields.items():
            fields[name] = fields[name].union(shape) if name in fields else shape
            theirs = other.witnesses.get(name, frozenset())
            witnesses[name] = gather(witnesses.get(name, frozenset()), theirs)
        return ResultShape(frozenset(), fields, optional, None, None, self.is_open or other.is_open, witnesses)

    def cut(self, depth: int) -> ResultShape:
        """Return the shape with so many levels below it; deeper ones are a `dict` or `list` of anything."""
        if depth <= 0:
            return ResultShape(frozenset(self.names))
        values, items = (None if inner is None else inner.cut(depth - 1) for inner in (self.values, self.items))
        fields = self.fields
        if fields is not None:
            fields = {name: shape.cut(depth - 1) for name, shape in fields.items()}
        return replace(self, fields=fields, values=values, items=items)

    def shown(self, *, is_for_file: bool = False) -> ResultShape:
        """Return the shape for other callers, or for a file: with the names that were in enough results.

        Records whose values are all alike may be maps by a key that was always the same, such as the customer's name. A
        file has their names only if calls with different arguments had them, and no text has those that vary.
        """
        values, items = (
            None if inner is None else inner.shown(is_for_file=is_for_file) for inner in (self.values, self.items)
        )
        if self.fields is None:
            return replace(self, values=values, items=items)
        fields = {
            name: shape.shown(is_for_file=is_for_file)
            for name, shape in self.fields.items()
            if is_shown(name) and self._is_witnessed(name, is_for_file=is_for_file)
        }
        return ResultShape(
            self.kinds,
            fields,
            self.optional & fields.keys(),
            values,
            items,
            self.is_open or len(fields) < len(self.fields),
            {name: self.witnesses[name] for name in fields},
        )

    def _is_witnessed(self, name: str, *, is_for_file: bool) -> bool:
        """Return whether a key of records was in enough results to be the name of a field."""
        witnesses = self.witnesses.get(name, frozenset[Witness]())
        if not are_enough(witnesses):
            return False
        if not _are_alike(self.fields or {}):
            return True
        return name not in self.optional and (not is_for_file or are_of_several_calls(witnesses))

    @property
    def is_witnessed(self) -> bool:
        """Whether all keys of records are known to be names of fields."""
        inner = (*(self.fields or {}).values(), self.values, self.items)
        names = self.fields or {}
        return all(self._is_witnessed(name, is_for_file=True) for name in names) and all(
            shape is None or shape.is_witnessed for shape in inner
        )

    def close(self) -> ResultShape:
        """Return the shape of records that have no other fields."""
        values, items = (None if inner is None else inner.close() for inner in (self.values, self.items))
        fields = self.fields
        if fields is not None:
            fields = {name: shape.close() for name, shape in fields.items()}
        return replace(self, fields=fields, values=values, items=items, is_open=False)

    def differences(self, other: ResultShape, path: str = "") -> list[str]:
        """Return what this shape does not accept in another one, such as "[].total: expected int, got str"."""
        if ANY in self.kinds:
            return []
        known, new = self.names, other.names
        strange = new - known - ({"int"} if "float" in known else set())
        if strange:
            got = " | ".join(sorted(strange))
            return [f"{path or 'result'}: expected {' | '.join(sorted(known)) or 'nothing'}, got {got}"]
        differences = list[str]()
        if "dict" not in self.kinds:
            differences += self._object_differences(other, path)
        if self.items and other.items:
            differences += self.items.differences(other.items, f"{path}[]")
        return differences

    def _object_differences(self, other: ResultShape, path: str) -> list[str]:
        if self.values is not None:
            theirs = union_of([other.values or NOTHING, *(other.fields or {}).values()])
            return self.values.differences(theirs, f"{path}[…]") if self.values and theirs else []
        if other.values is not None or "dict" in other.kinds:
            if not self.fields:
                return []
            return [f"{path or 'result'}: expected the fields {', '.join(self.fields or ())}; its keys are others"]
        differences = list[str]()
        fields, theirs = self.fields or {}, other.fields
        if theirs is None:
            return differences
        for name, shape in fields.items():
            at = f"{path}.{name}".lstrip(".")
            if name not in self.optional and (name not in theirs or name in other.optional):
                differences.append(f"{at}: missing")
            if name in theirs:
                differences += shape.differences(theirs[name], at)
        if self.is_open:
            return differences
        return differences + [f"{path}.{name}: new".lstrip(".") for name in theirs if name not in fields]

    def to_schema(self, depth: int = MAX_DEPTH) -> dict[str, Any]:
        """Return the shape as JSON Schema, down to some levels below it."""
        names = self.names
        if ANY in names:
            return {}
        branches: list[dict[str, Any]] = []
        if "dict" in names:
            branches.append({"type": "object"})
            if depth and "dict" not in self.kinds and (self.fields or not self.is_open):
                branches[0] |= self._object_schema(depth - 1)
        if "list" in names:
            branches.append({"type": "array"})
            if depth and self.items and "list" not in self.kinds:
                branches[-1]["items"] = self.items.to_schema(depth - 1)
        # None comes last, as in annotations.
        branches += [_SCHEMAS[scalar] for scalar in _SCHEMAS if scalar in names]
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
    **{
        SCALARS[value_kind.types[0]]: {"type": "string", "format": value_kind.json_format}
        for value_kind in VALUE_KINDS
        if value_kind.json_format
    },
    "None": {"type": "null"},
}


def _either(one: ResultShape | None, other: ResultShape | None) -> ResultShape | None:
    if one is None or other is None:
        return other if one is None else one
    return one.union(other)


def union_of(shapes: Iterable[ResultShape]) -> ResultShape:
    """Return the shape of the results of all, of any size."""
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


def _are_alike(fields: Mapping[str, ResultShape]) -> bool:
    """Return whether all values of records are of one kind, apart from numbers of another type and None."""
    kinds = [shape.names - {"None"} for shape in fields.values()]
    return len({frozenset({"float"} if names <= {"int", "float"} else names) for names in kinds if names}) <= 1


def is_name(key: object) -> bool:
    """Return whether a key looks like the name of a field: no address, date, number or sentence does."""
    if type(key) is not str or not _NAME.fullmatch(key):
        return False
    return not _NUMBER.search(key) and len(_DIGIT.findall(key)) < _MAX_DIGITS


def is_shown(name: str) -> bool:
    """Return whether a name may stand in a model's texts: three plain words at most, no token."""
    parts = [segment for segment in re.split(r"[_$@-]+", name) if segment]
    words = [word for segment in parts for word in _WORDS.findall(segment)]
    return len(name) <= _MAX_SHOWN and len(words) <= _MAX_WORDS and all(map(_PLAIN.fullmatch, parts))


def are_names(keys: Collection[object]) -> bool:
    """Return whether all keys of an object look like the names of its fields."""
    if len(keys) > MAX_NAMES or not all(map(is_name, keys)):
        return False
    series = Counter(_DIGITS.sub("#", str(key)) for key in keys)
    return not any("#" in form and count > _MAX_SERIES for form, count in series.items())
