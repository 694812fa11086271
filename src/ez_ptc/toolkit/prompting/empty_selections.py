"""Explaining failures of empty lists: which calls returned nothing, and which condition no row met."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.results.notes import escape_notes
from ez_ptc.sandbox.protocol.tool_types import parse_source
from ez_ptc.toolkit.prompting.effects import effect_lines
from ez_ptc.toolkit.prompting.empty_output import explain_unmet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.tools.tool import Tool

__all__ = ["explain_emptiness"]

# What Python and its library say about an empty list or iterator, at the end of a traceback.
_OF_EMPTY: Final = re.compile(
    r"IndexError: (?:list index out of range|pop from empty list|Cannot choose from an empty sequence)"
    r"|ZeroDivisionError|StopIteration|ValueError: (?:max|min)\(\) (?:arg|iterable argument) is (?:an )?empty"
    r"|TypeError: reduce\(\) of empty|statistics\.StatisticsError"
)
_LINE: Final = re.compile(r'^  File "<program[^"\n]{0,20}", line (\d{1,6}), in <module>$', re.MULTILINE)
_MAX_CALLS: Final = 3
_MAX_CODE: Final = 20_000


def explain_emptiness(
    code: str, result: ExecutionResult, tools: Iterable[Tool[..., Any]]
) -> tuple[list[str], str, str]:
    """Return why a list is empty that made a program fail: the calls without a result, a condition, and a correction.

    The calls are sentences such as "find_stock(query='cheap') returned []", the condition is one that no row met, as in
    `explain_unmet`, and the correction is the program with the likely condition; "" without one. Only the failing
    statement counts, and those before it that give it its values. After another failure, there is nothing to explain.
    """
    calls = result.tool_calls
    if not _OF_EMPTY.match(result.error or "") or len(code) > _MAX_CODE or (calls and calls[-1]["error"] is not None):
        return [], "", ""
    code_before, names = _statements_before(code, result.error_output)
    empty = [call for call in calls if type(call.get("result")) is list and not call["result"]]
    empty = [call for call in empty if call["name"] in names]
    lines = dict.fromkeys(effect_lines(empty[:_MAX_CALLS], tools, ""))
    facts = [f"{escape_notes(line)} returned []" for line in lines]
    results = [call.get("result") for call in calls]
    unmet, whole = explain_unmet(code_before, results), explain_unmet(code, results)
    if unmet is None:
        return facts, "", ""
    is_same = whole is not None and whole.why == unmet.why
    return facts, escape_notes(unmet.why), whole.program.strip() if whole is not None and is_same else ""


def _statements_before(code: str, trace: str) -> tuple[str, set[str]]:
    """Return the failing statement with those before it whose values it uses, as text, and all names in them."""
    try:
        body = parse_source(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code, set(re.findall(r"\w+", code))
    failing = max((int(number) for number in _LINE.findall(trace)[-1:]), default=len(code))
    statements: list[str] = []
    used: set[str] = set()
    for statement in reversed([statement for statement in body if statement.lineno <= failing]):
        nodes = [*ast.walk(statement)]
        if not statements or used & _find_targets(nodes):
            statements.insert(0, ast.get_source_segment(code, statement) or "")
            used |= {node.id for node in nodes if isinstance(node, ast.Name)}
    return "\n".join(statements), used


def _find_targets(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that nodes bind, and those of objects whose methods they call."""
    names = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    names |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    owners = [node.func.value for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    owners += [node.value for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
    return names | {owner.id for owner in owners if isinstance(owner, ast.Name)}
