"""Keys that a record does not have, and where they are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...protocol.both_ends.quoting import item_text, quoted
from ..mistakes import replacing
from ..near_names import CONVERSIONS, is_plain_key, keys_text, near_keys, only_near_key
from ..suggestions import names_effect, suggest_for_missing_key

if TYPE_CHECKING:
    from ...protocol.both_ends.types import Type
    from ..following.analysis import Analysis
    from ..mistakes import Suggestion

__all__ = ["report_missing_key", "suggest_iterated"]


def report_missing_key(run: Analysis, node: ast.Attribute | ast.Subscript, key: str, record: Type) -> None:
    """Report a key that none of the records has that a value may be, unless the program knows more of it."""
    if key in run.facts.texts or (len(run.types_of(node.value)) > 1 and run.guards):
        return
    rule, error = "key", f"KeyError: {quoted(key)}"
    if isinstance(node, ast.Attribute):
        owner = "'dict' object has no attribute" if record.kind == "dict" else "this record has no"
        rule, error = "attribute", f"AttributeError: {owner} {quoted(key)}"
    if not run.may_suggest:
        run.report(node, rule, error)
        return
    keys, text = run.containers.keys_of(record), ast.unparse(node.value)
    call = run.facts.called.get(id(node))
    if call is not None and key in CONVERSIONS:
        hint = f"a record is a dict already: use it as it is; {keys_text(keys, [])}"
        # Other arguments leave fields out or rename them.
        is_whole = not call.args and all(keyword.arg == "mode" for keyword in call.keywords)
        run.report(node, rule, error, hint, suggestion=replacing(call, text if is_whole else None, is_only=True))
        return
    near = near_keys(key, keys)
    hint, meant = keys_text(keys, near), only_near_key(key, near)
    replacement: str | None = None
    if meant is not None:
        replacement = item_text(text, meant)
    elif not near and not names_effect(node.value, run.shapes):
        elsewhere, replacement = suggest_for_missing_key(key, text, record, run.shapes)
        hint = "; ".join([hint, *elsewhere])
    run.report(node, rule, error, hint, suggestion=replacing(node, replacement, is_only=is_plain_key(meant)))


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
