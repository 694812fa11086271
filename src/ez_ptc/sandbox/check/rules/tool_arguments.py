"""Arguments that a tool does not take."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from typing import TYPE_CHECKING

from ...protocol.both_ends.quoting import MAX_QUOTED, name_list, on_one_line, quoted
from ...protocol.both_ends.types import NUMBERS, Type, members
from ..mistakes import Suggestion, replacing
from ..near_names import close_matches, hint_of_whole_dict, is_slip, near_keys
from ..suggestions import names_effect, sources, suggest_call_loop, suggest_filter, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..following.analysis import Analysis
    from ..signatures import CheckedParameter, Shape, Shapes

__all__ = ["is_spread", "look_at_tool_call", "rename_argument"]

# What one parameter says about another: `page_size` is no other name of `page`.
_ASPECTS = frozenset({"count", "format", "kind", "length", "max", "min", "offset", "size", "sort", "token", "type"})
_MAX_CHOICES = 10
_GROUPS = frozenset({"list", "dict", "record", "set", "tuple", "NoneType", "range"})
_TIMES = frozenset({"date", "datetime", "time", "timedelta"})
# None of them can be passed to a tool.
_BUILT_IN = frozenset(name for name, value in vars(builtins).items() if callable(value) and not name.startswith("_"))
# Texts that may be read as another kind.
_TEXTS = {
    "int": re.compile(r"\d"),
    "float": re.compile(r"\d|inf|nan", re.IGNORECASE),
    "bool": re.compile(r"\A\s*(?:0|1|o(?:ff|n)|[ftny]|false|true|no|yes)\s*\Z", re.IGNORECASE),
    **dict.fromkeys(("list", "dict"), re.compile(r"\A\s*[\[{]")),
    **dict.fromkeys(_TIMES, re.compile(r"\A\s*[-+P\d]")),
}
# The kinds that an argument of a kind never takes. Text may be a number, a date, or JSON.
_REFUSED = {
    "str": _GROUPS | NUMBERS,
    "int": _GROUPS | {"bool"} | _TIMES,
    "float": _GROUPS | {"bool"} | _TIMES,
    "bool": _GROUPS | _TIMES,
    "list": NUMBERS | {"NoneType", "dict", "record"},
    "dict": NUMBERS | {"NoneType", "list", "set", "tuple"},
    **dict.fromkeys(_TIMES, _GROUPS),
}


def is_spread(node: ast.Call) -> bool:
    """Return whether a call passes on arguments of which it is not known how many they are."""
    return any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        word.arg is None for word in node.keywords
    )


def look_at_tool_call(run: Analysis, node: ast.Call, tool: Shape) -> None:
    """Report the arguments that a tool does not take."""
    if is_spread(node):
        return
    known = {parameter.name: parameter for parameter in tool.positional} | dict(tool.named)
    arguments = {parameter.name: value for parameter, value in zip(tool.positional, node.args, strict=False)}
    arguments |= {str(word.arg): word.value for word in node.keywords}
    problems = _name_problems(node, tool, known, arguments)
    if problems:
        constants = [(name, value.value) for name, value in arguments.items() if isinstance(value, ast.Constant)]
        problems += filter(None, (_constant_problem(value, known[name]) for name, value in constants if name in known))
        text: str | None = None
        if len(problems) == sum(name not in known for name in arguments):
            text = suggest_filter(node, tool, run.shapes)
        error = f"TypeError: {tool.tool}: {'; '.join(problems)}"
        suggestion = replacing(node, text) or rename_argument(node, tool, known, arguments)
        run.report(node, "tool-arguments", error, _about(tool, run.shapes), suggestion=suggestion)
        return
    for name, value in arguments.items():
        if name in known:
            _look_at_argument(run, node, value, known[name], tool)


def _name_problems(
    node: ast.Call, tool: Shape, known: dict[str, CheckedParameter], arguments: dict[str, ast.expr]
) -> list[str]:
    problems: list[str] = []
    most = len(tool.positional)
    if len(node.args) > most and not tool.takes_more:
        problems.append(f"takes {most} argument{'' if most == 1 else 's'} by position, got {len(node.args)}")
    if not tool.takes_any_name:
        free = [name for name in known if name not in arguments]
        for name in arguments:
            if name not in known:
                near = close_matches(name, free, 1)
                problem = f"unknown argument {quoted(name)}"
                if near:
                    problem += f" (did you mean {quoted(near[0])}?)"
                problems.append(problem)
    required = (name for name, parameter in known.items() if parameter.is_required and not parameter.type.is_nullable)
    return [*problems, *(f"missing argument {quoted(name)}" for name in required if name not in arguments)]


def rename_argument(
    node: ast.Call, tool: Shape, known: dict[str, CheckedParameter], arguments: dict[str, ast.expr]
) -> Suggestion | None:
    """Return the other name of the only unknown argument, if there is one candidate and the call is right with it."""
    unknown = [argument for argument in node.keywords if argument.arg not in known]
    if len(unknown) != 1:
        return None
    (argument,) = unknown
    name = str(argument.arg)
    near = near_keys(name, [other for other in known if other not in arguments])
    near = [other for other in near if is_slip(name, other) or _ASPECTS.isdisjoint(words(name) ^ words(other))]
    if len(near) != 1 or not near[0].isidentifier() or keyword.iskeyword(near[0]):
        return None
    renamed = {near[0] if other == name else other: value for other, value in arguments.items()}
    if _name_problems(node, tool, known, renamed):
        return None
    end = argument.col_offset + len(name.encode())
    return Suggestion(argument.lineno, argument.col_offset, argument.lineno, end, near[0], is_only=True)


def _about(tool: Shape, shapes: Shapes) -> str:
    return "; ".join([f"the tool is {tool.signature}", *sources(tool, shapes)])


def _look_at_argument(run: Analysis, node: ast.Call, value: ast.expr, parameter: CheckedParameter, tool: Shape) -> None:
    """Report an argument if every value that it may have is refused."""
    if isinstance(value, ast.Name) and _is_function(run, value.id):
        _report_function(run, node, value, parameter, tool)
        return
    types = run.types_of(value)
    if isinstance(value, ast.Constant):
        problem = _constant_problem(value.value, parameter)
    else:
        problem = _problem(types, parameter)
    if problem is None:
        return
    name, got = parameter.name, types[0]
    hints, begin = [_about(tool, run.shapes)], None
    suggestion: Suggestion | None = None
    if isinstance(value, ast.Constant) and parameter.is_required:
        begin = suggest_call_loop(node, tool, run.shapes, {})
    elif isinstance(value, ast.Constant) and tool.read_only:  # with fewer arguments, another tool would affect more
        filtering = ", and filter the results with if" if tool.returns.kind == "list" else ""
        hints.insert(0, f"leave {name} out where none is meant{filtering}")
    elif got.kind in {"list", "set"} and tool.read_only and not names_effect(node, run.shapes):
        item = f"item[{name!r}]" if name in got.record.keys else "item"
        hints.insert(0, f"write [{_with(node, value, item)} for item in {ast.unparse(value)}]")
    elif got.kind == "record" and name in got.keys and not names_effect(value, run.shapes):
        text = f'{ast.unparse(value)}["{name}"]'
        hints.insert(0, f"pass one key of it: {text}")
        suggestion = replacing(value, text, is_forced=True)
    elif got.kind == "record":
        hints.insert(0, f"pass one key of it: {name_list(got.keys)}")
    elif got.kind == "dict" and not isinstance(value, (ast.Dict, ast.DictComp)):
        hints.insert(0, hint_of_whole_dict(on_one_line(ast.unparse(value), MAX_QUOTED)))
    error = f"TypeError: {tool.tool}: {problem}"
    run.report(node, "tool-arguments", error, "; ".join(hints), suggestion=suggestion, begin=begin)


def _is_function(run: Analysis, name: str) -> bool:
    """Return whether a name, such as `id`, is a built-in function or class without another value in the program."""
    if name not in _BUILT_IN or not run.is_built_in(name) or name in run.shapes.readers:
        return False
    return run.frame.binding(name) is None


def _report_function(run: Analysis, node: ast.Call, value: ast.Name, parameter: CheckedParameter, tool: Shape) -> None:
    """Report a built-in function as an argument: its name stands for a value still missing."""
    wanted = parameter.type.kind or "data"
    error = f"TypeError: {tool.tool}: {parameter.name!r} must be {wanted}, got the built-in function {value.id}"
    hint = f"the program gives {value.id} no value before this line; {_about(tool, run.shapes)}"
    begin = suggest_call_loop(node, tool, run.shapes, run.facts.constants)
    run.report(node, "tool-arguments", error, hint, begin=begin)


def _problem(types: Sequence[Type], parameter: CheckedParameter) -> str | None:
    wanted = members(parameter.type)
    if not parameter.is_required and any(got.kind == "NoneType" for got in types):
        return None  # None leaves out what has a default
    if not all(_is_refused(got, expected) for got in types for expected in wanted):
        return None
    got, expected = types[0], parameter.type.kind or wanted[0].kind
    if got.kind in {"list", "set"}:
        return f"takes one {parameter.name} ({expected}), got a list: call it once per item"
    described = {"record": "a whole record", "dict": "a dict"}.get(got.kind, got.name)
    return f"{parameter.name!r} must be {expected}, got {described}"


def _is_refused(given: Type, wanted: Type) -> bool:
    if wanted.kind == "NoneType" or given.kind == "NoneType":
        return "" not in {given.kind, wanted.kind} and given.kind != wanted.kind
    return given.kind in _REFUSED.get(wanted.kind, ())


def _with(node: ast.Call, value: ast.expr, text: str) -> str:
    """Return a call with one argument replaced."""
    replaced = {value: ast.parse(text, mode="eval").body}
    args = [replaced.get(argument, argument) for argument in node.args]
    keywords = [ast.keyword(word.arg, replaced.get(word.value, word.value)) for word in node.keywords]
    return ast.unparse(ast.Call(node.func, args, keywords))


def _constant_problem(value: object, parameter: CheckedParameter) -> str | None:
    wanted = [member for member in members(parameter.type) if member.kind != "NoneType"]
    if not wanted or not all(member.kind for member in wanted):
        return None
    if value is None:
        if parameter.is_required and not parameter.type.is_nullable:
            return f"{parameter.name!r} must be {wanted[0].kind}, got None"
        return None
    if any(_takes(value, member) for member in wanted):
        return None
    choices = [choice for member in wanted for choice in member.choices]
    if choices and all(member.choices for member in wanted):
        texts = [*map(quoted, choices[:_MAX_CHOICES])]
        more = len(choices) - len(texts)
        expected = f"{' or '.join(texts)}{f' or {more} others' if more else ''}"
        return f"{parameter.name!r} must be {expected}, got {_shown(value)}"
    return f"{parameter.name!r} must be {wanted[0].kind}, got {type(value).__name__} {_shown(value)}"


def _shown(value: object) -> str:
    return quoted(value) if isinstance(value, str) else repr(value)


def _takes(value: object, wanted: Type) -> bool:
    """Return whether a tool may take a constant for an argument of a type."""
    if wanted.choices:
        if value in wanted.choices or isinstance(value, bool):
            return value in wanted.choices
        return str(value).casefold() in {str(choice).casefold() for choice in wanted.choices}
    if isinstance(value, float) and wanted.kind == "int":
        return value.is_integer()
    if not isinstance(value, str):
        return type(value).__name__ not in _REFUSED.get(wanted.kind, ())
    pattern = _TEXTS.get(wanted.kind)
    return pattern is None or pattern.search(value) is not None
