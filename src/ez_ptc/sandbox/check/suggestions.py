"""Suggestions for missing values: another tool, a row of a list, or loops that read it."""

from __future__ import annotations

import ast
import builtins
import keyword
from typing import TYPE_CHECKING

from ..protocol.both_ends.quoting import item_text, name_text, quoted
from .near_names import close_matches
from .signatures import singular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..protocol.both_ends.types import Type
    from .signatures import CheckedParameter, Shape, Shapes

__all__ = [
    "call_expression",
    "identity",
    "names_effect",
    "sources",
    "suggest_call_loop",
    "suggest_fetch_all",
    "suggest_fetches",
    "suggest_filter",
    "suggest_for_missing_key",
    "suggest_list",
    "words",
]

# Verbs of getters, to be removed from names.
_VERBS = frozenset({"all", "fetch", "find", "get", "list", "lookup", "read", "search"})
_IDENTITIES = ("_id", "_code", "_key", "_number")
_SIGNS = {"gte": ">=", "lte": "<=", "gt": ">", "lt": "<", "after": ">", "before": "<", "min": ">=", "max": "<="}
_PLAIN = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.expr_context)
_ROWS = ("item", "each", "found", "one_of_them")
_MAX_LOOPS = 3


def names_effect(node: ast.AST, shapes: Shapes) -> bool:
    """Return whether an expression names a tool not declared read-only, so that no hint may call it."""
    readers = shapes.readers
    return any(isinstance(item, ast.Name) and readers.get(item.id) is False for item in ast.walk(node))


def suggest_for_missing_key(key: str, text: str, value_type: Type, shapes: Shapes) -> tuple[list[str], str | None]:
    """Return the tools that return a key missing in a record, as sentences, and an expression for it, or None."""
    sentences: list[str] = []
    replacement: str | None = None
    for shape, record_key in shapes.returning(key):
        if shape.tool == value_type.tool:
            continue
        sentences.append(f"{quoted(record_key)} is in what {shape.call} returns")
        expression = _join_expression(shape, record_key, text, value_type)
        if expression and not replacement:
            replacement = expression
            sentences[-1] += f": {expression}"
        elif (needed := _one_needed(shape)) is not None and needed.name in value_type.keys:
            sentences[-1] += f", where {needed.name} is {item_text(text, needed.name)}"
    if sentences:
        return sentences, replacement
    for shape in shapes.named(lambda name: _noun(name) == key):
        needed = _one_needed(shape)
        if needed is not None and needed.name in value_type.keys and shape.read_only:
            replacement = f"{shape.tool}({item_text(text, needed.name)})"
            return [f"the {name_text(key)} come from {shape.tool}: {replacement}"], replacement
    return [], None


def call_expression(shape: Shape, key: str, text: str, record: Type) -> str | None:
    """Return the call of a reader by a value of a record, with a key of its result; None if there is no such call."""
    needed = _one_needed(shape)
    if needed is None or needed.name not in record.keys or not shape.read_only or shape.returns.kind != "record":
        return None
    return item_text(f"{shape.tool}({item_text(text, needed.name)})", key)


def _join_expression(shape: Shape, key: str, text: str, record: Type) -> str | None:
    """Return an expression for a key of the tool's record that a record in scope refers to."""
    if call := call_expression(shape, key, text, record):
        return call
    shared = identity(shape.returns.record.keys)
    if _reads_all(shape) and shared and shared in record.keys and _is_plain(text):
        row = _free(text)
        rows = f"for {row} in {shape.tool}() if {item_text(row, shared)} == {item_text(text, shared)}"
        return f"next({item_text(row, key)} {rows})"
    return None


def identity(keys: Iterable[str]) -> str | None:
    """Return the key that identifies a record among others of its type, or None."""
    return next((key for key in keys if f"_{key}".endswith(_IDENTITIES)), None)


def _noun(tool: str) -> str:
    return tool.partition("_")[2]


def _is_plain(text: str) -> bool:
    """Return whether an expression may be evaluated for many rows, since it calls nothing."""
    return all(isinstance(node, _PLAIN) for node in ast.walk(ast.parse(text, mode="eval").body))


