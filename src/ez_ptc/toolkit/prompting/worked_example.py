"""The worked example in the prompt: a program with the given tools, for a model to copy its form."""

from __future__ import annotations

import builtins
import json
import keyword
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.schema.annotations.docstrings import result_names
from ez_ptc.toolkit.prompting.read_only import demonstrable
from ez_ptc.toolkit.prompting.sample_values import is_plain, mapping, resolve, sample_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ez_ptc.tools.tool import Tool


__all__ = ["docstring_schema", "example_program"]

_TYPES: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}

_Schema = Mapping[str, object]

# A parameter and a key with one of these endings are related if they have the same name; two called `name` may not be.
_REFERENCES: Final = ("_id", "_code", "_key", "_number")
_PLAIN_LISTS: Final = (" -> list[str]", " -> list[int]")
_MAX_NAMES: Final = 12
_TAKEN: Final = frozenset({*dir(builtins), *keyword.kwlist})


@dataclass(frozen=True, slots=True)
class _Shape:
    """A tool that returns a record or a list of records, with the schemas of their keys.

    `argument` is the name of its only required argument, or "".
    """

    tool: Tool[..., Any]
    argument: str
    is_list: bool
    keys: _Schema
    root: _Schema

    @property
    def noun(self) -> str:
        """The name of the result: `weather` for `get_weather`."""
        return self.tool.name.partition("_")[2]

    def call(self, value: str) -> str:
        """Return the call with an expression as the only required argument."""
        spelling = self.tool.spellings.get(self.argument, self.argument)
        by_name = "" if self.argument in self.tool.positional_names else f"{spelling}="
        return f"{self.tool.name}({by_name}{value})"

    def nested(self) -> Iterator[tuple[str, _Schema]]:
        """Yield the keys with lists of records, and the schemas of these records."""
        for key, schema in self.keys.items():
            item_schema = resolve(mapping(schema), self.root)
            inside = mapping(resolve(mapping(item_schema.get("items")), self.root).get("properties"))
            if inside:
                yield key, inside

    def reference(self, noun: str, keys: _Schema) -> str | None:
        """Return the key of records called `noun` that identifies them as its argument, or None.

        It has the argument's name, with or without the noun: the `code` of courses is a `course_code`.
        """
        key = self.argument.removeprefix(f"{_singular(noun.rpartition('_')[2])}_")
        if key not in keys or (key == self.argument and not key.endswith(_REFERENCES)):
            if not self.argument.endswith(_REFERENCES):
                return None
            key = self.argument
        if key not in keys:
            return None
        parameters = self.tool.definition.object_schema
        argument = mapping(mapping(parameters.get("properties")).get(self.argument))
        expected = resolve(argument, parameters).get("type")
        actual = mapping(keys[key]).get("type")
        # The types must be the same, as far as both are known.
        if None in (expected, actual) or expected == actual or (expected, actual) == ("number", "integer"):
            return key
        return None

    def telling(self, variable: str, *, which: bool = False) -> str:
        """Return the expression for a record's most telling key, or the one at `which`."""
        names = (key for key in ("name", "title") if key in self.keys)
        plain = (key for key in self.keys if which or not key.endswith(_REFERENCES))
        return _item(variable, next(names, next(plain, next(iter(self.keys)))))


def example_program(tools: Sequence[Tool[..., Any]], *, with_shapes: bool, with_docstrings: bool = False) -> str | None:
    """Return a program that calls one or two tools with plausible arguments, or None if none of them reads.

    With shapes, it loops over rows and looks them up with a second tool, as far as the tools allow; printing from the
    innermost loop, instead of collecting a list, led small models to the most working programs. With docstrings, the
    keys that they name count as well. Without shapes, it prints one tool's result.
    """
    tool_names = {tool.name for tool in tools}
    tools = [tool for tool in demonstrable(tools) if _can_be_written(tool)]
    if not tools:
        return None
    if not with_shapes:
        return f"print({_call(tools[0])})"
    shapes = [*_shapes(tools, with_docstrings=with_docstrings)]
    # A list that needs no id can begin a program.
    lists = sorted((shape for shape in shapes if shape.is_list), key=lambda shape: shape.argument.endswith(_REFERENCES))
    for rows in lists:
        joins = [join for second in shapes for join in _joins(rows, second, tool_names)]
        if joins:
            return max(joins, key=lambda join: join.count("for "))
    for names in tools:
        for shape in shapes:
            if program := _loop_over_names(names, shape, tool_names):
                return program
    program = _example_of_shapes(lists, shapes, tool_names)
    if program is None:
        name = _free(tools[0].name.partition("_")[2], tool_names)
        program = f"{name} = {_call(tools[0])}\nprint({name})"
    return program


def _example_of_shapes(lists: Sequence[_Shape], shapes: Sequence[_Shape], tool_names: set[str]) -> str | None:
    """Return a program over the first list, two records or one; None without any."""
    if lists:
        rows = _free(lists[0].noun, tool_names)
        row = _free(_singular(lists[0].noun), tool_names | {rows})
        return _nest_loops(
            f"{rows} = {_call(lists[0].tool)}", f"for {row} in {rows}:", f"print({lists[0].telling(row)})"
        )
    chains = [chain for first in shapes for second in shapes for chain in _chains(first, second, tool_names)]
    if chains or not shapes:
        return next(iter(chains), None)
    name = _free(shapes[0].noun, tool_names)
    return f"{name} = {_call(shapes[0].tool)}\nprint({shapes[0].telling(name)})"


