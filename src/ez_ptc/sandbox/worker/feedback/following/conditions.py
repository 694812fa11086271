"""Conditions: which way a program may take after one, and what is known of its names there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..types import UNKNOWN, join, members
from .names import every

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..types import Type
    from .analysis import Analysis
    from .environment import Frame

__all__ = ["Narrowed", "follow_condition", "may_be", "narrow", "widen"]

_LOOKS = frozenset({"keys", "items", "values", "get", "__contains__"})
# Functions that tell nothing of the keys and types in what they are given.
_PLAIN = frozenset({"abs", "bool", "float", "int", "len", "max", "min", "round", "sorted", "str", "sum"})
_EQUAL, _DIFFERENT = (ast.Is, ast.Eq), (ast.IsNot, ast.NotEq)
Narrowed = tuple["Frame", str, "Type", "Type"]
"""A name whose type a condition narrows: its frame, the name, and its types before and after."""


def follow_condition(run: Analysis, node: ast.expr) -> None:
    """Follow a condition: of a record that it looks into, nothing is known any more."""
    run.of(node)
    for name, is_passed in _names_looked_into(node):
        if is_passed or any(member.keys for member in members(run.types.get(name, UNKNOWN))):
            run.forget(name)


def _names_looked_into(node: ast.AST) -> Iterator[tuple[ast.Name, bool]]:
    """Yield the names that a condition passes on, iterates over or asks for keys, other than by reading one.

    With each, whether it is passed to a function of which nothing is known.
    """
    for part in every(node):
        looked: list[ast.expr] = []
        is_passed = False
        if isinstance(part, ast.Call):
            is_passed = not (isinstance(part.func, ast.Name) and part.func.id in _PLAIN)
            looked = [*part.args, *(keyword.value for keyword in part.keywords)]
            if isinstance(part.func, ast.Attribute) and part.func.attr in _LOOKS:
                yield from ((name, False) for name in (part.func.value,) if isinstance(name, ast.Name))
        elif isinstance(part, ast.comprehension):
            looked = [part.iter]
        elif isinstance(part, ast.Compare) and any(isinstance(sign, (ast.In, ast.NotIn)) for sign in part.ops):
            # A constant key tested by the program is not a mistake anywhere in the program.
            looked = [] if isinstance(part.left, ast.Constant) else part.comparators
        yield from ((name, is_passed) for name in looked if isinstance(name, ast.Name))


def may_be(run: Analysis, node: ast.expr, *, truth: bool) -> bool:
    """Return whether a condition may be true, or false."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return may_be(run, node.operand, truth=not truth)
    if isinstance(node, ast.BoolOp):
        choose = all if isinstance(node.op, ast.And) is truth else any
        return choose(may_be(run, value, truth=truth) for value in node.values)
    certain = None
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        certain = _comparison(run, node)
    elif isinstance(node, ast.Constant):
        certain = bool(node.value)
    else:
        value = run.types.get(node, UNKNOWN)
        if value.kind == "NoneType":
            certain = False
        elif value.kind == "bool" and len(value.choices) == 1:
            certain = bool(value.choices[0])
    return certain is None or certain is truth


def _comparison(run: Analysis, node: ast.Compare) -> bool | None:
    """Return whether a comparison with a constant is true; None if that is not certain."""
    left, sign = run.types.get(node.left, UNKNOWN), node.ops[0]
    try:
        compared: object = ast.literal_eval(node.comparators[0])
    except (ValueError, TypeError):
        return None
    is_equal: bool | None = None
    if compared is None:
        kinds = {member.kind for member in members(left)}
        if kinds == {"NoneType"} or not kinds & {"", "NoneType", "nothing"}:
            is_equal = kinds == {"NoneType"}
    elif len(left.choices) == 1 and isinstance(sign, (ast.In, ast.NotIn)) and isinstance(compared, (tuple, list, set)):
        return (left.choices[0] in compared) is isinstance(sign, ast.In)
    elif len(left.choices) == 1:
        is_equal = left.choices[0] == compared
    if is_equal is None or not isinstance(sign, (*_EQUAL, *_DIFFERENT)):
        return None
    return is_equal is isinstance(sign, _EQUAL)


def narrow(run: Analysis, node: ast.expr, *, truth: bool) -> list[Narrowed]:
    """Leave out None where a condition excludes it, and return what was changed."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return narrow(run, node.operand, truth=not truth)
    if isinstance(node, ast.BoolOp):
        values = node.values if isinstance(node.op, ast.And) is truth else []
        return [narrowed for value in values for narrowed in narrow(run, value, truth=truth)]
    excludes_none, name = truth, node
    if isinstance(node, ast.Compare):
        right = node.comparators[0]
        is_none = len(node.ops) == 1 and isinstance(right, ast.Constant) and right.value is None
        excludes_none = is_none and isinstance(node.ops[0], _DIFFERENT) is truth
        name = node.left
    if isinstance(name, ast.NamedExpr):
        name = name.target
    frame = run.frame_with(name.id) if isinstance(name, ast.Name) and excludes_none else None
    if frame is None or not isinstance(name, ast.Name):
        return []
    before = frame.names.get(name.id, UNKNOWN)
    after = join(member for member in members(before) if member.kind != "NoneType")
    if after == before or after.kind == "nothing":
        return []
    frame.names[name.id] = after
    return [(frame, name.id, before, after)]


def widen(narrowed: Iterable[Narrowed]) -> None:
    """Undo what conditions narrowed, for the way on."""
    for frame, name, before, after in narrowed:
        if frame.names.get(name) is after:
            frame.names[name] = before
