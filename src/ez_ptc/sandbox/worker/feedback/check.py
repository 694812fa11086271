"""Checking a program before it runs: what must fail, found before its first effect.

Mistakes are reported as the failing program would, with more help to correct them. Code that cannot be followed is not
reported, nor is code whose errors the program handles. This is no security measure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .following.analysis import Analysis, TooLongError
from .following.expressions import EXPRESSIONS
from .following.facts import read_facts
from .following.statements import STATEMENTS
from .rules.table import RULES

if TYPE_CHECKING:
    import ast
    from collections.abc import Collection

    from .mistakes import Mistake
    from .signatures import Shapes

__all__ = ["find_mistakes"]


def find_mistakes(tree: ast.Module, shapes: Shapes, outer_names: Collection[str]) -> list[Mistake]:
    """Return the mistakes of a program with tools, by line; none for one that takes too long to check.

    Args:
        tree: The program.
        shapes: The available tools, by name.
        outer_names: The names that the program has besides the built-in ones, such as those of an earlier program.
    """
    try:
        analysis = Analysis(tree, read_facts(tree), shapes, outer_names)
        mistakes = analysis.run(EXPRESSIONS, STATEMENTS, RULES)
    except (TooLongError, RecursionError, ValueError):
        # CPython may run a program that is nested too deeply to follow or to unparse.
        return []
    return sorted(mistakes, key=lambda mistake: mistake.line)
