"""A program over the tools at hand, for a model to copy the form of."""

from __future__ import annotations

import builtins
import json
import keyword
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.toolkit.read_only import demonstrable
from ez_ptc.toolkit.sample_values import is_plain, mapping, resolve, sample_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ez_ptc.tools.tool import Tool

__all__ = ["example_program"]

_Schema = Mapping[str, object]

# A parameter and a key that are both called so mean the same thing; two that are called `name` need not.
_REFERENCES: Final = ("_id", "_code", "_key", "_number")
_MAX_NAMES: Final = 12
_TAKEN: Final = frozenset({*dir(builtins), *keyword.kwlist})


@dataclass(frozen=True, slots=True)
class _Shape:
    """A tool that returns a record or a list of them, and the schema of each of their keys.

    `argument` is the one that it needs, or "".
    """

    tool: Tool[..., Any]
    argument: str
    is_list: bool
    keys: _Schema
    root: _Schema

    @property
    def noun(self) -> str:
        """What a person would call the result: `weather` for `get_weather`."""
        return self.tool.name.partition("_")[2]

    def nested(self) -> Iterator[tuple[str, _Schema]]:
        """Yield the keys that hold lists of records, and the keys of those."""
        for key, schema in self.keys.items():
            part = resolve(mapping(schema), self.root)
            inside = mapping(resolve(mapping(part.get("items")), self.root).get("properties"))
            if inside:
                yield key, inside

    def reference(self, noun: str, keys: _Schema) -> str:
        """Return the key by which it is looked up, of records that are called `noun`, or "".

        It is called as the argument is, or so without the noun: the `code` of courses is a `course_code`.
        """
        own = self.argument.removeprefix(f"{_singular(noun.rpartition('_')[2])}_")
        if own not in keys or (own == self.argument and not own.endswith(_REFERENCES)):
            own = self.argument if self.argument.endswith(_REFERENCES) else ""
        if own in keys and self._takes(mapping(keys[own])):
            return own
        return ""

    def _takes(self, key: _Schema) -> bool:
        """Whether the argument is of the type of a key, as far as they say."""
        argument = mapping(mapping(self.tool.parameters.get("properties")).get(self.argument))
        wanted, given = resolve(argument, self.tool.parameters).get("type"), key.get("type")
        return None in (wanted, given) or wanted == given or (wanted, given) == ("number", "integer")

    def telling(self, variable: str, *, which: bool = False) -> str:
        """Return the text that reads the key which tells most of a record, or `which` of several it is."""
        names = (key for key in ("name", "title") if key in self.keys)
        plain = (key for key in self.keys if which or not key.endswith(_REFERENCES))
        return _item(variable, next(names, next(plain, next(iter(self.keys)))))


def example_program(tools: Sequence[Tool[..., Any]], *, with_shapes: bool) -> str:
    """Return a program that calls a tool or two with plausible arguments, or "" where none can be shown to read.

    With shapes it shows, as far as the tools allow, how rows are looped over and looked up with another tool; printing
    from the innermost loop, and no collected list, is what small models wrote the most working programs from. Without
    shapes it prints what one tool returns.
    """
    taken = {tool.name for tool in tools}
    tools = [tool for tool in demonstrable(tools) if _can_be_written(tool)]
    if not tools:
        return ""
    if not with_shapes:
        return f"print({_call(tools[0])})"
    shapes = [*_shapes(tools)]
    # A list that needs no id can start from what a question says.
    lists = sorted((shape for shape in shapes if shape.is_list), key=lambda shape: shape.argument.endswith(_REFERENCES))
    for rows in lists:
        joins = [join for other in shapes for join in _joins(rows, other, taken)]
        if joins:
            return max(joins, key=lambda join: join.count("for "))
    if lists:
        return _loop(lists[0], taken)
    if shapes:
        name = _free(shapes[0].noun, taken)
        return f"{name} = {_call(shapes[0].tool)}\nprint({shapes[0].telling(name)})"
    name = _free(tools[0].name.partition("_")[2], taken)
    return f"{name} = {_call(tools[0])}\nprint({name})"


