"""Hints for records: keys that they lack, lists that are records and records that are lists, orders."""

from __future__ import annotations

import ast
from itertools import islice
from typing import TYPE_CHECKING, cast

from ...protocol.both_ends.quoting import MAX_QUOTED, item_text, name_list, name_text, on_one_line, quoted
from ..following.mixed_types import hint_of_types
from ..following.names import called_name
from ..mistakes import parse_quietly
from ..near_names import (
    CONVERSIONS,
    MAX_COMPARED,
    close_matches,
    hint_of_whole_dict,
    keys_text,
    near_keys,
    only_near_key,
)
from ..table_hints import hint_of_column, hint_of_table, is_of_table
from .failing import find_failing, look_up, subscript_owner, text_of
from .missing_keys import describe_elsewhere
from .outside import OF_OPENSSL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    from ..signatures import Shape, Shapes

__all__ = [
    "attribute_hint",
    "equal_readings",
    "find_loops",
    "find_near_key",
    "key_hint",
    "key_in",
    "keys_of",
    "order_hint",
    "passed_key_hint",
    "subscript_hint",
    "unpacking_hint",
    "whole_dict_hint",
]

# A program's own metaclass may define another `__name__`.
_TYPE_NAME = vars(type)["__name__"].__get__
_LOOPS = (ast.For, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def key_hint(error: KeyError, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    """Return the keys of the dict that lacks one, those near it first."""
    node, frame = find_failing(error.__traceback__)
    owner = _owner_of(error)
    if not isinstance(owner, dict):
        return None
    keys = cast("dict[object, object]", owner)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):  # of `counts[key] += 1`
        first = on_one_line(f"{ast.unparse(node.value)}.get({ast.unparse(node.slice)}, 0)", MAX_QUOTED)
        return f"a new key has no value yet to add to: use {first}"
    if not keys:
        return "the dict is empty"
    near, reported = _near(keys, *error.args[:1]), keys.get("error")
    hints = [keys_text(keys, near)]
    if not near and isinstance(node, ast.Subscript) and frame is not None:
        hints += describe_elsewhere(node, keys, frame, parse_quietly(text_of(frame)), shapes)
    if isinstance(reported, str):
        hints = [f"the call reported an error: {quoted(reported)}", passed_key_hint(error, shapes) or hints[0]]
    return "; ".join(hints)


def attribute_hint(error: AttributeError, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    """Return how to read what a value has: the keys of a dict, the items of a list, or attributes spelt alike."""
    owner = error.obj
    wanted = error.name or ""
    if isinstance(owner, dict):
        keys = cast("dict[object, object]", owner)
        near = _near(keys, wanted)
        key = wanted if wanted in keys else only_near_key(wanted, near) or "key"
        listed = name_list([*near, *(name for name in keys if name not in near)])
        if wanted in CONVERSIONS:
            return f"this is a dict already: use it as it is; its keys are: {listed}"
        return f"this is a dict: use {item_text('', key)}; its keys are: {listed}"
    if isinstance(owner, list):
        return _list_hint(cast("list[object]", owner), wanted) or "this is a list: take one item of it, or loop over it"
    if isinstance(owner, str) and (hint := _hint_of_key(error, owner, shapes)):
        return hint
    public = [name for name in dir(owner) if not name.startswith("_") or wanted.startswith("_")]
    near = close_matches(wanted, public)
    if not near or wanted in OF_OPENSSL:
        return hint_of_types(str(error))
    return f"{name_text(_TYPE_NAME(type(owner)))} has: {name_list(near)}"


def find_near_key(
    node: ast.expr, keys: Mapping[object, object], tree: ast.Module
) -> tuple[str, list[ast.Attribute | ast.Subscript]] | None:
    """Return the only near key of a dict that lacks the one an expression reads, and all equal expressions, or None."""
    wanted = key_in(node)
    if wanted is None:
        return None
    meant = wanted if wanted in keys else only_near_key(wanted, _near(keys, wanted))
    if meant is None:
        return None
    return meant, equal_readings(node, tree)


def equal_readings(node: ast.expr, tree: ast.Module) -> list[ast.Attribute | ast.Subscript]:
    """Return all expressions with the same key of the same owner as one, and this one."""
    same = [cast("ast.Subscript", other) for other in ast.walk(tree) if key_in(other) == key_in(node)]
    owner = ast.unparse(cast("ast.Subscript", node).value)
    return [other for other in same if ast.unparse(other.value) == owner]


def _owner_of(error: KeyError | AttributeError) -> object:
    owner: object = getattr(error, "obj", None)
    return subscript_owner(error.__traceback__) if owner is None else owner


def key_in(node: ast.AST | None) -> str | None:
    """Return the key that an expression reads, if it says it."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.slice.value, str) else None
    return None


def _near(keys: Mapping[object, object], wanted: object = None) -> list[str]:
    if not isinstance(wanted, str):
        return []
    return near_keys(wanted, [key for key in islice(keys, MAX_COMPARED) if type(key) is str])


def _hint_of_key(error: Exception, key: str | None, shapes: Shapes) -> str | None:
    """Return how to use the one record over which a program loops as if it were a list of them, or None.

    `key` is the key that the loop came to, None if it is not known.
    """
    node, frame = find_failing(error.__traceback__)
    if frame is None or not isinstance(node, (ast.Attribute, ast.Subscript)) or not isinstance(node.value, ast.Name):
        return None
    hint: str | None = None
    for iterated, tool in find_loops(node.value.id, node, frame, shapes):
        text, example, record = None, key, look_up(iterated, frame)
        if tool is not None and tool.returns.kind in {"dict", "record"}:
            text = f"{tool.call} returns"
            example = key or next(iter(tool.returns.record.keys), None)
        elif isinstance(record, dict) and key in record:
            text = f"{on_one_line(ast.unparse(iterated), MAX_QUOTED)} is"
        hint = text and f"{text} one dict: use it directly; a loop over it gives its keys"
        if hint and example:
            hint += f", like {quoted(example)}"
    return hint


def passed_key_hint(error: BaseException, shapes: Shapes) -> str | None:
    """Return that a failing expression uses the key of one dict, over which the program loops, or None."""
    node, frame = find_failing(error.__traceback__)
    if node is None or frame is None:
        return None
    for name in ast.walk(node):
        if not isinstance(name, ast.Name):
            continue
        value = look_up(name, frame)
        for iterated, tool in find_loops(name.id, node, frame, shapes):
            record, text = look_up(iterated, frame), on_one_line(ast.unparse(iterated), MAX_QUOTED)
            if tool is not None and tool.returns.kind == "dict":
                text = tool.call
            elif not isinstance(record, dict) or value not in record:
                continue
            if isinstance(value, str):
                key, item = f"{name_text(name.id)} is {quoted(value)}, a key of one dict", item_text(text, value)
                if _holds_list(tool, cast("object", record), value):
                    return f"{key}: loop over its value instead, {item}"
                return f"{key}; its value is {item}"
            if value is None:  # of a comprehension without a frame
                return f"{name_text(name.id)} is a key of one dict; its value is {text}[{name_text(name.id)}]"
    return None


def whole_dict_hint(call: ast.Call, tool: Shape, error: BaseException) -> str | None:
    """Return how to pass one value of a dict that a tool refused as an argument, or None."""
    frame = find_failing(error.__traceback__)[1]
    if frame is None:
        return None
    named = [(parameter.name, value) for parameter, value in zip(tool.positional, call.args, strict=False)]
    for name, value in [*named, *((word.arg, word.value) for word in call.keywords)]:
        keys = look_up(value, frame)
        if isinstance(keys, dict) and f"{quoted(name)} must be " in str(error):
            text = on_one_line(ast.unparse(value), MAX_QUOTED)
            return hint_of_whole_dict(text, cast("dict[object, object]", keys))
    return None


def _holds_list(tool: Shape | None, record: object, key: str) -> bool:
    """Return whether a dict has a list under a key: the one it is, or as the tool's type says."""
    if isinstance(record, dict):
        return isinstance(cast("dict[object, object]", record).get(key), list)
    return tool is not None and tool.returns.item is not None and tool.returns.item.kind == "list"


def find_loops(name: str, node: ast.expr, frame: FrameType, shapes: Shapes) -> Iterator[tuple[ast.expr, Shape | None]]:
    """Yield what the loops around an expression go over, if they bind a name, and the tool that returns it."""
    for loop in ast.walk(parse_quietly(text_of(frame))):
        is_around = isinstance(loop, _LOOPS) and loop.lineno <= node.lineno <= (loop.end_lineno or 0)
        for clause in getattr(loop, "generators", [loop]) if is_around else ():
            if ast.unparse(clause.target) == name:
                yield clause.iter, shapes.get(called_name(clause.iter) or "")


def _list_hint(owner: list[object], wanted: str | None) -> str | None:
    """Return a hint for a list used as a table: by a key, or by an attribute that tables have."""
    if wanted is not None and not is_of_table(wanted):
        return None
    if owner and isinstance(owner[0], dict):
        return hint_of_table(cast("dict[object, object]", owner[0]))
    return None if wanted is None else hint_of_column()


def keys_of(node: ast.expr, frame: FrameType, shapes: Shapes) -> tuple[list[str], bool]:
    """Return the keys of records in an expression, as far as they are known, and whether it is a list of them."""
    rows: object = look_up(node, frame)
    is_list = isinstance(rows, list)
    tool = shapes.get(called_name(node) or "")
    if tool is not None:
        return [*tool.returns.record.keys], tool.returns.kind == "list"
    row = rows
    if isinstance(rows, list) and rows:
        row = cast("list[object]", rows)[0]
    keys = [*cast("dict[str, object]", row)] if isinstance(row, dict) else []
    return keys, is_list


def unpacking_hint(error: ValueError, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    """Return that a loop over pairs goes over the keys of a dict, or None."""
    node, frame = find_failing(error.__traceback__)
    if "values to unpack" not in str(error) or frame is None or not isinstance(node, (ast.Tuple, ast.List)):
        return None
    for loop in ast.walk(parse_quietly(text_of(frame))):
        for clause in getattr(loop, "generators", [loop] if isinstance(loop, _LOOPS) else []):
            tool = shapes.get(called_name(clause.iter) or "")
            is_dict = isinstance(look_up(clause.iter, frame), dict)
            is_result = tool is not None and tool.returns.kind in {"dict", "record"}
            if ast.dump(clause.target, include_attributes=True) == ast.dump(node, include_attributes=True):
                text = on_one_line(ast.unparse(clause.iter), MAX_QUOTED)
                return f"a loop over a dict gives its keys: use {text}.items()" if is_dict or is_result else None
    return None


def order_hint(error: TypeError, shapes: Shapes) -> str:
    """Return how to compare records: by one of their keys."""
    node, frame = find_failing(error.__traceback__)
    keys = list[str]()
    if isinstance(node, ast.Call) and frame is not None:
        rows = node.args[0] if node.args else getattr(node.func, "value", node)
        keys = keys_of(rows, frame, shapes)[0]
    key = item_text("row", next((key for key in keys if len(key) <= MAX_QUOTED), "key"))
    hint = f"records have no order: say by which key, like key=lambda row: {key}"
    return f"{hint}; the keys are: {name_list(keys)}" if keys else hint


def subscript_hint(error: TypeError, shapes: Shapes) -> str | None:
    """Return what a value is that was read by a key: text, often the key of a record, or a list."""
    owner, node = subscript_owner(error.__traceback__), find_failing(error.__traceback__)[0]
    if isinstance(owner, str):
        return _hint_of_key(error, owner, shapes) or f"this is the str {quoted(owner)}, which has no keys"
    if str(error).startswith("string indices"):
        return _hint_of_key(error, None, shapes)
    if isinstance(owner, list):
        return _list_hint(cast("list[object]", owner), None)
    if isinstance(node, ast.Subscript) and called_name(node.value) in shapes:
        return hint_of_table(())
    return None
