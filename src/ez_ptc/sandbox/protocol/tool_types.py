"""The parameters and return types of tools, read from their signatures once and written down for the workers' checks.

A worker gets them as one text for each tool and parses only those of the tools that a program is about.
"""

from __future__ import annotations

import ast
import json
import os
import re
import threading
import warnings
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from ez_ptc.sandbox.protocol.both_ends.types import NONE, SCALARS, UNKNOWN, Type, join

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["describe_types", "parse_source"]

# The filters of warnings belong to the process: two threads that change and restore them may leave them changed. And
# CPython 3.11 (before 3.11.8) and 3.12 (before 3.12.2) raise SystemError where two threads parse at once (gh-106905).
# A signal handler may parse while it interrupts the same thread here, so the lock is reentrant.
_parser_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # otherwise processes cannot fork
    os.register_at_fork(
        before=_parser_lock.acquire, after_in_parent=_parser_lock.release, after_in_child=_parser_lock.release
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
_CHOICES = (str, int, bool, type(None))
_ANY_ITERABLE = frozenset({"Generator", "Iterable", "Iterator"})
_OPTIONAL_KEY = re.compile(r"(?<=[\w'\"])\?: ")
_CLASS_NAME = re.compile(r"\b[A-Z]\w*")


def describe_types(tool: str, signature: str, returned: str, *, takes_any_name: bool = False) -> str:
    """Return the types of a tool as text; "" if its signature is not one line of Python.

    It is JSON with backticks for quotes, which another JSON text need not escape: the parameters, each with its name,
    type and whether it is required, as one that accepts None never is; how many are passed by position only, and at
    all; whether it takes more by position and by name; what it returns; and the names of classes in its return type.

    Args:
        tool: The tool's name.
        signature: Its signature, as a model reads it.
        returned: Its return type, as a model reads it; "" if the signature says all.
        takes_any_name: Whether it takes arguments by names that the signature does not show.
    """
    try:
        described = _describe(tool, signature, returned, takes_any_name=takes_any_name)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        # A foreign schema may have any names, nesting and choices: the parser and the encoder raise all of these.
        return ""
    return described.replace("`", "\\u0060").replace('"', "`")


@overload
def parse_source(source: str, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def parse_source(source: str, mode: Literal["eval"]) -> ast.Expression: ...
def parse_source(source: str, mode: Literal["exec", "eval"] = "exec") -> ast.Module | ast.Expression:
    """Return the syntax tree of Python source as `ast.parse` does, without warnings and in one thread at a time.

    Raises what the parser raises: SyntaxError, ValueError, RecursionError or MemoryError.
    """
    with _parser_lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cast("ast.Module | ast.Expression", ast.parse(source, mode=mode))


def _describe(tool: str, signature: str, returned: str, *, takes_any_name: bool) -> str:
    head = parse_source(f"def {signature}: ...").body[0]
    if not isinstance(head, ast.FunctionDef) or head.name != tool or not signature.isprintable():
        return ""
    arguments, reader, returns = head.args, _TypeReader(""), _TypeReader(tool).type(head.returns)
    if returned:
        notation = parse_source(_OPTIONAL_KEY.sub(": ", returned), "eval").body
        returns = _TypeReader(tool, is_notation=True).type(notation)._replace(key=returns.key)
    ordered = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(ordered) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
    parameters = [
        [item.arg, _encode(reader.type(item.annotation)), default is None and not _takes_none(item.annotation)]
        for item, default in zip([*ordered, *arguments.kwonlyargs], defaults, strict=True)
    ]
    counts = len(arguments.posonlyargs), len(ordered)
    takes_more = arguments.vararg is not None, takes_any_name or arguments.kwarg is not None
    names = sorted({*_CLASS_NAME.findall(returned)})
    described = [parameters, counts, takes_more, _encode(returns), names]
    return json.dumps(described, ensure_ascii=False, separators=(",", ":"))


def _takes_none(node: ast.expr | None) -> bool:
    """Return whether None is one of an annotation's types, so that a call may omit the parameter."""
    members = [] if node is None else _alternatives(node)
    return any(isinstance(member, ast.Constant) and member.value is None for member in members)


def _alternatives(node: ast.expr) -> list[ast.expr]:
    """Return the members of a union, whose syntax tree is as deep as the union is long."""
    last_first: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        last_first.append(node.right)
        node = node.left
    return [node, *reversed(last_first)]


def _encode(value: Type) -> str | list[Any]:
    """Return a type's kind and its other fields, without the last ones if they are empty; the kind alone if all are."""
    fields: list[Any] = [
        value.kind,
        value.site or 0,
        0 if value.item is None else _encode(value.item),
        {key: _encode(member) for key, member in value.keys.items()},
        value.choices,
        [_encode(member) for member in value.parts],
        value.key,
        value.is_open,
    ]
    while fields and not fields[-1]:
        fields.pop()
    if len(fields) <= 1:
        return value.kind
    return fields


class _TypeReader:
    """Reads the types of one tool; each container in what it returns has a site of its own, a number."""

    def __init__(self, tool: str, *, is_notation: bool = False) -> None:
        self._tool = tool
        self._is_notation = is_notation  # in which the keys of every dict are texts
        self._count = 0

    def type(self, node: ast.expr | None) -> Type:
        """Return the type of an annotation, or of a return type's notation."""
        result = UNKNOWN
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            result = join(map(self.type, _alternatives(node)))
        elif isinstance(node, ast.Name):
            result = self._made(self._kind(node.id))
        elif isinstance(node, ast.Dict):
            keys = {
                key.id if isinstance(key, ast.Name) else str(key.value): self.type(value)
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, (ast.Name, ast.Constant))
            }
            result = self._made("record", keys=keys, is_open=None in node.keys)
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
        site = None if kind in SCALARS or not self._tool else self._count
        return Type(kind, tool=self._tool, site=site, **details)

    def _generic(self, name: str, inside: Sequence[ast.expr]) -> Type:
        type_kind = self._kind(name)
        if name == "Literal":
            values = [item.value for item in inside if isinstance(item, ast.Constant)]
            if any(type(value) not in _CHOICES for value in values):
                return UNKNOWN
            return join(self._made(type(value).__name__, choices=(value,)) for value in values)
        if type_kind == "dict":
            key = "" if self._is_notation else self.type(inside[0]).kind
            return self._made(type_kind, item=self.type(inside[-1]), key=key)
        if type_kind == "tuple" and not (isinstance(inside[-1], ast.Constant) and inside[-1].value is ...):
            return self._made(type_kind, parts=tuple(map(self.type, inside)))
        return self._made(type_kind, item=self.type(inside[0]))
