"""Type names in annotations without an import: those in the signatures of tools, and those of `typing`.

A program is shown `find(customer: str) -> list[Order]`, and uses `Order` and `List` in annotations of its own.
"""

from __future__ import annotations

import ast
import re
import typing
from typing import TYPE_CHECKING, cast

from ..protocol.values.records import Record
from .following.names import bound_names, every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["type_names"]

_MAY_NAME = re.compile(r"(?:->|:)\s*[\w.\[]*[A-Z]|\[[^\]\n]*[A-Z]")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TYPING = frozenset(cast("list[str]", vars(typing)["__all__"]))


def type_names(
    tree: ast.Module, text: str, type_texts: Callable[[], Iterable[str]], known: Callable[[str], bool]
) -> dict[str, object]:
    """Return values for the type names a program uses in annotations and does not bind.

    Args:
        tree: The program.
        text: Its text.
        type_texts: Returns the texts in which tools' types are named.
        known: Whether a name is defined outside the program.
    """
    if not _MAY_NAME.search(text):
        return {}
    annotations: list[ast.expr | None] = []
    for node in every(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            annotations.append(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            annotations.append(node.annotation)
    nodes = (node for annotation in annotations if annotation is not None for node in every(annotation))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    used = {name for name in used if not known(name)}
    if not used:
        return {}
    used -= {name for node in every(tree) for name in bound_names(node)}
    named = {word for item in type_texts() for word in _WORD.findall(item)} if used - _TYPING else set[str]()
    values_by_name: dict[str, object] = dict.fromkeys(used & named, Record)
    values_by_name.update((name, getattr(typing, name)) for name in used & _TYPING)
    return values_by_name
