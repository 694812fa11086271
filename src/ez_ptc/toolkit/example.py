"""A program over the tools at hand, for a model to copy the form of."""

import builtins
import keyword
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ez_ptc.toolkit.samples import mapping, resolved, sample_arguments

if TYPE_CHECKING:
    from ez_ptc.tools.tool import Tool

__all__ = ["example_program"]

_Schema = Mapping[str, object]

# A parameter so called and a key so called mean the same thing; two that are called `name` need not.
_REFERENCES: Final = ("_id", "_code", "_key", "_number")


@dataclass(frozen=True, slots=True)
class _Shape:
    """A tool that returns records, or a list of them, and the schema of each of their keys."""

    tool: "Tool"
    variable: str
    is_list: bool
    keys: _Schema
    root: _Schema

    @property
    def row(self) -> str:
        """What a person would call one of the list."""
        return _singular(self.variable)

    @property
    def argument(self) -> str:
        """The one argument that gets one record, or ""."""
        required = self.tool.parameters.get("required")
        names = self.tool.parameter_names[:1]
        return names[0] if not self.is_list and required == [*names] else ""

    def nested(self) -> Iterator[tuple[str, _Schema]]:
        """Yield the keys that hold lists of records, and the keys of those."""
        for key, schema in self.keys.items():
            part = resolved(mapping(schema), self.root)
            inside = mapping(resolved(mapping(part.get("items")), self.root).get("properties"))
            if inside:
                yield key, inside

    def first(self, variable: str) -> str:
        """Return the text that reads the most telling key."""
        telling = (key for key in ("name", "title") if key in self.keys)
        plain = (key for key in self.keys if not key.endswith(_REFERENCES))
        return f'{variable}["{next(telling, next(plain, next(iter(self.keys))))}"]'


def example_program(tools: "Sequence[Tool]", *, with_shapes: bool) -> str:
    """Return a program that calls a tool or two with plausible arguments, or "" without tools.

    With shapes it shows, as far as the tools allow, how rows are looped over, looked up with another tool, collected
    and printed once. Without, it prints what one tool returns.
    """
    if not tools:
        return ""
    shapes = [*_shapes(tools)] if with_shapes else []
    lists = [shape for shape in shapes if shape.is_list]
    lookups = [lookup for rows in lists for shape in shapes for lookup in _lookups(rows, shape)]
    if lookups:
        return min(lookups, key=_flatness)
    if lists:
        return _loop(lists[0], lists[0].first(lists[0].row))
    tool = shapes[0].tool if shapes else tools[0]
    name = _variable(tool, tools)
    if not with_shapes:
        return f"print({_call(tool)})"
    return f"{name} = {_call(tool)}\nprint({shapes[0].first(name) if shapes else name})"


def _loop(rows: _Shape, shown: str, *inner: str) -> str:
    """Return a program that collects something from each row; inner lines may open further loops."""
    lines = [f"for {rows.row} in {rows.variable}:"]
    for line in (*inner, f"answer.append({shown})"):
        depth = 1 + sum(opened.rstrip().endswith(":") for opened in lines[1:])
        lines.append("    " * depth + line)
    return "\n".join([f"{rows.variable} = {_call(rows.tool)}", "answer = []", *lines, "print(answer)"])


def _lookups(rows: _Shape, looked_up: _Shape) -> Iterator[str]:
    """Yield the programs that look up what the rows refer to: in a list inside of each row, or in the row itself."""
    name = looked_up.argument
    if not name.endswith(_REFERENCES):
        return
    found = looked_up.variable if looked_up.variable != rows.row else "found"
    shown = f"({rows.first(rows.row)}, {looked_up.first(found)})"
    for key, inside in rows.nested():
        if name in inside:
            item = _singular(key)
            loop = f'for {item} in {rows.row}["{key}"]:'
            yield _loop(rows, shown, loop, f'{found} = {looked_up.tool.name}({item}["{name}"])')
    if name in rows.keys:
        yield _loop(rows, shown, f'{found} = {looked_up.tool.name}({rows.row}["{name}"])')


def _flatness(program: str) -> int:
    return -program.count("for ")


def _call(tool: "Tool") -> str:
    return f"{tool.name}({sample_arguments(tool.parameters, tool.parameter_names)})"


def _shapes(tools: "Sequence[Tool]") -> Iterator[_Shape]:
    for tool in tools:
        root = mapping(tool.return_schema)
        schema = resolved(root, root)
        is_list = schema.get("type") == "array"
        if is_list:
            schema = resolved(mapping(schema.get("items")), root)
        keys = mapping(schema.get("properties"))
        if keys:
            yield _Shape(tool, _variable(tool, tools), is_list, keys, root)


def _singular(name: str) -> str:
    row = name.removesuffix("s")
    return row if row != name and row not in _TAKEN else "item"


_TAKEN: Final = frozenset({"answer", "item", "result", *dir(builtins), *keyword.kwlist})


def _variable(tool: "Tool", tools: "Sequence[Tool]") -> str:
    """Return what a person would call a tool's result: `weather` for `get_weather`."""
    name = tool.name.partition("_")[2]
    taken = _TAKEN | {other.name for other in tools}
    return name if name.isidentifier() and name not in taken else "result"
