"""Where something that is not there can be had: another tool, a row of a list, the loops that read it."""

from __future__ import annotations

import ast
import builtins
import difflib
import keyword
from typing import TYPE_CHECKING

from ..quoting import item_text, name_text, quoted
from .signatures import singular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .signatures import Parameter, Shape, Shapes, Type

__all__ = [
    "all_of",
    "beginning",
    "fetching",
    "identity",
    "list_of",
    "name_of",
    "names_effect",
    "suggest_filter",
    "suggest_getter",
    "suggest_lookup_by_value",
    "where_else",
    "words",
]

# What a name says of asking, besides what it asks for.
_VERBS = frozenset({"all", "fetch", "find", "get", "list", "lookup", "read", "search"})
_IDENTITIES = ("_id", "_code", "_key", "_number")
_SIGNS = {"gte": ">=", "lte": "<=", "gt": ">", "lt": "<", "after": ">", "before": "<", "min": ">=", "max": "<="}
_PLAIN = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.expr_context)
_ROWS = ("item", "each", "found", "one_of_them")
_MOST_LOOPS = 3


def names_effect(node: ast.AST, shapes: Shapes) -> bool:
    """Return whether a tool that is not declared a reader is in an expression: then no hint has it in a call."""
    readers = shapes.readers
    return any(isinstance(item, ast.Name) and readers.get(item.id) is False for item in ast.walk(node))


def where_else(key: str, text: str, kind: Type, shapes: Shapes) -> tuple[list[str], str]:
    """Say which tools return what a record has not; and what to write to get it from the first, or ""."""
    told: list[str] = []
    replacement = ""
    for shape, own in shapes.returning(key):
        if shape.tool == kind.tool:
            continue
        told.append(f"{quoted(own)} is in what {shape.call} returns")
        needed = _one_needed(shape)
        way = ""
        if needed is not None and needed.name in kind.keys and _reads_one(shape):
            way = item_text(f"{shape.tool}({item_text(text, needed.name)})", own)
        elif _reads_all(shape):
            shared = identity(_record(shape.returns))
            way = _search_expression(shape, own, shared, item_text(text, shared)) if shared in kind.keys else ""
        if way and not replacement:
            replacement = way
            told[-1] += f": {way}"
    for shape in shapes.values() if not told else ():
        needed = _one_needed(shape)
        if _noun(shape) == key and needed is not None and needed.name in kind.keys and shape.read_only:
            replacement = f"{shape.tool}({item_text(text, needed.name)})"
            told.append(f"the {name_text(key)} come from {shape.tool}: {replacement}")
            break
    return told, replacement


def _noun(shape: Shape) -> str:
    return shape.tool.partition("_")[2]


def _search_expression(shape: Shape, own: str, identity: str, value: str) -> str:
    """Return what reads a key of the one row that has a value; a whole row where `own` is ""; "" where it cannot."""
    row = _free(value)
    wanted = item_text(row, own) if own else row
    condition = f"{item_text(row, identity)} == {value}"
    if _is_plain(value):
        return f"next({wanted} for {row} in {shape.tool}() if {condition})"
    return ""


def _is_plain(text: str) -> bool:
    """Return whether an expression may be evaluated for each of many rows: it calls nothing."""
    return all(isinstance(node, _PLAIN) for node in ast.walk(ast.parse(text, mode="eval").body))


