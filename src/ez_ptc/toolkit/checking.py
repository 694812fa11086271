"""Checking a program against a toolkit without running it."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ez_ptc.sandbox.check.check import find_mistakes
from ez_ptc.sandbox.check.mistakes import apply_suggestions, parse_quietly
from ez_ptc.sandbox.check.reading.source_repair import repair_source, unpack_program
from ez_ptc.sandbox.check.signatures import Shapes
from ez_ptc.sandbox.check.type_names import type_names
from ez_ptc.sandbox.host.runner import find_code_problem
from ez_ptc.sandbox.protocol.both_ends.predefined import PROVIDED, RESULT_READERS

if TYPE_CHECKING:
    import ast

    from ez_ptc.sandbox.protocol.execution import Grants, Limits

__all__ = ["Mistake", "check_program"]

# The maximum characters of a program: the worker checks no longer one either.
_MAX_PROGRAM = 12_000
_PROVIDED = frozenset({"exit", "quit", "help", "__name__", "__file__"})


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake in a program that has not run.

    Attributes:
        line: The line, from 1.
        rule: The name of the rule that found it, such as "undefined-name" or "tool-arguments"; "syntax" for a program
            that Python cannot parse, and "limits" for one that is too long.
        message: The error that Python would raise, and a hint on the next line if there is one.
        suggestion: The line as it may be meant, or None.
    """

    line: int
    rule: str
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        """Return the mistake as text, without the file's name."""
        suggested = f"\nSuggestion: {self.suggestion.strip()}" if self.suggestion else ""
        return f"line {self.line}: {self.message}{suggested} [{self.rule}]"


def check_program(code: str, limits: Limits, grants: Grants, finders: Grants | None = None) -> list[Mistake]:
    """Return the mistakes of a program that may call the granted tools, and `finders` to find tools, by line."""
    problem = find_code_problem(code, limits)
    if problem is not None:
        return [Mistake(1, "syntax" if problem.startswith("SyntaxError") else "limits", problem)]
    if len(code) > _MAX_PROGRAM:
        return []
    try:
        code, tree = _parse(code)
    except SyntaxError as error:
        return [Mistake(error.lineno or 1, "syntax", f"SyntaxError: {error.msg}")]
    except (ValueError, RecursionError, MemoryError) as error:  # raised by the parser
        return [Mistake(1, "syntax", f"{type(error).__name__}: {error}")]
    names = grants.names_in(code) if grants.is_large else list(grants.by_name)
    rows = grants.rows(names)
    if finders is not None:
        rows += finders.rows(name for name in finders.by_name if name in code)
    described = {name: (signature, types, read_only) for name, signature, _, _, types, read_only in rows}
    shapes = Shapes(described, len(grants.by_name) - len(names))
    texts = [text for signature, types, _ in described.values() for text in (signature, types)]
    is_known = {*_PROVIDED, *PROVIDED, *vars(builtins)}.__contains__
    known = {*_PROVIDED, *RESULT_READERS, *type_names(tree, code, lambda: texts, is_known)}
    mistakes: list[Mistake] = []
    for mistake in find_mistakes(tree, shapes, known):
        message = "\nHint: ".join(filter(None, (mistake.error, mistake.hint)))
        corrected = (apply_suggestions(code, [mistake]) or "").encode().splitlines()
        lines = corrected[mistake.line - 1 : mistake.line]
        mistakes.append(Mistake(mistake.line, mistake.rule, message, lines[0].decode() if lines else None))
    return mistakes


def _parse(code: str) -> tuple[str, ast.Module]:
    """Return a program and its syntax tree, also of one in a fence, as a worker reads it."""
    try:
        tree = parse_quietly(code)
        better = unpack_program(code, tree)
    except SyntaxError:
        better = repair_source(code) or code
    else:
        if better is None:
            return code, tree
    return better, parse_quietly(better)
