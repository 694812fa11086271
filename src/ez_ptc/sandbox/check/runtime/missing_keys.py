"""Keys that a record of a running program lacks, and their places: a related record, or another tool's result."""

from __future__ import annotations

import ast
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, TypeGuard, cast

from ...protocol.both_ends.quoting import item_text, quoted
from ...protocol.both_ends.types import UNKNOWN, Type
from ..following.names import called_name
from ..near_names import MAX_COMPARED, is_plain_key
from ..signatures import COMMON
from ..suggestions import call_expression, names_effect, suggest_for_missing_key
from .failing import call_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from ..signatures import Shapes

__all__ = ["describe_elsewhere", "find_elsewhere", "find_holder"]


def describe_elsewhere(
    node: ast.Subscript, record: Mapping[object, object], frame: FrameType, tree: ast.Module, shapes: Shapes
) -> list[str]:
    """Return sentences about the place of a missing key: one variable, or tools' results."""
    key, holder = _key_in(node), find_holder(node, record, frame, tree)
    if holder is None or key is None:
        return find_elsewhere(node, record, shapes)[0]
    return [f"{quoted(key)} is in {holder}: {item_text(holder, key)}"]


def find_holder(node: ast.Subscript, record: Mapping[object, object], frame: FrameType, tree: ast.Module) -> str | None:
    """Return the only variable with the missing key in a related record, or None.

    The record is the result of a call with a value of the other. Equal ids alone say nothing: an order and a customer
    may both have the `id` 7, and two invoices one `customer_id`. Both are bound once, and the call is above each use in
    one block: no round of a loop may come to the record of another.
    """
    key, call = _key_in(node), call_of(node.value, tree)
    if key is None or call is None:
        return None
    names = [name for name in ast.walk(tree) if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Load)]
    bound = Counter([name.id for name in names])
    bound.update(name.arg for name in ast.walk(tree) if isinstance(name, ast.arg))
    if isinstance(node.value, ast.Name):
        readings = {(place.lineno, place.col_offset) for place in ast.walk(tree) if _is_reading(place, node)}
        if bound[node.value.id] != 1 or not readings <= _places_after(call, tree):
            return None
    inner = [*call.args, *(keyword.value for keyword in call.keywords)]
    holders: list[str] = []
    for name in {name.id for value in inner for name in ast.walk(value) if isinstance(name, ast.Name)}:
        value = frame.f_locals.get(name, frame.f_globals.get(name))
        if isinstance(value, dict) and value is not record and key in cast("dict[object, object]", value):
            holders.append(name)
    return holders[0] if len(holders) == 1 and bound[holders[0]] == 1 else None


def _is_reading(place: ast.AST, node: ast.Subscript) -> TypeGuard[ast.Subscript]:
    return isinstance(place, ast.Subscript) and ast.dump(place) == ast.dump(node)


def _places_after(call: ast.Call, tree: ast.Module) -> set[tuple[int, int]]:
    """Return the places below the statement with a call, in its block."""
    for owner in ast.walk(tree):
        for block in (getattr(owner, field, None) for field in ("body", "orelse", "finalbody")):
            statements = cast("list[ast.stmt]", block) if isinstance(block, list) else []
            for number, statement in enumerate(statements, 1):
                if isinstance(statement, ast.Assign) and statement.value is call:
                    nodes = [inner for later in statements[number:] for inner in ast.walk(later)]
                    return {(inner.lineno, inner.col_offset) for inner in nodes if isinstance(inner, ast.expr)}
    return set()


def find_elsewhere(
    node: ast.Subscript, record: Mapping[object, object], shapes: Shapes
) -> tuple[list[str], str | None]:
    """Return the tools with a missing key in their results, as sentences, and the call of the only one, or None.

    Names of many meanings relate no records: the `id` of an order is not that of a customer.
    """
    key, text = _key_in(node), ast.unparse(node.value)
    if key is None or names_effect(node.value, shapes):
        return [], None
    names = [name for name in islice(record, MAX_COMPARED) if type(name) is str and name not in COMMON]
    related = Type("record", keys=dict.fromkeys(names, UNKNOWN), tool=called_name(node.value) or "")
    places = [(shape, name) for shape, name in shapes.returning(key) if shape.tool != related.tool]
    only = call_expression(*places[0], text, related) if len(places) == 1 else None
    return suggest_for_missing_key(key, text, related, shapes)[0], only


def _key_in(node: ast.Subscript) -> str | None:
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return key if is_plain_key(key) else None
