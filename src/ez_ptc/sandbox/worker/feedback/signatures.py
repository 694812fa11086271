"""The parameters and return types of tools, parsed from their signatures, for checking a program before it runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..quoting import MAX_QUOTED
from .types import NONE, SCALARS, UNKNOWN, Type, join

__all__ = ["Described", "Parameter", "Shape", "Shapes", "read_shape", "singular"]

# Names too common to mean the same value in two tools.
_COMMON = frozenset(
    {"amount", "body", "count", "data", "date", "day", "description", "email", "id", "key", "kind", "label", "limit"}
    | {"month", "name", "note", "number", "page", "price", "query", "quantity", "size", "status", "subject", "text"}
    | {"time", "title", "type", "unit", "value", "year"}
)
_KINDS = {
    **{
        name: name
        for name in ("str", "int", "float", "bool", "date", "datetime", "time", "timedelta", "Decimal", "bytes")
    },
    **dict.fromkeys(("list", "Sequence", "Iterable", "Iterator", "Generator"), "list"),
    **dict.fromkeys(("set", "frozenset"), "set"),
    **dict.fromkeys(("dict", "Mapping"), "dict"),
    "tuple": "tuple",
}
_ANY_ITERABLE = frozenset({"Generator", "Iterable", "Iterator"})
_OPTIONAL_KEY = re.compile(r"(?<=[\w'\"])\?: ")
_MAX_SIGNATURE = 1_000
# The maximum tools to look through for a key: each takes 0.1 ms to parse.
_MAX_MENTIONING = 30

Described = tuple[str, str, bool]
"""A tool's signature and return type, as a model reads them, and whether it is declared read-only.

The return type is "" if the signature says all.
"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool."""

    name: str
    type: Type
    is_required: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """A tool's parameters and return type."""

    tool: str
    signature: str
    positional: tuple[Parameter, ...]
    named: Mapping[str, Parameter]
    takes_more: bool
    takes_any_name: bool
    returns: Type
    read_only: bool = False

    @property
    def required(self) -> list[Parameter]:
        """The required parameters that can be passed by position."""
        return [parameter for parameter in self.positional if parameter.is_required]

    @property
    def call(self) -> str:
        """A call with the required arguments: `track_parcel(parcel_id)`."""
        return f"{self.tool}({', '.join(parameter.name for parameter in self.required)})"


class Shapes(Mapping[str, Shape]):
    """The shapes of the tools by name, each parsed on first use; tools that cannot be parsed are missing."""

    def __init__(self, described: Mapping[str, Described]) -> None:
        """Take the host's description of each tool."""
        self._described = described
        self._read: dict[str, Shape | None] = {}
        # Whether each tool is declared read-only, including those that cannot be parsed.
        self.readers = {name: read_only for name, (_, _, read_only) in described.items()}

    def __getitem__(self, name: str) -> Shape:
        if name not in self._read:
            self._read[name] = read_shape(name, self._described[name])
        shape = self._read[name]
        if shape is None:
            raise KeyError(name)
        return shape

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._described if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def named(self, is_wanted: Callable[[str], bool]) -> Iterator[Shape]:
        """Yield the tools whose names meet a condition: no others are parsed."""
        return (self[name] for name in self._described if is_wanted(name) and name in self)

    def mentioning(self, *words: str) -> Iterator[Shape]:
        """Yield the first tools whose signature or return type has one of some words: no others are parsed."""
        names = (
            name
            for name, (signature, returned, _) in self._described.items()
            if any(word in signature or word in returned for word in words)
        )
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
        """Yield the required parameters found in records: the parameter, a tool that returns it, and its key there."""
        for parameter in tool.required:
            sources = ((shape, key) for shape, key in self.returning(parameter.name) if shape.tool != tool.tool)
            source = next(sources, None)
            if source is not None and (parameter.name not in _COMMON or source[1] != parameter.name):
                yield parameter.name, *source


def singular(noun: str) -> str | None:
    """Return the singular of a noun, or None if it is not a plural."""
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    if noun.endswith("s") and not noun.endswith("ss"):
        return noun[:-1]
    return None


