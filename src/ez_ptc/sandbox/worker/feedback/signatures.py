"""The parameters and return types of tools, parsed from their signatures, for checking a program before it runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..quoting import MAX_QUOTED

__all__ = ["SCALARS", "UNKNOWN", "Described", "Parameter", "Shape", "Shapes", "Type", "read_shape", "singular"]

# Names too common to mean the same value in two tools.
_COMMON = frozenset(
    {"amount", "body", "count", "data", "date", "day", "description", "email", "id", "key", "kind", "label", "limit"}
    | {"month", "name", "note", "number", "page", "price", "query", "quantity", "size", "status", "subject", "text"}
    | {"time", "title", "type", "unit", "value", "year"}
)
SCALARS = frozenset({"str", "int", "float", "bool"})
_KINDS = {
    **{name: name for name in SCALARS},
    **dict.fromkeys(("list", "tuple", "Sequence", "Iterable", "Iterator", "Generator"), "list"),
    **dict.fromkeys(("set", "frozenset"), "set"),
    **dict.fromkeys(("dict", "Mapping"), "dict"),
}
_OPTIONAL_KEY = re.compile(r"(?<=[\w'\"])\?: ")
_MAX_SIGNATURE = 1_000

Described = tuple[str, str, bool]
"""A tool's signature and return type, as a model reads them, and whether it is declared read-only.

The return type is "" if the signature says all.
"""


@dataclass(frozen=True, slots=True)
class Type:
    """The inferred type of a value.

    `kind` is a scalar's name, "list", "set", "dict" or "record"; "" if unknown. `item` is the type of a list's items or
    a dict's values, `key` the kind of a dict's keys, `keys` the types of a record's keys, `choices` the only possible
    texts and numbers.
    """

    kind: str = ""
    item: Type | None = None
    keys: Mapping[str, Type] = field(default_factory=dict[str, "Type"])
    choices: tuple[object, ...] = ()
    nullable: bool = False
    tool: str = ""
    key: str = ""

    @property
    def record(self) -> Type:
        """The type of a list's items, or of the value itself."""
        if self.kind == "list" and self.item is not None:
            return self.item
        return self


UNKNOWN = Type()


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

    @property
    def readers(self) -> dict[str, bool]:
        """Whether each tool is declared read-only, including those that cannot be parsed."""
        return {name: read_only for name, (_, _, read_only) in self._described.items()}

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

    def returning(self, key: str) -> Iterator[tuple[Shape, str]]:
        """Yield the tools whose records have a key for `key`, with its name there.

        The `number` of `list_rooms` is a `room_number`. A key too long for a name has none.
        """
        if len(key) > MAX_QUOTED:
            return
        for shape in self.values():
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
    arguments = head.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    ordered = tuple(
        Parameter(argument.arg, _type(argument.annotation, ""), number < first_default)
        for number, argument in enumerate(positional)
    )
    keywords = [
        Parameter(kwonlyarg.arg, _type(kwonlyarg.annotation, ""), default is None)
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
        returns=_type(result or head.returns, tool),
        read_only=read_only,
    )


def _type(node: ast.expr | None, tool: str) -> Type:
    """Return the type of an annotation, or of a return type's notation."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _union(node, tool)
    if isinstance(node, ast.Name):
        return Type(_KINDS.get(node.id, ""), tool=tool)
    if isinstance(node, ast.Dict):
        keys = {
            key.id if isinstance(key, ast.Name) else str(key.value): _type(value, tool)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, (ast.Name, ast.Constant))
        }
        return Type("record", keys=keys, tool=tool)
    if isinstance(node, ast.Constant) and type(node.value) in {str, int}:
        return Type(type(node.value).__name__, choices=(node.value,), tool=tool)
    if isinstance(node, ast.Subscript):
        return _parse_subscript(node, tool)
    return UNKNOWN


def _parse_subscript(node: ast.Subscript, tool: str) -> Type:
    is_empty = isinstance(node.slice, ast.Tuple) and not node.slice.elts  # tuple[()]
    if is_empty or not isinstance(node.value, ast.Name):
        return UNKNOWN
    inside = [node.slice]
    if isinstance(node.slice, ast.Tuple):
        inside = node.slice.elts
    if node.value.id == "Literal":
        values = tuple(item.value for item in inside if isinstance(item, ast.Constant))
        kinds = {type(value).__name__ for value in values}
        if len(kinds) == 1:
            return Type(kinds.pop(), choices=values, tool=tool)
    container = _KINDS.get(node.value.id)
    if container == "dict":
        return Type("dict", item=_type(inside[-1], tool), tool=tool, key=_type(inside[0], tool).kind)
    # The items of a tuple may have different types.
    if container == "list" and node.value.id == "tuple" and not isinstance(inside[-1], ast.Constant):
        return Type("list", tool=tool)
    if container in {"list", "set"}:
        return Type(container, item=_type(inside[0], tool), tool=tool)
    return UNKNOWN


def _union(node: ast.BinOp, tool: str) -> Type:
    pending: list[ast.expr] = [node]
    members: list[Type] = []
    is_nullable = False
    while pending:
        member = pending.pop()
        if isinstance(member, ast.BinOp) and isinstance(member.op, ast.BitOr):
            pending += [member.right, member.left]
        elif isinstance(member, ast.Constant) and member.value is None:
            is_nullable = True
        else:
            members.append(_type(member, tool))
    if len(members) == 1:
        return replace(members[0], nullable=is_nullable, tool=tool, key="")
    if len({member.kind for member in members}) == 1 and all(member.choices for member in members):
        choices = tuple(choice for member in members for choice in member.choices)
        return Type(members[0].kind, choices=choices, nullable=is_nullable, tool=tool)
    return UNKNOWN