def _can_be_written(tool: Tool[..., Any]) -> bool:
    """Whether a program can write the tool's name, and those of the few arguments that it needs."""
    required: list[str] = tool.parameters.get("required", ())
    names = [tool.name, *(tool.spellings.get(name, name) for name in required)]
    return len(names) <= _MAX_NAMES and all(map(is_plain, names))


def _loop(rows: _Shape, taken: set[str]) -> str:
    """Return a program that goes through the rows."""
    many = _free(rows.noun, taken)
    row = _free(_singular(rows.noun), taken | {many})
    return _nest_loops(f"{many} = {_call(rows.tool)}", f"for {row} in {many}:", f"print({rows.telling(row)})")


def _joins(rows: _Shape, other: _Shape, taken: set[str]) -> Iterator[str]:
    """Yield the programs that look up with the other tool what the rows, or lists in them, refer to."""
    if other.tool is rows.tool or not other.argument:
        return
    for key, keys in ((None, rows.keys), *rows.nested()):
        reference = other.reference(key or rows.noun, keys)
        if not reference:
            continue
        many = _free(rows.noun, taken)
        row = _free(_singular(rows.noun), taken | {many})
        lines, inner = [f"{many} = {_call(rows.tool)}", f"for {row} in {many}:"], row
        if key is not None:
            inner = _free(_singular(key), taken | {many, row})
            lines.append(f"for {inner} in {_item(row, key)}:")
        found = _free(other.noun, taken | {many, row, inner})
        spelling = other.tool.spellings.get(other.argument, other.argument)
        by_name = "" if other.argument in other.tool.positional_names else f"{spelling}="
        lines.append(f"{found} = {other.tool.name}({by_name}{_item(inner, reference)})")
        last = found
        if other.is_list:
            last = _free(_singular(other.noun), taken | {many, row, inner, found})
            lines.append(f"for {last} in {found}:")
        yield _nest_loops(*lines, f"print({rows.telling(row, which=True)}, {other.telling(last)})")


def _nest_loops(*lines: str) -> str:
    """Return a program whose loops are in one another."""
    program, indent = list[str](), ""
    for line in lines:
        program.append(indent + line)
        indent += "    " if line.startswith("for ") else ""
    return "\n".join(program)


def _call(tool: Tool[..., Any]) -> str:
    arguments = sample_arguments(tool.parameters, tool.parameter_names, tool.positional_names, tool.spellings)
    return f"{tool.name}({arguments})"


def _item(variable: str, key: str) -> str:
    return f"{variable}[{json.dumps(key, ensure_ascii=False)}]"


def _shapes(tools: Sequence[Tool[..., Any]]) -> Iterator[_Shape]:
    for tool in tools:
        root = mapping(tool.return_schema)
        schema = resolve(root, root)
        is_list = schema.get("type") == "array"
        if is_list:
            schema = resolve(mapping(schema.get("items")), root)
        keys = {key: item for key, item in mapping(schema.get("properties")).items() if is_plain(key)}
        if keys:
            required = tool.parameters.get("required")
            names = [name for name in tool.parameter_names[:1] if required == [name]]
            yield _Shape(tool, "".join(names), is_list, keys, root)


def _singular(noun: str) -> str:
    if noun.endswith("ies"):
        return noun.removesuffix("ies") + "y"
    if noun.endswith("s"):
        return noun.removesuffix("s")
    return "item"


def _free(noun: str, taken: set[str]) -> str:
    """Return a name for a variable that hides no tool, no builtin and no other variable."""
    numbered = (f"value_{number}" for number in range(len(taken) + 1))
    wanted = (noun, "result", "item", "found", *numbered)
    return next(name for name in wanted if name.isidentifier() and name not in taken and name not in _TAKEN)
