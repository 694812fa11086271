"""Compiling a program: its last expression is kept, `await` is allowed anywhere, and tracebacks know its lines."""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import linecache
import types
from typing import TYPE_CHECKING, NamedTuple

from .earlier_rules import repairs_by
from .reflow import unfold_certain_statements
from .source_repair import SourceRepair

if TYPE_CHECKING:
    from types import CodeType

__all__ = [
    "RESULT",
    "SETTLE",
    "EmptyProgramError",
    "ReadProgram",
    "compile_program",
    "file_name",
    "is_program",
    "read_program",
    "run_compiled",
]

_FILENAME = "<program"
_BYTE_ORDER_MARK = "\ufeff"
RESULT = "__ez_result__"
SETTLE = "__ez_settle__"


class EmptyProgramError(ValueError):
    """The program has no statement."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.has_comments = "#" in text


class ReadProgram(NamedTuple):
    """A program's text and its syntax tree, and the keys of `REPAIRS` for what was changed in the text."""

    text: str
    tree: ast.Module
    repairs: tuple[str, ...] = ()


class _Tolerant(ast.NodeTransformer):
    """Replaces `await x` by ``await __ez_settle__(x)``; every node keeps its position in the source."""

    def visit_Await(self, node: ast.Await) -> ast.Await:
        self.generic_visit(node)
        name = ast.copy_location(ast.Name(SETTLE, ast.Load()), node.value)
        node.value = ast.copy_location(ast.Call(name, [node.value], []), node.value)
        return node


def file_name(number: int) -> str:
    """Return the file name of a program's code."""
    if number == 1:
        return f"{_FILENAME}>"
    return f"{_FILENAME} {number}>"


def is_program(filename: str) -> bool:
    """Return whether a file name is that of a program."""
    return filename.startswith(_FILENAME)


def read_program(text: str, number: int = 1, *, rules: int | None = None) -> ReadProgram:
    """Return a program, and register its lines for tracebacks.

    Text that Python cannot parse may be a program in another form, such as in a fence, and a string may be one.

    Args:
        text: The program.
        number: The program's number in its process: each has its own file name, for the lines in tracebacks.
        rules: The version of the rules by which it is repaired; by default the newest.

    Raises:
        EmptyProgramError: There is only white space and comments.
        SyntaxError: The program is invalid; CPython's parser may also raise ValueError, MemoryError and RecursionError.
    """
    # As CPython does with a file.
    text = text.removeprefix(_BYTE_ORDER_MARK)
    unwrap, repair = repairs_by(rules)
    try:
        tree = _parse(text, number)
        better = unwrap(text, tree)
    except SyntaxError:
        better = repair(text)
        if better is None and (unfolded := unfold_certain_statements(text)):
            better = SourceRepair(unfolded, ("statements",))
        if better is None:
            raise
    else:
        if better is None:
            return ReadProgram(text, tree)
    return ReadProgram(better.program, _parse(better.program, number), better.keys)


def _parse(text: str, number: int) -> ast.Module:
    filename = file_name(number)
    # Each line with its end, as in linecache: tracebacks rely on it to mark columns. Text has more kinds of line ends
    # than Python source.
    lines = io.StringIO(text if text.endswith("\n") else text + "\n", newline=None).readlines()
    linecache.cache[filename] = (len(text), None, lines, filename)
    tree = compile(text, filename, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    if not isinstance(tree, ast.Module) or not tree.body:
        raise EmptyProgramError(text)
    return tree


def compile_program(tree: ast.Module, number: int = 1, *, awaits: bool) -> CodeType:
    """Return the code of a program; running it stores the last expression's value as :data:`RESULT`.

    `awaits` says whether the program may contain `await`.
    """
    if awaits:
        tree = _Tolerant().visit(tree)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        target = ast.Name(RESULT, ast.Store())
        assign = ast.Assign([target], last.value)
        target.lineno = assign.lineno = last.lineno
        target.col_offset = assign.col_offset = last.col_offset
        target.end_lineno = assign.end_lineno = last.end_lineno
        target.end_col_offset = assign.end_col_offset = last.end_col_offset
        tree.body[-1] = assign
    return compile(tree, file_name(number), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def run_compiled(code: CodeType, namespace: dict[str, object]) -> object:
    """Run `code` in `namespace`, and return the value of its last expression, or None."""
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(types.FunctionType(code, namespace)())
    else:
        exec(code, namespace)
    return namespace.pop(RESULT, None)