def _free(*texts: str, first: str = "item") -> str:
    """Return a name for a row that is in none of some expressions."""
    taken = {node.id for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return next(name for name in (first, *_ROWS) if name not in taken or name == _ROWS[-1])


def words(name: str) -> set[str]:
    """Return what a name says, without the verb of what reads."""
    return {singular(word) or word for word in name.casefold().split("_")} - _VERBS


def all_of(name: str, bound: Iterable[str], shapes: Shapes) -> str:
    """Return the call that gives all of what a name in the plural says; "" where there is none, or a name like it."""
    one = singular(name)
    if not one or any(match != one for match in difflib.get_close_matches(name, bound, cutoff=0.6)):
        return ""
    found = [tool for tool in shapes.values() if _reads_all(tool) and words(tool.tool) == words(name)]
    return f"{found[0].tool}()" if len(found) == 1 else ""


def _reads_all(tool: Shape) -> bool:
    needed = [item for item in (*tool.positional, *tool.named.values()) if item.is_required]
    return _reads_list(tool) and not needed


def list_of(name: str, shapes: Shapes) -> str:
    """Return how to get the list that a tool of this name would return: one by one, by what another list has; or ""."""
    for tool in shapes.values():
        if tool.read_only and words(tool.tool) == words(name) and len(tool.positional) == 1:
            for key, shape, own in shapes.sources(tool):
                if _reads_all(shape):
                    keys = f"sorted({{{item_text('item', own)} for item in {shape.call}}})"
                    return f"[{tool.tool}({key}) for {key} in {keys}]"
    return ""


def suggest_lookup_by_value(key: str, text: str, kind: Type, shapes: Shapes) -> str:
    """Return how to look a key up by a value that is itself no record; "" where no tool, or more than one, does."""
    ways: list[str] = []
    for shape, own in shapes.returning(key):
        needed, record = _one_needed(shape), _record(shape.returns)
        if _reads_one(shape) and needed is not None and needed.type.kind == kind.kind:
            ways.append(item_text(f"{shape.tool}({text})", own))
        elif _reads_all(shape) and identity(record) and record.keys[identity(record)].kind == kind.kind:
            ways.append(_search_expression(shape, own, identity(record), text))
    return ways[0] if len(ways) == 1 else ""


def suggest_getter(call: ast.Call, shapes: Shapes) -> str:
    """Return how to get what a call of nothing asks for by its name, as `get_customer_id(parcel_id)` does; or ""."""
    given = name_of(call.args[0]) if len(call.args) == 1 and not call.keywords else ""
    verb, _, wanted = call.func.id.partition("_") if isinstance(call.func, ast.Name) else ("", "", "")
    if not given or verb not in _VERBS:
        return ""
    value = ast.unparse(call.args[0])
    for shape in shapes.values():
        kind, needed = shape.returns, _one_needed(shape)
        own = wanted if wanted in _record(kind).keys else wanted.removeprefix(f"{shape.tool.rpartition('_')[2]}_")
        if own not in _record(kind).keys or own == given:
            continue
        if _reads_one(shape) and needed is not None and needed.name == given:
            return item_text(f"{shape.tool}({value})", own)
        if _reads_all(shape) and given in _record(kind).keys:
            return _search_expression(shape, own, given, value)
    for shape in shapes.values():
        if _reads_all(shape) and singular(_noun(shape)) == wanted and given in _record(shape.returns).keys:
            return _search_expression(shape, "", given, value)
    return ""


def suggest_filter(call: ast.Call, tool: Shape, shapes: Shapes) -> str:
    """Return the rows of a call that meet what it was given by names that the tool does not take; or ""."""
    extra = {str(item.arg): item.value for item in call.keywords if item.arg not in tool.named}
    kind = tool.returns.item
    if not tool.read_only or tool.returns.kind != "list" or kind is None or not kind.keys:
        return ""
    values = [ast.unparse(value) for value in extra.values()]
    if len(call.args) > len(tool.positional) or not all(map(_is_plain, values)):
        return ""
    row = _free(*values, first=_row_of(tool))
    conditions: list[str] = []
    for name, value in extra.items():
        key, sign = (name, "==") if name in kind.keys else _parse_filter_name(name)
        place = item_text(row, key) if key in kind.keys else where_else(key, row, kind, shapes)[1]
        if not place:
            return ""
        conditions.append(f"{place} {sign} {ast.unparse(value)}")
    plain = ast.Call(call.func, call.args, [item for item in call.keywords if item.arg in tool.named])
    return f"[{row} for {row} in {ast.unparse(plain)} if {' and '.join(conditions)}]"


def _parse_filter_name(name: str) -> tuple[str, str]:
    """Return the key and the sign that a filter's name says: `price__lt`, `min_price`."""
    begin, _, rest = name.partition("_")
    key, _, end = name.rpartition("_")
    if begin in {"min", "max"}:
        return rest, _SIGNS[begin]
    if end in _SIGNS:
        return (key.rstrip("_"), _SIGNS[end])
    return (name, "==")


def identity(record: Type) -> str:
    """Return the key that tells a record from others of its kind, or ""."""
    return next((key for key in record.keys if f"_{key}".endswith(_IDENTITIES)), "")


def fetching(text: str, shapes: Shapes) -> str:
    """Return the calls that get all there is of what a program speaks of, a line each; of all where it names none."""
    every = [shape for shape in shapes.values() if _reads_all(shape)]
    name_of = [shape for shape in every if _noun(shape) in text]
    calls = [(_noun(shape), shape.tool) for shape in (name_of or every)[:_MOST_LOOPS]]
    return "\n".join(f"{name if _is_free(name) else 'data'} = {tool}()" for name, tool in calls)


def _is_free(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name)


def beginning(call: ast.Call, tool: Shape, shapes: Shapes, known: Mapping[str, str]) -> str:
    """Return the loops that get what a failed call was given as a literal, and the call in them; "" where none can.

    `known` is what to write for values that are there, by the names of parameters.
    """
    if not tool.read_only:
        return ""
    given = dict(zip((item.name for item in tool.positional), call.args, strict=False))
    given |= {str(item.arg): item.value for item in call.keywords}
    for name, shape, own in shapes.sources(tool):
        if name not in given or not _is_made_up(given[name], known) or not _reads_list(shape):
            continue
        literals = {key: ast.unparse(value) for key, value in given.items() if isinstance(value, ast.Constant)}
        loops = _loops(shape, shapes, {**literals, **known})
        row = _row_of(shape)
        values = {key: _argument_text(value, known) for key, value in given.items()} | {name: item_text(row, own)}
        if not all(values.values()):
            continue
        by_name = {str(item.arg) for item in call.keywords}
        arguments = (f"{key}={text}" if key in by_name else text for key, text in values.items())
        if loops:
            lines = [*loops, f"result = {tool.tool}({', '.join(arguments)})"]
            return "\n".join("    " * depth + line for depth, line in enumerate(lines))
    return ""


def _argument_text(value: ast.expr, known: Mapping[str, str]) -> str:
    """Return an argument as another program can write it; "" where it is not known what it is."""
    if isinstance(value, ast.Name):
        return known.get(value.id, "")
    if isinstance(value, ast.Constant):
        return ast.unparse(value)
    return ""


def _is_made_up(value: ast.expr, known: Mapping[str, str]) -> bool:
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id not in known)