def read_shape(tool: str, described: Described) -> Shape | None:
    """Return the shape of a tool, or None if its signature is not one line of Python."""
    signature, returned, read_only = described
    try:
        head = ast.parse(f"def {signature}: ...").body[0]
        result = None
        if returned:
            result = ast.parse(_OPTIONAL_KEY.sub(": ", returned), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(head, ast.FunctionDef) or head.name != tool or not signature.isprintable():
        return None
    arguments, parameters = head.args, _Reader("")
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    ordered = tuple(
        Parameter(argument.arg, parameters.type(argument.annotation), number < first_default)
        for number, argument in enumerate(positional)
    )
    keywords = [
        Parameter(kwonlyarg.arg, parameters.type(kwonlyarg.annotation), default is None)
        for kwonlyarg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    by_name = (*ordered[len(arguments.posonlyargs) :], *keywords)
    return Shape(
        tool=tool,
        signature=signature[:_MAX_SIGNATURE],
        positional=ordered,
        named={parameter.name: parameter for parameter in by_name},
        takes_more=arguments.vararg is not None,
        takes_any_name=arguments.kwarg is not None,
        returns=_return_type(tool, result, head.returns),
        read_only=read_only,
    )


def _return_type(tool: str, notation: ast.expr | None, annotation: ast.expr | None) -> Type:
    annotated = _Reader(tool).type(annotation)
    if notation is None:
        return annotated
    return _Reader(tool, is_notation=True).type(notation)._replace(key=annotated.key)


class _Reader:
    """Reads the types of one tool; each container in them has a site of its own."""

    def __init__(self, tool: str, *, is_notation: bool = False) -> None:
        self._tool = tool
        self._is_notation = is_notation  # in which the keys of every dict are texts
        self._count = 0

    def type(self, node: ast.expr | None) -> Type:
        """Return the type of an annotation, or of a return type's notation."""
        result = UNKNOWN
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            result = self._union(node)
        elif isinstance(node, ast.Name):
            result = self._made(self._kind(node.id))
        elif isinstance(node, ast.Dict):
            keys = {
                key.id if isinstance(key, ast.Name) else str(key.value): self.type(value)
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, (ast.Name, ast.Constant))
            }
            result = self._made("record", keys=keys)
        elif isinstance(node, ast.Constant) and node.value is None:
            result = NONE
        elif isinstance(node, ast.Constant) and type(node.value) in {str, int}:
            result = self._made(type(node.value).__name__, choices=(node.value,))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if inside:  # there is none in tuple[()]
                result = self._generic(node.value.id, inside)
        return result

    def _kind(self, name: str) -> str:
        if not self._tool and name in _ANY_ITERABLE:
            return ""  # text is one, too
        return _KINDS.get(name, "")

    def _made(self, kind: str, **details: Any) -> Type:
        if not kind:
            return UNKNOWN
        self._count += 1
        site = None if kind in SCALARS or not self._tool else (self._tool, self._count)
        return Type(kind, tool=self._tool, site=site, **details)

    def _generic(self, name: str, inside: Sequence[ast.expr]) -> Type:
        kind = self._kind(name)
        if name == "Literal":
            values = [item.value for item in inside if isinstance(item, ast.Constant)]
            return join(self._made(type(value).__name__, choices=(value,)) for value in values)
        if kind == "dict":
            key = "" if self._is_notation else self.type(inside[0]).kind
            return self._made(kind, item=self.type(inside[-1]), key=key)
        if kind == "tuple" and not (isinstance(inside[-1], ast.Constant) and inside[-1].value is ...):
            return self._made(kind, parts=tuple(map(self.type, inside)))
        return self._made(kind, item=self.type(inside[0]))

    def _union(self, node: ast.expr) -> Type:
        pending, members = [node], list[Type]()
        while pending:
            member = pending.pop()
            if isinstance(member, ast.BinOp) and isinstance(member.op, ast.BitOr):
                pending += [member.right, member.left]
            else:
                members.append(self.type(member))
        return join(members)
