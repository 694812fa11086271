"""Keys that a record does not have, and where they are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...quoting import item_text, name_list, quoted
from ..mistakes import replacing
from ..near_names import close_matches
from ..suggestions import names_effect, suggest_for_missing_key

if TYPE_CHECKING:
    from ..following.analysis import Analysis
    from ..types import Type

__all__ = ["report_missing_key"]


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
    keys, words, text = run.containers.keys_of(record), f"_{key}_", ast.unparse(node.value)
    near = close_matches(key, keys)
    # One of two names may begin or end with the words of the other.
    near += [
        name for name in keys if name not in near and (_is_edge(f"_{name}_", words) or _is_edge(words, f"_{name}_"))
    ]
    hint = f"the keys are: {name_list([*near, *(name for name in keys if name not in near)])}"
    replacement: str | None = None
    if len(near) == 1 or (near and near[0].casefold() == key.casefold()):
        replacement = item_text(text, near[0])
    elif not near and not names_effect(node.value, run.shapes):
        elsewhere, replacement = suggest_for_missing_key(key, text, record, run.shapes)
        hint = "; ".join([hint, *elsewhere])
    run.report(node, rule, error, hint, suggestion=replacing(node, replacement))


def _is_edge(words: str, longer: str) -> bool:
    return longer.startswith(words) or longer.endswith(words)
