"""Keys that a record does not have, and where they are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...quoting import item_text, name_list, on_one_line, quoted
from ..following.library import attribute_of_class
from ..mistakes import Mistake, replacing
from ..near_names import close_matches
from ..suggestions import names_effect, suggest_for_missing_key, suggest_lookup_by_value
from ..types import SCALARS, UNKNOWN, Type, members

if TYPE_CHECKING:
    from ..following.analysis import Analysis

__all__ = ["look_at_missing_key", "look_at_scalar_key"]

_MAX_TEXT = 100
_WITHOUT_KEYS = SCALARS | {"NoneType", "list", "set", "tuple"}


def look_at_missing_key(run: Analysis, node: ast.expr, value: ast.expr, key: str, rule: str) -> None:
    """Report a key that no record has which the value may be."""
    if key in run.facts.texts:
        return  # the program knows more of it
    types = members(run.types.get(value, UNKNOWN))
    if len(types) > 1 and run.guards:
        return  # the program may handle the error of one of them
    is_attribute = isinstance(node, ast.Attribute)
    # A record may be a named tuple.
    if is_attribute and (hasattr(dict, key) or hasattr(tuple, key) or key.startswith("_")):
        return
    if not all(_fails(run, member, key, is_attribute=is_attribute) for member in types):
        return
    record = next(member for member in types if member.keys or member.kind == "record")
    if is_attribute and record.kind == "dict":
        error = f"AttributeError: 'dict' object has no attribute {quoted(key)}"
    elif is_attribute:
        error = f"AttributeError: this record has no {quoted(key)}"
    else:
        error = f"KeyError: {quoted(key)}"
    _report_key(run, node, value, key, record, Mistake(rule, node.lineno, error))


def _fails(run: Analysis, member: Type, key: str, *, is_attribute: bool) -> bool:
    if member.kind == "record" or (member.keys and not is_attribute):
        return run.containers.value_of(member, key) is None
    if is_attribute and not (member.kind == "dict" and member.tool):
        return attribute_of_class(member.kind, key) is None
    return member.kind in _WITHOUT_KEYS


def _report_key(run: Analysis, node: ast.expr, value: ast.expr, key: str, record: Type, mistake: Mistake) -> None:
    """Report a missing key, with the name that may be meant, or with where it is."""
    if not run.may_suggest:
        run.report(node, mistake)
        return
    keys = run.containers.keys_of(record)
    near = close_matches(key, keys)
    near += [name for name in keys if name not in near and _is_part(name, key)]
    listed = f"the keys are: {name_list([*near, *(name for name in keys if name not in near)])}"
    text = ast.unparse(value)
    if near:
        suggestion = (
            replacing(node, item_text(text, near[0]))
            if len(near) == 1 or near[0].casefold() == key.casefold()
            else None
        )
        run.report(node, Mistake(mistake.rule, mistake.line, mistake.error, listed, suggestion))
        return
    holder = _holder(run, key)
    if holder and _is_at_hand(run, holder, node):
        suggestion = replacing(node, item_text(holder, key))
        hint = f"{listed}; {quoted(key)} is in {holder}"
        run.report(node, Mistake(mistake.rule, mistake.line, mistake.error, hint, suggestion))
        return
    elsewhere, replacement = [], None
    if not names_effect(value, run.shapes):
        elsewhere, replacement = suggest_for_missing_key(key, text, record, run.shapes)
    hint = "; ".join([listed, *elsewhere])
    run.report(node, Mistake(mistake.rule, mistake.line, mistake.error, hint, replacing(node, replacement)))


def _is_part(name: str, key: str) -> bool:
    return (
        f"_{key}_".endswith(f"_{name}_")
        or f"_{name}_".endswith(f"_{key}_")
        or f"{name}_".startswith(f"{key}_")
        or f"{key}_".startswith(f"{name}_")
    )


def _holder(run: Analysis, key: str) -> str | None:
    """Return the name of a record with a key, or None."""
    frame = run.frame
    while frame is not None:
        for name, value in frame.names.items():
            if value.kind == "record" and key in value.keys:
                return name
        frame = frame.outer
    return None


def _is_at_hand(run: Analysis, name: str, node: ast.expr) -> bool:
    """Return whether a name is bound at a position: before it, and in the loop that binds it."""
    loops = [loop for loop in run.facts.loops if isinstance(loop.target, ast.Name) and loop.target.id == name]
    if loops:
        lines = [(loop.lineno, loop.end_lineno or 0) for loop in loops if isinstance(loop, ast.For)]
        return any(first < node.lineno <= last for first, last in lines)
    return run.facts.bound.get(name, node.lineno) < node.lineno


def look_at_scalar_key(run: Analysis, node: ast.Subscript, key: str, value: Type, rule: str) -> bool:
    """Report a key of a list, text or number that a tool returned, and return whether it is one."""
    text = ast.unparse(node.value)
    if value.kind == "list":
        hint = f"{value.tool}() returns a list: loop over it, or take one item of it"
        error = f"TypeError: {on_one_line(text, _MAX_TEXT)} is a list and has no {quoted(key)}"
        run.report(node, Mistake(rule, node.lineno, error, hint))
        return True
    if value.kind not in SCALARS or value.tool not in run.shapes:
        return False
    error = f"TypeError: {on_one_line(text, _MAX_TEXT)} is {value.kind} and has no {quoted(key)}"
    tool = run.shapes[value.tool]
    origin = f"{tool.tool}() returns {on_one_line(tool.signature.rpartition('->')[2].strip(), _MAX_TEXT)}"
    if tool.returns.kind == value.kind:
        run.report(node, Mistake(rule, node.lineno, error, f"{origin}: take it as it is", replacing(node, text)))
        return True
    lookup: str | None = None
    if not names_effect(node.value, run.shapes):
        lookup = suggest_lookup_by_value(key, text, value, run.shapes)
    if lookup:
        hint = f"{origin}; {quoted(key)} of it is {lookup}"
    else:
        hint = f"{origin}; what you go over are its keys: use .items(), or do not loop"
    run.report(node, Mistake(rule, node.lineno, error, hint, replacing(node, lookup)))
    return True
