"""Type stubs of the tools, with which type checkers and editors know what a saved program may call."""

from __future__ import annotations

import ast
import builtins
import contextlib
import keyword
import re
from typing import TYPE_CHECKING, Final

from ez_ptc.sandbox.protocol.tool_types import parse_source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.sandbox.protocol.execution import Grant

__all__ = ["write_stubs"]

_HEAD: Final = """\
# Stubs of the tools that programs may call.
import asyncio as asyncio
import json as json
import math as math
import re as re
from collections.abc import *
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, overload
from uuid import UUID

class ToolError(Exception): ...

def parallel(*calls: tuple[Any, ...]) -> list[Any]: ...
"""
_OPTIONAL: Final = re.compile(r"(?<=[\w'\"])\?: ")
_NAME: Final = re.compile(r"[A-Z]\w*")


def write_stubs(grants: Iterable[Grant]) -> str:
    """Return the text of a `.pyi` file with the tools' functions, and with a class for each record they return."""
    writer = _StubWriter()
    functions = [writer.function(grant) for grant in grants]
    unknown = sorted(writer.used - writer.classes.keys() - set(_words(_HEAD)) - vars(builtins).keys())
    aliases = [f"{name} = Any  # the type of the host" for name in unknown]
    return "\n".join([_HEAD, *aliases, *writer.classes.values(), *functions, ""])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


class _StubWriter:
    """Writes functions, and gathers the classes of the records in their return types."""

    def __init__(self) -> None:
        self.classes: dict[str, str] = {}
        self.used: set[str] = set()
        self._written: dict[str, str] = {}

    def function(self, grant: Grant) -> str:
        """Return a tool's function with its documentation; of one that cannot be written, one that takes anything."""
        head = _head(grant)
        with contextlib.suppress(RecursionError):  # the syntax tree of a union is as deep as it has members
            if head is not None:
                return self._write_function(grant, head)
        return f"def {grant.name}(*args: Any, **kwargs: Any) -> Any: ...\n"

    def _write_function(self, grant: Grant, head: ast.FunctionDef) -> str:
        names = [node.id for node in ast.walk(head) if isinstance(node, ast.Name)]
        if grant.return_type:
            returned = [node.id for node in ast.walk(head.returns or ast.Pass()) if isinstance(node, ast.Name)]
            named = [name for name in returned if _NAME.fullmatch(name) and name not in {"Any", "Literal"}]
            notation = parse_source(_OPTIONAL.sub(": ", grant.return_type), mode="eval").body
            wanted = named[-1] if named else f"{_capitalize(grant.name)}Result"
            head.returns = parse_source(self._type(notation, wanted), mode="eval").body
        self.used.update(name for name in names if _NAME.fullmatch(name))
        prefix = "async " if grant.is_async else ""
        text = ast.unparse(head).partition("\n")[0].removesuffix(":")
        documented = f"\n    {grant.docstring!r}\n    ..." if grant.docstring else " ..."
        return f"{prefix}{text}:{documented}\n"

    def _type(self, node: ast.expr, name: str) -> str:
        """Return a type's text, with a class in place of each record in it."""
        if isinstance(node, ast.Dict):
            shape = ast.unparse(node)
            if shape in self._written:
                return self._written[shape]
            while name in self.classes:
                name += "_"
            self.classes[name], self._written[shape] = "", name
            attributes: list[str] = []
            overloads: list[str] = []
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:  # it may have further keys, which the last overload allows
                    continue
                text = key.id if isinstance(key, ast.Name) else str(getattr(key, "value", ""))
                annotation = self._type(value, f"{name}{_capitalize(text)}")
                if text.isidentifier() and not keyword.iskeyword(text):
                    ignore = "  # type: ignore" if hasattr(dict, text) else ""
                    attributes.append(f"    {text}: {annotation}{ignore}")
                overloads += [
                    "    @overload",
                    f"    def __getitem__(self, key: Literal[{text!r}], /) -> {annotation}: ...",
                ]
            overloads += ["    @overload", "    def __getitem__(self, key: str, /) -> Any: ..."]
            self.classes[name] = "\n".join([f"class {name}(dict[str, Any]):", *attributes, *overloads, ""])
            return name
        if isinstance(node, ast.Subscript):
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return f"{ast.unparse(node.value)}[{', '.join(self._type(item, name) for item in inside)}]"
        if isinstance(node, ast.BinOp):
            return f"{self._type(node.left, name)} | {self._type(node.right, name)}"
        if isinstance(node, ast.Constant) and node.value is not None and node.value is not ...:
            return f"Literal[{node.value!r}]"
        self.used.update(word for word in _words(ast.unparse(node)) if _NAME.fullmatch(word))
        return ast.unparse(node)


def _head(grant: Grant) -> ast.FunctionDef | None:
    try:
        statement = parse_source(f"def {grant.signature}: ...").body[0]
        parse_source(_OPTIONAL.sub(": ", grant.return_type or "None"), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a foreign schema may have any names
        return None
    return statement if isinstance(statement, ast.FunctionDef) and statement.name == grant.name else None


def _capitalize(name: str) -> str:
    return "".join(word.capitalize() for word in re.findall(r"[^\W_]+", name)) or "Record"
