"""The parameters and return types of tools, which the host has read, for checking a program before it runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..protocol.both_ends.quoting import MAX_QUOTED, name_list
from ..protocol.both_ends.types import UNKNOWN, Type

__all__ = ["COMMON", "CheckedParameter", "Described", "Shape", "Shapes", "singular"]

# Names too common to mean the same value in two tools.
COMMON = frozenset(
    {"amount", "body", "code", "count", "data", "date", "day", "description", "email", "id", "key", "kind", "label"}
    | {"limit", "month", "name", "note", "number", "page", "price", "query", "quantity", "size", "status", "subject"}
    | {"text", "time", "title", "type", "unit", "value", "year"}
)
# Those of them that say which thing is meant, if the thing is known.
_IDENTITIES = frozenset({"code", "id", "key", "name", "number"})
_MAX_SIGNATURE = 1_000
# The maximum tools to look through for a key.
_MAX_MENTIONING = 30
_NO_FIELDS: tuple[Any, ...] = ("", 0, 0, {}, (), (), "", False)
_WITHOUT_TOOL = frozenset({"NoneType", "union"})

Described = tuple[str, str, bool]
"""A tool's signature for models, its types as the host's `tool_types.py` writes them, and whether it only reads."""


@dataclass(frozen=True, slots=True)
class CheckedParameter:
    """A parameter of a tool."""

    name: str
    type: Type
    is_required: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """A tool's parameters and return type."""

    tool: str
    signature: str
    positional: tuple[CheckedParameter, ...]
    named: Mapping[str, CheckedParameter]
    takes_more: bool
    takes_any_name: bool
    returns: Type
    read_only: bool = False

    @property
    def required(self) -> list[CheckedParameter]:
        """The required parameters that can be passed by position."""
        return [parameter for parameter in self.positional if parameter.is_required]

    @property
    def call(self) -> str:
        """A call with the required arguments: `track_parcel(parcel_id)`."""
        return f"{self.tool}({', '.join(parameter.name for parameter in self.required)})"


class Shapes(Mapping[str, Shape]):
    """The shapes of the tools by name, each parsed on first use; tools that cannot be parsed are missing."""

    def __init__(self, described: Mapping[str, Described], unnamed: int = 0) -> None:
        """Take the host's description of each tool; `unnamed` is the number of further tools."""
        self._described = described
        self._unnamed = unnamed
        self._read: dict[str, Shape | None] = {}
        # Whether each tool is declared read-only, including those that cannot be parsed.
        self.readers = {name: read_only for name, (_, _, read_only) in described.items()}

    def __getitem__(self, name: str) -> Shape:
        if name not in self._read:
            self._read[name] = _read_shape(name, self._described[name])
        shape = self._read[name]
        if shape is None:
            raise KeyError(name)
        return shape

    def __contains__(self, name: object) -> bool:
        # The inherited method would raise and catch an error for each name that no tool has.
        return name in self._described and super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._described if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def listing(self, first: Sequence[str] = (), wanted: object = "") -> str:
        """Return the names of the tools for a sentence: the `first` ones, and those similar to a `wanted` one."""
        names = [*first, *(name for name in self.readers if name not in first)]
        listed = name_list(names, wanted)
        if not self._unnamed:
            return listed or "none"
        if not listed:
            return (
                f'{self._unnamed:,} of other names; print(search_tools("what to do")) in a program of its own finds one'
            )
        return f"{listed}, and {self._unnamed:,} others, for search_tools(...) to find"

    def named(self, is_wanted: Callable[[str], bool]) -> Iterator[Shape]:
        """Yield the tools whose names meet a condition: no others are parsed."""
        return (self[name] for name in self._described if is_wanted(name) and name in self)

    def mentioning(self, *words: str) -> Iterator[Shape]:
        """Yield the first tools whose types have one of some words in their names: no others are parsed."""
        names = (name for name, (_, types, _) in self._described.items() if any(word in types for word in words))
        return (self[name] for name in islice(names, _MAX_MENTIONING) if name in self)

    def returning(self, key: str) -> Iterator[tuple[Shape, str]]:
        """Yield the tools whose records have a key for `key`, with its name there.

        The `number` of `list_rooms` is a `room_number`. A key too long for a name has none.
        """
        if len(key) > MAX_QUOTED:
            return
        for shape in self.mentioning(key, key.rpartition("_")[2]):
            record = shape.returns.record
            if key in record.keys:
                yield shape, key
            elif shape.returns.kind == "list" and (noun := singular(shape.tool.rpartition("_")[2])):
                record_key = key.removeprefix(f"{noun}_")
                if record_key != key and record_key in record.keys:
                    yield shape, record_key

    def sources(self, tool: Shape) -> Iterator[tuple[str, Shape, str]]:
        """Yield the required parameters found in records: the parameter, a tool that returns it, and its key there.

        A common name is found in records of the same thing only: the `id` of `cancel_order` in `list_orders`.
        """
        for parameter in tool.required:
            sources = ((shape, key) for shape, key in self.returning(parameter.name) if shape.tool != tool.tool)
            source = next(sources, None)
            if source is not None and parameter.name in COMMON and source[1] == parameter.name:
                places = self.returning(parameter.name) if parameter.name in _IDENTITIES else ()
                source = next(((shape, key) for shape, key in places if _has_things_of(shape, tool)), None)
            if source is not None:
                yield parameter.name, *source


def _has_things_of(shape: Shape, tool: Shape) -> bool:
    """Return whether a tool returns a list of the things that the other is about: `list_orders` and `cancel_order`."""
    things, thing = (name.partition("_")[2] for name in (shape.tool, tool.tool))
    return shape.returns.kind == "list" and bool(thing) and singular(things.removeprefix("all_")) == thing


def singular(noun: str) -> str | None:
    """Return the singular of a noun, or None if it is not a plural."""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    if noun.endswith("s") and not noun.endswith("ss"):
        return noun[:-1]
    return None


def _read_shape(tool: str, described: Described) -> Shape | None:
    """Return the shape of a tool, or None if the host could not read its signature."""
    signature, types, read_only = described
    if not types:
        return None
    described_parameters, (unnamed, ordered), takes_more, returns, _ = json.loads(types.replace("`", '"'))
    parameters = tuple(
        CheckedParameter(name, _decode(fields, ""), is_required) for name, fields, is_required in described_parameters
    )
    return Shape(
        tool=tool,
        signature=signature[:_MAX_SIGNATURE],
        positional=parameters[:ordered],
        named={parameter.name: parameter for parameter in parameters[unnamed:]},
        takes_more=takes_more[0],
        takes_any_name=takes_more[1],
        returns=_decode(returns, tool),
        read_only=read_only,
    )


def _decode(fields: str | Sequence[Any], tool: str) -> Type:
    """Return the type that the host describes by its first fields, or by its kind alone."""
    if not fields:
        return UNKNOWN
    if isinstance(fields, str):
        return Type(fields, tool="" if fields in _WITHOUT_TOOL else tool)
    type_kind, site, item, keys, choices, parts, key, is_open = (*fields, *_NO_FIELDS[len(fields) :])
    return Type(
        type_kind,
        item=None if item == 0 else _decode(item, tool),
        key=key,
        keys={name: _decode(value, tool) for name, value in keys.items()},
        parts=tuple(_decode(member, tool) for member in parts),
        choices=tuple(choices),
        tool="" if type_kind in _WITHOUT_TOOL else tool,
        site=(tool, site) if site else None,
        is_open=is_open,
    )
