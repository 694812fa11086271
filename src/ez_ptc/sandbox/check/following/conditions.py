"""Conditions: which way a program may take after one, and what is known of its names there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...protocol.both_ends.types import UNKNOWN, members
from .names import every

if TYPE_CHECKING:
    from .analysis import Analysis

__all__ = ["follow_condition", "may_be"]

_LOOKS = frozenset({"keys", "items", "values", "get", "__contains__"})
# Functions that tell nothing of the keys and types in what they are given.
_PLAIN = frozenset({"abs", "bool", "float", "int", "len", "max", "min", "round", "sorted", "str", "sum"})
_EQUAL, _DIFFERENT = (ast.Is, ast.Eq), (ast.IsNot, ast.NotEq)


def follow_condition(run: Analysis, node: ast.expr) -> None:
    """Follow a condition, and forget the records it passes on, iterates over or asks for keys."""
    run.of(node)
    for inner in every(node):
        passed: list[ast.expr] = []
        asked: list[ast.expr] = []
        if isinstance(inner, ast.Call):
            passed = [*inner.args, *(keyword.value for keyword in inner.keywords)]
            if isinstance(inner.func, ast.Name) and inner.func.id in _PLAIN:
                passed, asked = asked, passed
            elif isinstance(inner.func, ast.Attribute) and inner.func.attr in _LOOKS:
                asked = [inner.func.value]
        elif isinstance(inner, ast.comprehension):
            asked = [inner.iter]
        elif isinstance(inner, ast.Compare) and any(isinstance(sign, (ast.In, ast.NotIn)) for sign in inner.ops):
            # A constant key tested by the program is not a mistake anywhere in the program.
            asked = [] if isinstance(inner.left, ast.Constant) else inner.comparators
        asked = [name for name in asked if any(member.keys for member in members(run.types.get(name, UNKNOWN)))]
        for name in (*passed, *asked):
            if isinstance(name, ast.Name):
                run.forget(name)


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
