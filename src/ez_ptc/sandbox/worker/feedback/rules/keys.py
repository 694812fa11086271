"""Keys that a record does not have, and where they are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...quoting import item_text, name_list, quoted
from ..following.library import attribute_of_class
from ..mistakes import replacing
from ..near_names import close_matches
from ..suggestions import names_effect, suggest_for_missing_key
from ..types import SCALARS, UNKNOWN, Type, members

if TYPE_CHECKING:
    from ..following.analysis import Analysis

__all__ = ["look_at_missing_key"]

_WITHOUT_KEYS = SCALARS | {"NoneType", "list", "set", "tuple"}


def look_at_missing_key(run: Analysis, node: ast.Attribute | ast.Subscript, key: str, rule: str) -> None:
    """Report a key that no record has which the value may be."""
    if key in run.facts.texts:
        return  # the program knows more of it
    types = members(run.types.get(node.value, UNKNOWN))
    if len(types) > 1 and run.guards:
        return  # the program may handle the error of one of them
    is_attribute = isinstance(node, ast.Attribute)
    # A record may be a named tuple.
    if is_attribute and (hasattr(dict, key) or hasattr(tuple, key) or key.startswith("_")):
        return
    if not all(_fails(run, member, key, is_attribute=is_attribute) for member in types):
        return
    record = next(member for member in types if member.keys or member.kind == "record")
    error = f"KeyError: {quoted(key)}"
    if is_attribute:
        owner = "'dict' object has no attribute" if record.kind == "dict" else "this record has no"
        error = f"AttributeError: {owner} {quoted(key)}"
    hint, replacement = _advice(run, node.value, key, record) if run.may_suggest else ("", None)
    run.report(node, rule, error, hint, suggestion=replacing(node, replacement))


def _fails(run: Analysis, member: Type, key: str, *, is_attribute: bool) -> bool:
    if member.kind == "record" or (member.keys and not is_attribute):
        return run.containers.value_of(member, key) is None
    if is_attribute and not (member.kind == "dict" and member.tool):
        return attribute_of_class(member.kind, key) is None
    return member.kind in _WITHOUT_KEYS


def _advice(run: Analysis, value: ast.expr, key: str, record: Type) -> tuple[str, str | None]:
    """Return a hint with the keys that there are, or where the missing one is, and what to write instead."""
    keys = run.containers.keys_of(record)
    near = close_matches(key, keys)
    near += [name for name in keys if name not in near and _is_part(name, key)]
    listed = f"the keys are: {name_list([*near, *(name for name in keys if name not in near)])}"
    text = ast.unparse(value)
    if near:
        is_likely = len(near) == 1 or near[0].casefold() == key.casefold()
        return listed, item_text(text, near[0]) if is_likely else None
    if names_effect(value, run.shapes):
        return listed, None
    elsewhere, replacement = suggest_for_missing_key(key, text, record, run.shapes)
    return "; ".join([listed, *elsewhere]), replacement


def _is_part(name: str, key: str) -> bool:
    """Return whether one of two names begins or ends with the words of the other."""
    one, other = sorted((f"_{name}_", f"_{key}_"), key=len)
    return other.startswith(one) or other.endswith(one)
