"""Checking a program before it runs: what must fail, found before its first effect.

Mistakes are reported as the failing program would, with more help to correct them. Code that cannot be followed is not
reported, nor is code whose errors the program handles. This is not a security measure.
"""

from __future__ import annotations

from time import thread_time_ns
from typing import TYPE_CHECKING

from .following.facts import TooLongError, read_facts
from .rules.by_node import Rules

if TYPE_CHECKING:
    import ast
    from collections.abc import Collection

    from .mistakes import ProgramMistake
    from .signatures import Shapes

__all__ = ["find_mistakes", "is_right"]

# Of its thread's time; with the limit for a corrected program and what goes by unnoticed, less than 20 ms.
_MAX_MILLISECONDS, _MAX_MILLISECONDS_CORRECTED = 10, 5


def find_mistakes(tree: ast.Module, shapes: Shapes, outer_names: Collection[str]) -> list[ProgramMistake]:
    """Return the mistakes of a program with tools, by line; none for one that takes too long to check.

    Args:
        tree: The program.
        shapes: The available tools, by name.
        outer_names: The program's names other than the built-in ones, such as those of an earlier program.
    """
    return sorted(_check(tree, shapes, outer_names, _MAX_MILLISECONDS) or [], key=lambda mistake: mistake.line)


def is_right(tree: ast.Module, shapes: Shapes, outer_names: Collection[str]) -> bool:
    """Return whether a corrected program certainly has no mistake that can be found."""
    return _check(tree, shapes, outer_names, _MAX_MILLISECONDS_CORRECTED) == []


def _check(
    tree: ast.Module, shapes: Shapes, outer_names: Collection[str], milliseconds: int
) -> list[ProgramMistake] | None:
    """Return the mistakes of a program in any order; None if it takes too long to follow."""
    deadline = thread_time_ns() + milliseconds * 1_000_000
    try:
        return Rules(read_facts(tree), shapes, outer_names, deadline).run(tree.body)
    except (TooLongError, RecursionError, ValueError):
        # CPython may run a program that is nested too deeply to follow or to unparse.
        return None
