"""Loops over the keys of one record instead of its items."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...protocol.both_ends.quoting import item_text
from ..mistakes import replacing
from ..near_names import is_plain_key

if TYPE_CHECKING:
    from ..following.analysis import Analysis
    from ..mistakes import Suggestion

__all__ = ["suggest_iterated"]


def suggest_iterated(run: Analysis, node: ast.Attribute | ast.Subscript, key: str) -> Suggestion | None:
    """Return the value to loop over instead of a record's keys, if items of one value alone have a key.

    That is the record itself, or the list under its only key with one.
    """
    loops = run.facts.loops.get(ast.unparse(node.value), [])
    types = [member for loop in loops for member in run.types_of(loop)]
    if len(types) != 1 or types[0].kind not in {"dict", "record"} or run.containers.is_open(types[0]):
        return None
    keys, text = run.containers.keys_of(types[0]), ast.unparse(loops[0])
    lists = [name for name, value in keys.items() if value.kind == "list"]
    replacements = [f"[{text}]"] * (key in keys)
    if len(lists) == 1 and is_plain_key(lists[0]) and key in keys[lists[0]].record.keys:
        replacements.append(item_text(text, lists[0]))
    if len(replacements) != 1:
        return None
    return replacing(loops[0], replacements[0], is_only=True)