def _record(kind: Type) -> Type:
    if kind.kind == "list" and kind.item is not None:
        return kind.item
    return kind


def name_of(node: ast.expr) -> str:
    """Return what a value is called: the name it has, or the key it is read by."""
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant):
            return str(node.slice.value)
        return ""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _one_needed(tool: Shape) -> Parameter | None:
    """Return the one argument that a tool needs."""
    needed = [item for item in tool.positional if item.is_required]
    return needed[0] if len(needed) == 1 else None


def _reads_list(tool: Shape) -> bool:
    return tool.read_only and tool.returns.kind == "list"


def _reads_one(tool: Shape) -> bool:
    return tool.read_only and tool.returns.kind == "record"


def _row_of(shape: Shape) -> str:
    name = singular(shape.tool.rpartition("_")[2])
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    return "item"


def _loops(shape: Shape, shapes: Shapes, known: Mapping[str, str]) -> list[str]:
    """Return the heads of the loops that end in one over what a tool returns; none where it takes too much for that."""
    loops: list[str] = []
    while len(loops) < _MOST_LOOPS:
        needed = [item.name for item in shape.positional if item.is_required]
        if all(name in known for name in needed):
            return [f"for {_row_of(shape)} in {shape.tool}({', '.join(known[name] for name in needed)}):", *loops]
        found = [item for item in shapes.sources(shape) if _reads_list(item[1])]
        if len(needed) != 1 or not found:
            break
        _, source, own = found[0]
        loops.insert(0, f"for {_row_of(shape)} in {shape.tool}({item_text(_row_of(source), own)}):")
        shape = source
    return []
