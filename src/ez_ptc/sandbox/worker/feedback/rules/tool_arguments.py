"""Arguments that a tool does not take."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from ...quoting import name_list, quoted
from ..mistakes import replacing
from ..near_names import close_matches
from ..suggestions import names_effect, sources, suggest_call_loop, suggest_filter
from ..types import NUMBERS, UNKNOWN, Type, members

if TYPE_CHECKING:
    from ..following.analysis import Analysis
    from ..mistakes import Suggestion
    from ..signatures import Parameter, Shape, Shapes

__all__ = ["is_spread", "look_at_tool_call"]

_MAX_CHOICES = 10
_GROUPS = frozenset({"list", "dict", "record", "set", "tuple", "NoneType", "range"})
_TIMES = frozenset({"date", "datetime", "time", "timedelta"})
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
        keyword.arg is None for keyword in node.keywords
    )


def look_at_tool_call(run: Analysis, node: ast.Call, tool: Shape) -> None:
    """Report the arguments that a tool does not take."""
    if is_spread(node):
        return
    known = {parameter.name: parameter for parameter in tool.positional} | dict(tool.named)
    arguments = {parameter.name: value for parameter, value in zip(tool.positional, node.args, strict=False)}
    arguments |= {str(keyword.arg): keyword.value for keyword in node.keywords}
    problems = _name_problems(node, tool, known, arguments)
    if problems:
        constants = [(name, value.value) for name, value in arguments.items() if isinstance(value, ast.Constant)]
        problems += filter(None, (_constant_problem(value, known[name]) for name, value in constants if name in known))
        text: str | None = None
        if len(problems) == sum(name not in known for name in arguments):
            text = suggest_filter(node, tool, run.shapes)
        error = f"TypeError: {tool.tool}: {'; '.join(problems)}"
        run.report(node, "tool-arguments", error, _about(tool, run.shapes), suggestion=replacing(node, text))
        return
    for name, value in arguments.items():
        if name in known and isinstance(value, ast.Constant):
            _look_at_constant(run, node, value.value, known[name], tool)
        elif name in known:
            _look_at_value(run, node, value, known[name], tool)


def _name_problems(
    node: ast.Call, tool: Shape, known: dict[str, Parameter], arguments: dict[str, ast.expr]
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


def _about(tool: Shape, shapes: Shapes) -> str:
    return "; ".join([f"the tool is {tool.signature}", *sources(tool, shapes)])


def _look_at_constant(run: Analysis, node: ast.Call, value: object, parameter: Parameter, tool: Shape) -> None:
    problem = _constant_problem(value, parameter)
    if problem is None:
        return
    hint, begin = _about(tool, run.shapes), None
    if parameter.is_required:
        begin = suggest_call_loop(node, tool, run.shapes, {})
    elif tool.read_only:  # with fewer arguments, another tool would affect more
        hint = f"leave {parameter.name} out where none is meant, and filter the results with if; {hint}"
    run.report(node, "tool-arguments", f"TypeError: {tool.tool}: {problem}", hint, begin=begin)


def _look_at_value(run: Analysis, node: ast.Call, value: ast.expr, parameter: Parameter, tool: Shape) -> None:
    """Report an argument if every value that it may have is refused."""
    name, shapes = parameter.name, run.shapes
    types = members(run.types.get(value, UNKNOWN))
    wanted = members(parameter.type)
    if not parameter.is_required and any(given.kind == "NoneType" for given in types):
        return  # None leaves out what has a default
    if not all(_is_refused(given, kind) for given in types for kind in wanted):
        return
    given, kind = types[0], parameter.type.kind or wanted[0].kind
    hints = [_about(tool, shapes)]
    suggestion: Suggestion | None = None
    problem = f"{name!r} must be {kind}, got {given.name}"
    if given.kind in {"list", "set"}:
        has_key = given.item is not None and name in given.item.keys
        item = f"item[{name!r}]" if has_key else "item"
        problem = f"takes one {name} ({kind}), got a list: call it once per item"
        if tool.read_only and not names_effect(node, shapes):
            hints.insert(0, f"write [{_with(node, value, item)} for item in {ast.unparse(value)}]")
    elif given.kind == "record":
        problem = f"{name!r} must be {kind}, got a whole record"
        hint, suggestion = _suggest_key(name, value, given, shapes)
        hints.insert(0, hint)
    elif given.kind == "dict":
        problem = f"{name!r} must be {kind}, got a dict"
    run.report(node, "tool-arguments", f"TypeError: {tool.tool}: {problem}", "; ".join(hints), suggestion=suggestion)


def _is_refused(given: Type, wanted: Type) -> bool:
    if wanted.kind == "NoneType" or given.kind == "NoneType":
        return "" not in {given.kind, wanted.kind} and given.kind != wanted.kind
    return given.kind in _REFUSED.get(wanted.kind, ())


def _suggest_key(name: str, value: ast.expr, record: Type, shapes: Shapes) -> tuple[str, Suggestion | None]:
    """Return the hint to pass one key of a record, with a suggestion if the key has the parameter's name."""
    if name not in record.keys or names_effect(value, shapes):
        return f"pass one key of it: {name_list(record.keys)}", None
    text = f'{ast.unparse(value)}["{name}"]'
    return f"pass one key of it: {text}", replacing(value, text, is_forced=True)


def _with(node: ast.Call, value: ast.expr, text: str) -> str:
    """Return a call with one argument replaced."""
    replaced = {value: ast.parse(text, mode="eval").body}
    args = [replaced.get(argument, argument) for argument in node.args]
    keywords = [ast.keyword(keyword.arg, replaced.get(keyword.value, keyword.value)) for keyword in node.keywords]
    return ast.unparse(ast.Call(node.func, args, keywords))


def _constant_problem(value: object, parameter: Parameter) -> str | None:
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
