"""Functions used as values: a method of a dict that hides a key of its name, and a tool that is not called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...protocol.both_ends.quoting import MAX_QUOTED, item_text, on_one_line
from ...protocol.values.records import METHODS
from ..mistakes import replacing
from ..near_names import hint_of_method

if TYPE_CHECKING:
    from ..following.analysis import Analysis
    from ..mistakes import Suggestion

__all__ = ["explain_function"]

_DICTS = frozenset({"dict", "record"})


def explain_function(run: Analysis, node: ast.AST, error: str) -> tuple[str, Suggestion | None] | None:
    """Return how to write what an error says to be a function, and the suggestion; None where neither is known."""
    items = [item for item in ast.walk(node) if isinstance(item, (ast.Attribute, ast.Name)) and item in run.types]
    if "'builtin_function_or_method'" in error:
        methods = [item for item in run.types if isinstance(item, ast.Attribute) and _reads_method(run, item)]
        methods = [item for item in methods if item in items] or methods
        if len({ast.unparse(item) for item in methods}) != 1:
            return None
        read, owner = methods[0], ast.unparse(methods[0].value)
        is_key = all(read.attr in run.containers.keys_of(member) for member in run.types_of(read.value))
        if "not iterable" in error and node in items and not any(node in loops for loops in run.facts.loops.values()):
            is_key = False  # a loop over pairs may mean the method: `for key, value in page.items:`
        hint = hint_of_method(on_one_line(owner, MAX_QUOTED), read.attr, is_key=is_key)
        return hint, replacing(read, item_text(owner, read.attr), is_only=True) if is_key else None
    tools = [item for item in items if isinstance(item, ast.Name) and run.types[item].kind == "tool"]
    if "'function'" not in error or len(tools) != 1:
        return None
    tool = run.shapes[run.types[tools[0]].tool]
    text = f"{tools[0].id}()"
    return f"{tools[0].id} is a function: call it, {tool.call}", replacing(tools[0], "" if tool.required else text)


def _reads_method(run: Analysis, node: ast.Attribute) -> bool:
    """Return whether an attribute is a method of a dict and is not called."""
    if node.attr not in METHODS or id(node) in run.facts.called:
        return False
    return all(owner.kind in _DICTS for owner in run.types_of(node.value))
