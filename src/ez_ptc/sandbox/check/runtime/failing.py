"""The expression of a program that failed, and the values that it names."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING, cast

from ...protocol.values.records import METHODS, Record
from ..mistakes import parse_quietly
from ..reading.program import is_program

if TYPE_CHECKING:
    from types import FrameType, TracebackType

__all__ = ["call_of", "find_failing", "look_up", "subscript_owner", "text_of"]

_INLINED = (ast.ListComp, ast.SetComp, ast.DictComp)
_OWN_FRAMES = ("<listcomp>", "<setcomp>", "<dictcomp>")


def subscript_owner(tb: TracebackType | None) -> object:
    """Return the object whose subscript failed, if the failing line names it plainly."""
    node, frame = find_failing(tb)
    if frame is None or not isinstance(node, ast.Subscript):
        return None
    return look_up(node.value, frame)


def find_failing(tb: TracebackType | None) -> tuple[ast.expr | None, FrameType | None]:
    """Return the program's failing expression and its frame."""
    last: tuple[FrameType, int] | None = None
    while tb is not None:
        if is_program(tb.tb_frame.f_code.co_filename):
            last = (tb.tb_frame, tb.tb_lasti)
        tb = tb.tb_next
    if last is None:
        return None, None
    frame, instruction = last
    line, end_line, column, end_column = list(frame.f_code.co_positions())[instruction // 2]
    position = line, end_line, column, end_column
    expressions = (node for node in ast.walk(parse_quietly(text_of(frame))) if isinstance(node, ast.expr))
    for node in expressions:
        if (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == position:
            return node, frame
    return None, frame


def text_of(frame: FrameType) -> str:
    """Return the text of a frame's program."""
    return "".join(linecache.getlines(frame.f_code.co_filename))


def call_of(node: ast.expr, tree: ast.Module) -> ast.Call | None:
    """Return the call of an expression: the one that it is, or the last one before it that its name stands for."""
    value: ast.AST | None = node
    if isinstance(node, ast.Name):
        value = None
        for statement in ast.walk(tree):
            if isinstance(statement, ast.Assign) and statement.lineno < node.lineno:
                names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
                value = statement.value if node.id in names else value
    return value if isinstance(value, ast.Call) else None


def look_up(node: ast.expr, frame: FrameType) -> object:
    """Return the value of a plain chain of names, subscripts and keys of records, without calling anything."""
    if isinstance(node, ast.Name):
        comprehension = _find_inlined(node, frame)
        if comprehension is not None:
            rows = look_up(comprehension.iter, frame)
            # Its first item stands for the one that the comprehension came to.
            if isinstance(rows, (dict, list, tuple)):
                return next(iter(cast("list[object]", rows)), None)
            return None
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.Name)):
        base = look_up(node.value, frame)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else look_up(node.slice, frame)
        if isinstance(base, (dict, list, tuple)):
            return cast("dict[object, object]", base)[key]
    if (
        isinstance(node, ast.Attribute)
        and node.attr not in METHODS
        and type(base := look_up(node.value, frame)) is Record
    ):
        return base.get(node.attr)
    return None


def _find_inlined(name: ast.Name, frame: FrameType) -> ast.comprehension | None:
    """Return the part of a comprehension that binds a name, where the comprehension has no frame of its own.

    From Python 3.12 on it has none, and its variables cannot be read after it has failed.
    """
    if frame.f_code.co_name in _OWN_FRAMES:
        return None
    innermost = None
    for node in ast.walk(parse_quietly(text_of(frame))):
        if isinstance(node, _INLINED) and _begin(node) <= _begin(name) and _end(name) <= _end(node):
            for clause in node.generators:
                if isinstance(clause.target, ast.Name) and clause.target.id == name.id:
                    innermost = clause
    return innermost


def _begin(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0