def _can_be_written(tool: Tool[..., Any]) -> bool:
    """Return whether Python can write the tool's name, and those of its few required arguments."""
    required: list[str] = tool.definition.object_schema.get("required", ())
    names = [tool.name, *(tool.spellings.get(name, name) for name in required)]
    return len(names) <= _MAX_NAMES and all(map(is_plain, names))


def _joins(rows: _Shape, other: _Shape, taken: set[str]) -> Iterator[str]:
    """Yield programs that use the other tool to look up references in the rows, or in lists within them."""
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
        variable = _free(other.noun, taken | {many, row, inner})
        lines.append(f"{variable} = {other.call(_item(inner, reference))}")
        last = variable
        if other.is_list:
            last = _free(_singular(other.noun), taken | {many, row, inner, variable})
            lines.append(f"for {last} in {variable}:")
        yield _nest_loops(*lines, f"print({rows.telling(row, which=True)}, {other.telling(last)})")


def _loop_over_names(names: Tool[..., Any], shape: _Shape, taken: set[str]) -> str | None:
    """Return a program that looks up each of the names a tool lists, such as `channels` for `channel`; None for others.

    Its result is a list of plain values, which only the signature describes.
    """
    noun = names.name.partition("_")[2]
    is_list = names.signature.endswith(_PLAIN_LISTS) and not names.definition.object_schema.get("required")
    if not is_list or not shape.argument or _singular(noun) != shape.argument:
        return None
    many = _free(noun, taken)
    one = _free(shape.argument, taken | {many})
    variable = _free(shape.noun, taken | {many, one})
    lines = [f"{many} = {_call(names)}", f"for {one} in {many}:", f"{variable} = {shape.call(one)}"]
    last = variable
    if shape.is_list:
        last = _free(_singular(shape.noun), taken | {many, one, variable})
        lines.append(f"for {last} in {variable}:")
    return _nest_loops(*lines, f"print({one}, {shape.telling(last)})")


def _chains(first: _Shape, second: _Shape, taken: set[str]) -> Iterator[str]:
    """Yield a program that passes what the first tool is for, the key in its name, to the other tool."""
    key = second.argument
    if not key or first.is_list or second.is_list or key not in first.keys or not first.noun.startswith(key):
        return
    name = _free(first.noun, taken)
    other = _free(second.noun, taken | {name})
    yield f"{name} = {_call(first.tool)}\n{other} = {second.call(_item(name, key))}\nprint({second.telling(other)})"


def _nest_loops(*lines: str) -> str:
    """Return a program with nested loops."""
    program, indent = list[str](), ""
    for line in lines:
        program.append(indent + line)
        indent += "    " if line.startswith("for ") else ""
    return "\n".join(program)


def _call(tool: Tool[..., Any]) -> str:
    arguments = sample_arguments(
        tool.definition.object_schema, tool.parameter_names, tool.positional_names, tool.spellings
    )
    return f"{tool.name}({arguments})"


def _item(variable: str, key: str) -> str:
    return f"{variable}[{json.dumps(key, ensure_ascii=False)}]"


def _shapes(tools: Sequence[Tool[..., Any]], *, with_docstrings: bool) -> Iterator[_Shape]:
    for tool in tools:
        root = mapping(tool.return_schema)
        if with_docstrings:
            root = root or mapping(docstring_schema(tool))
        schema = resolve(root, root)
        is_list = schema.get("type") == "array"
        if is_list:
            schema = resolve(mapping(schema.get("items")), root)
        keys = {key: item for key, item in mapping(schema.get("properties")).items() if is_plain(key)}
        if keys:
            required = tool.definition.object_schema.get("required")
            names = [name for name in tool.parameter_names[:1] if required == [name]]
            yield _Shape(tool, "".join(names), is_list, keys, root)


def _singular(noun: str) -> str:
    if noun.endswith("ies"):
        return noun.removesuffix("ies") + "y"
    if noun.endswith("s"):
        return noun.removesuffix("s")
    return "item"


def _free(noun: str, taken: set[str]) -> str:
    """Return a variable's name that hides no tool, builtin or other variable."""
    numbered = (f"value_{number}" for number in range(len(taken) + 1))
    wanted = (noun, "result", "item", "found", *numbered)
    return next(name for name in wanted if name.isidentifier() and name not in taken and name not in _TAKEN)


def docstring_schema(tool: Tool[..., Any]) -> dict[str, Any] | None:
    """Return the JSON Schema of a dict as the tool's docstring lists its keys below "Returns"; None without such keys.

    A tool with a return schema has none. One name of a dict names the whole result, and is no key.
    """
    if tool.return_schema is not None or not tool.signature.rpartition(" -> ")[2].lower().startswith("dict"):
        return None
    names = result_names(tool.docstring)
    if not names or (len(names) == 1 and all(text.lower().startswith("dict") for text in names.values())):
        return None
    properties = {name: {"type": _TYPES[text]} if text in _TYPES else {} for name, text in names.items()}
    return {"type": "object", "properties": properties}