def _free(*texts: str, first: str = "item") -> str:
    """Return a variable name for a row that does not occur in some expressions."""
    names = {node.id for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    return next(name for name in (first, *_ROWS) if name not in names or name == _ROWS[-1])


def words(name: str) -> set[str]:
    """Return the words of a name, without a getter's verb."""
    return {singular(word) or word for word in name.casefold().split("_")} - _VERBS


def suggest_fetch_all(name: str, bound: Iterable[str], shapes: Shapes) -> str | None:
    """Return the call for all items of a plural name; None without one, or if a similar name is bound."""
    noun = singular(name)
    if not noun or any(match != noun for match in close_matches(name, bound)):
        return None
    wanted = words(name)
    calls = [f"{tool.tool}()" for tool in shapes.named(lambda tool: words(tool) == wanted) if _reads_all(tool)]
    if len(calls) != 1:
        return None
    return calls[0]


def suggest_list(name: str, shapes: Shapes) -> str | None:
    """Return an expression for the list that a tool with this name would return, item by item from another list."""
    wanted = words(name) if singular(name) else set[str]()
    for tool in shapes.named(lambda tool: words(tool) == wanted):
        for parameter, shape, key in shapes.sources(tool):
            if tool.read_only and len(tool.positional) == 1 and _reads_all(shape):
                keys = f"sorted({{{item_text('item', key)} for item in {shape.call}}})"
                return f"[{tool.tool}({parameter}) for {parameter} in {keys}]"
    return None


def _reads_all(tool: Shape) -> bool:
    parameters = (*tool.positional, *tool.named.values())
    return _reads_list(tool) and not any(parameter.is_required for parameter in parameters)


def suggest_filter(call: ast.Call, tool: Shape, shapes: Shapes) -> str | None:
    """Return a comprehension that filters a call's rows by arguments the tool does not have, or None."""
    extra = {str(keyword.arg): keyword.value for keyword in call.keywords if keyword.arg not in tool.named}
    record = tool.returns.item
    if not tool.read_only or tool.returns.kind != "list" or record is None or not record.keys:
        return None
    values = [ast.unparse(value) for value in extra.values()]
    if len(call.args) > len(tool.positional) or not all(map(_is_plain, values)):
        return None
    row = _free(*values, first=_row_of(tool))
    conditions: list[str] = []
    for name, value in zip(extra, values, strict=True):
        key, sign = name, "=="
        if name not in record.keys:
            key, sign = _parse_filter_name(name)
        operand: str | None = item_text(row, key)
        if key not in record.keys:
            operand = suggest_for_missing_key(key, row, record, shapes)[1]
        if not operand:
            return None
        conditions.append(f"{operand} {sign} {value}")
    plain = ast.Call(call.func, call.args, [keyword for keyword in call.keywords if keyword.arg in tool.named])
    return f"[{row} for {row} in {ast.unparse(plain)} if {' and '.join(conditions)}]"


def _parse_filter_name(name: str) -> tuple[str, str]:
    """Return the key and operator of a filter's name: `price__lt`, `min_price`."""
    begin, _, rest = name.partition("_")
    key, _, end = name.rpartition("_")
    if begin in {"min", "max"}:
        return rest, _SIGNS[begin]
    if end in _SIGNS:
        return key.rstrip("_"), _SIGNS[end]
    return name, "=="


def sources(tool: Shape, shapes: Shapes) -> Iterator[str]:
    """Yield the tools that return a value the tool needs; with an expression if that calls only read-only tools."""
    for name, shape, key in shapes.sources(tool):
        sentence = f"{name} is in what {shape.call} returns"
        if shape.returns.kind != "list" or not shape.read_only:
            yield f"{sentence}, as {quoted(key)}"
            continue
        use = item_text("item", key)
        if len(tool.positional) == 1 and tool.read_only:
            use = f"{tool.tool}({use})"
        yield f"{sentence}: for item in {shape.call}: {use}"


def suggest_fetches(text: str, shapes: Shapes) -> str:
    """Return calls for everything the program mentions, one per line; for everything if it mentions nothing."""
    readers = [shape for shape in shapes.values() if _reads_all(shape)]
    named = [shape for shape in readers if _noun(shape.tool) in text]
    lines: list[str] = []
    for shape in (named or readers)[:_MAX_LOOPS]:
        name = _noun(shape.tool)
        if not name.isidentifier() or keyword.iskeyword(name) or hasattr(builtins, name):
            name = "data"
        lines.append(f"{name} = {shape.tool}()")
    return "\n".join(lines)


def suggest_call_loop(call: ast.Call, tool: Shape, shapes: Shapes, known: Mapping[str, str]) -> str | None:
    """Return loops that get the value a failed call got as a literal, with the call inside; None if impossible.

    `known` has expressions for available values, by parameter name.
    """
    if not tool.read_only:
        return None
    arguments = dict(zip((parameter.name for parameter in tool.positional), call.args, strict=False))
    named = {str(keyword.arg): keyword.value for keyword in call.keywords}
    arguments |= named
    for name, shape, record_key in shapes.sources(tool):
        value = arguments.get(name)
        is_made_up = isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id not in known)
        if not is_made_up or not _reads_list(shape):
            continue
        literals = {key: ast.unparse(value) for key, value in arguments.items() if isinstance(value, ast.Constant)}
        loops = _loops(shape, shapes, {**literals, **known})
        texts = {name: item_text(_row_of(shape), record_key)}
        for parameter, value in arguments.items():
            if parameter != name and isinstance(value, ast.Name) and value.id in known:
                texts[parameter] = known[value.id]
            elif parameter != name and parameter in literals:
                texts[parameter] = literals[parameter]
        if loops and len(texts) == len(arguments):
            written = (f"{key}={texts[key]}" if key in named else texts[key] for key in arguments)
            lines = [*loops, f"result = {tool.tool}({', '.join(written)})"]
            return "\n".join("    " * depth + line for depth, line in enumerate(lines))
    return None


def _one_needed(tool: Shape) -> CheckedParameter | None:
    """Return the only required parameter of a tool, or None."""
    return tool.required[0] if len(tool.required) == 1 else None


def _reads_list(tool: Shape) -> bool:
    return tool.read_only and tool.returns.kind == "list"


def _row_of(shape: Shape) -> str:
    name = singular(shape.tool.rpartition("_")[2])
    if name is not None and name.isidentifier() and not keyword.iskeyword(name):
        return name
    return "item"


def _loops(shape: Shape, shapes: Shapes, known: Mapping[str, str]) -> list[str]:
    """Return the heads of nested loops, the last one over a tool's result; none if it needs too much."""
    loops: list[str] = []
    while len(loops) < _MAX_LOOPS:
        needed = [parameter.name for parameter in shape.required]
        if all(name in known for name in needed):
            return [f"for {_row_of(shape)} in {shape.tool}({', '.join(known[name] for name in needed)}):", *loops]
        source = next((source for source in shapes.sources(shape) if _reads_list(source[1])), None)
        if len(needed) != 1 or source is None:
            break
        _, source_shape, key = source
        loops.insert(0, f"for {_row_of(shape)} in {shape.tool}({item_text(_row_of(source_shape), key)}):")
        shape = source_shape
    return []
