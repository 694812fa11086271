"""Keys of a dict that a program reads as attributes, though every dict has a method of their name, such as `items`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from ...protocol.both_ends.quoting import MAX_QUOTED, on_one_line
from ...protocol.values.records import METHODS
from ..following.names import called_name
from ..mistakes import parse_quietly
from ..near_names import hint_of_method
from .failing import find_failing, look_up, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    from ..signatures import Shapes

__all__ = ["find_hidden_keys", "hidden_key_hint"]


def find_hidden_keys(error: BaseException, shapes: Shapes) -> list[ast.Attribute]:
    """Return a reading of such a key in the failing expression, and all equal ones in the program."""
    if not isinstance(error, (AttributeError, TypeError)) or "builtin_function_or_method" not in str(error):
        return []
    node, frame = find_failing(error.__traceback__)
    if node is None or frame is None:
        return []
    tree = parse_quietly(text_of(frame))
    called = {_position(call.func) for call in ast.walk(tree) if isinstance(call, ast.Call)}
    read = [item for item in ast.walk(tree) if isinstance(item, ast.Attribute) and _position(item) not in called]
    inside = {_position(item) for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    hidden = {ast.unparse(item) for item in read if _position(item) in inside and _hides_key(item, frame, shapes)}
    return [item for item in read if {ast.unparse(item)} == hidden]


def hidden_key_hint(error: AttributeError | TypeError, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    """Return how to read such a key, or None."""
    for read in find_hidden_keys(error, shapes)[:1]:
        return hint_of_method(on_one_line(ast.unparse(read.value), MAX_QUOTED), read.attr, is_key=True)
    return None


def _hides_key(node: ast.Attribute, frame: FrameType, shapes: Shapes) -> bool:
    """Return whether an attribute is a method of a dict with a key of the same name."""
    owner = look_up(node.value, frame)
    if isinstance(owner, dict):
        keys = {*cast("dict[object, object]", owner)}
    elif (tool := shapes.get(called_name(node.value) or "")) is not None:
        keys = {*tool.returns.record.keys}
    else:
        return False
    return node.attr in METHODS & keys


def _position(node: ast.expr) -> tuple[int, ...]:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0
