"""Mistakes in tool calls, with suggestions for missing values, and corrected programs."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..quoting import item_text, name_list, name_text, quoted
from .signatures import SCALARS
from .suggestions import beginning, name_of, names_effect, suggest_filter, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .inference import Scope
    from .signatures import Parameter, Shape, Shapes, Type

__all__ = ["Fix", "Mistake", "apply_fixes", "call_mistakes", "fix", "likely_name", "sources", "which_names"]

_NUMBERS = frozenset({"int", "float"})
_MAX_CHOICES = 10
_TEXT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_WORDED = re.compile("inf|nan", re.IGNORECASE)
# The minimum similarity (of 1) at which an undefined name counts as a misspelling of another.
_SAME = 0.85
Fix = tuple[int, int, int, int, str]


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake: its line, the error as CPython would report it, a hint, and a fix.

    A fix is the start line and column, the end line and column (in bytes, from 0), and the replacement. `begin` is the
    beginning of a program that gets the missing value.
    """

    line: int
    error: str
    hint: str
    fix: Fix | None = None
    begin: str | None = None


def fix(node: ast.expr | ast.stmt, text: str | None) -> Fix | None:
    """Return the fix that replaces an expression by `text`; None without a text."""
    if not text:
        return None
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0, text


def apply_fixes(text: str, mistakes: Sequence[Mistake]) -> str | None:
    """Return a program with all its mistakes fixed; None if one has no fix."""
    quotes = ['"', "'"]
    if text.count("['") > text.count('["'):
        # Small models copy best what looks like their own code.
        quotes.reverse()
    for quote in quotes:
        corrected = _replace_spans(text, mistakes, quote)
        if not corrected:
            continue
        try:
            compile(corrected, "<proposed>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            # Inside an f-string, the other quotes may be necessary. The parser raises the last two for too much
            # nesting.
            continue
        return corrected
    return None


def _replace_spans(text: str, mistakes: Sequence[Mistake], quote: str) -> str | None:
    lines = text.encode().splitlines(keepends=True)
    following: tuple[int, int] | None = None
    for mistake in sorted(mistakes, key=lambda mistake: mistake.fix or (), reverse=True):
        if mistake.fix is None:
            return None
        line, column, last_line, last_column, replacement = mistake.fix
        if line != last_line or (following is not None and (line, last_column) > following):
            return None
        replacement = _TEXT.sub(lambda match: _requote(match, quote), replacement)
        lines[line - 1] = lines[line - 1][:column] + replacement.encode() + lines[line - 1][last_column:]
        following = line, column
    return b"".join(lines).decode()


def _requote(match: re.Match[str], quote: str) -> str:
    """Return a text in other quotes if it is a key with an identifier's form, and unchanged otherwise."""
    text, around = match[0], match.string[match.start() - 1 : match.end() + 1]
    if text[1:-1].isidentifier() and around == f"[{text}]":
        return f"{quote}{text[1:-1]}{quote}"
    return text


def which_names(name: str, bound: Iterable[str], shapes: Shapes) -> str:
    """Suggest a replacement for an undefined name, and where to get the values it needs."""
    near = difflib.get_close_matches(name, [*shapes, *bound], n=2, cutoff=0.6)
    meaning = words(name)
    likely_names = list(dict.fromkeys([*near, *(tool for tool in shapes if meaning & words(tool))]))[:3]
    tools = [tool for tool in likely_names if tool in shapes]
    sentences = [f"the tools are: {name_list([*tools, *(tool for tool in shapes if tool not in tools)])}"]
    if likely_names:
        texts = (shapes[likely].signature if likely in shapes else name_text(likely) for likely in likely_names)
        sentences.insert(0, f"did you mean {' or '.join(texts)}?")
    sentences += [source for tool in tools for source in sources(shapes[tool], shapes)]
    return "; ".join(sentences)


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


def likely_name(name: str, bound: Iterable[str], shapes: Shapes) -> str | None:
    """Return the only name that an undefined one may be a misspelling of, or None."""
    near = difflib.get_close_matches(name, [*shapes, *bound], n=2, cutoff=_SAME)
    if len(near) != 1:
        return None
    return near[0]


def call_mistakes(node: ast.Call, tool: Shape, scope: Scope, shapes: Shapes) -> Iterator[Mistake]:
    """Yield the mistakes in a call of a tool."""
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return
    if any(keyword.arg is None for keyword in node.keywords):
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
            text = suggest_filter(node, tool, shapes)
        error = f"TypeError: {tool.tool}: {'; '.join(problems)}"
        yield Mistake(node.lineno, error, _about(tool, shapes), fix(node, text))
        return
    for name, value in arguments.items():
        if name in known and known[name].type.kind in SCALARS:
            yield from _misplaced_choices(node, value, known[name], scope, (tool, shapes))
            yield from _value_mistakes(node, value, known[name], scope.of(value), (tool, shapes))


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
                near = difflib.get_close_matches(name, free, n=1, cutoff=0.6)
                problem = f"unknown argument {quoted(name)}"
                if near:
                    problem += f" (did you mean {quoted(near[0])}?)"
                problems.append(problem)
    required = (name for name, parameter in known.items() if parameter.is_required and not parameter.type.nullable)
    return [*problems, *(f"missing argument {quoted(name)}" for name in required if name not in arguments)]


def _about(tool: Shape, shapes: Shapes) -> str:
    return "; ".join([f"the tool is {tool.signature}", *sources(tool, shapes)])


def _value_mistakes(
    node: ast.Call, value: ast.expr, parameter: Parameter, value_type: Type, called: tuple[Shape, Shapes]
) -> Iterator[Mistake]:
    name, wanted = parameter.name, parameter.type.kind
    problem: str | None = None
    hint: str | None = None
    begin: str | None = None
    correction: Fix | None = None
    if isinstance(value, ast.Constant):
        problem = _constant_problem(value.value, parameter)
        begin = beginning(node, *called, {}) if problem and parameter.is_required else None
        # Only for read-only tools: with fewer arguments, others would affect more.
        if not parameter.is_required and called[0].read_only:
            hint = f"leave {name} out where none is meant, and filter the results with if"
    elif value_type.kind in {"list", "set"}:
        has_key = value_type.item is not None and name in value_type.item.keys
        item = f"item[{name!r}]" if has_key else "item"
        problem = f"takes one {name} ({wanted}), got a list: call it once for each"
        if called[0].read_only and not names_effect(node, called[1]):
            hint = f"write [{_with(node, value, item)} for item in {ast.unparse(value)}]"
    elif value_type.kind == "record":
        problem = f"{name!r} must be {wanted}, got a whole record"
        hint, correction = _suggest_key(name, value, value_type, called[1])
    elif value_type.kind == "dict":
        problem = f"{name!r} must be {wanted}, got a dict"
    if problem:
        hint = "; ".join(filter(None, (hint, _about(*called))))
        yield Mistake(node.lineno, f"TypeError: {called[0].tool}: {problem}", hint, correction, begin)


def _suggest_key(name: str, value: ast.expr, record: Type, shapes: Shapes) -> tuple[str, Fix | None]:
    """Return the hint to pass one key of a record, with a fix if the key has the parameter's name."""
    if name not in record.keys or names_effect(value, shapes):
        return f"pass one key of it: {name_list(record.keys)}", None
    text = f'{ast.unparse(value)}["{name}"]'
    return f"pass one key of it: {text}", fix(value, text)


def _misplaced_choices(
    node: ast.Call, value: ast.expr, parameter: Parameter, scope: Scope, called: tuple[Shape, Shapes]
) -> Iterator[Mistake]:
    """Yield a key of a record that was passed for an enum, but has the name of another parameter."""
    tool, name = called[0], name_of(value)
    if not parameter.type.choices or name == parameter.name or not node.args or value is not node.args[-1]:
        return
    passed = {keyword.arg for keyword in node.keywords} | {item.name for item in tool.positional[: len(node.args)]}
    is_key = isinstance(value, (ast.Subscript, ast.Attribute)) and scope.of(value.value).kind == "record"
    if is_key and name in tool.named and name not in passed and scope.of(value).kind and not scope.of(value).choices:
        text = f"{name}={ast.unparse(value)}"
        error = f"TypeError: {tool.tool}: {parameter.name!r} got what is called {name!r}"
        hint = _about(*called)
        if not names_effect(value, called[1]):
            hint = f"write {text}; {hint}"
        yield Mistake(node.lineno, error, hint, fix(value, text))


def _with(node: ast.Call, value: ast.expr, text: str) -> str:
    """Return a call with one argument replaced."""
    replaced = {value: ast.parse(text, mode="eval").body}
    args = [replaced.get(argument, argument) for argument in node.args]
    keywords = [ast.keyword(keyword.arg, replaced.get(keyword.value, keyword.value)) for keyword in node.keywords]
    return ast.unparse(ast.Call(node.func, args, keywords))


def _constant_problem(value: object, parameter: Parameter) -> str | None:
    wanted = parameter.type
    if value is None:
        if parameter.is_required and not wanted.nullable:
            return f"{parameter.name!r} must be {wanted.kind}, got None"
        return None
    if type(value) is not str:
        return None
    if wanted.kind in _NUMBERS and not any(map(str.isdigit, value)) and not _WORDED.search(value):
        return f"{parameter.name!r} must be {wanted.kind}, got str {quoted(value)}"
    if not wanted.choices or value.casefold() in {str(choice).casefold() for choice in wanted.choices}:
        return None
    choices = [*map(quoted, wanted.choices[:_MAX_CHOICES])]
    more = len(wanted.choices) - len(choices)
    return (
        f"{parameter.name!r} must be {' or '.join(choices)}{f' or {more} others' if more else ''}, got {quoted(value)}"
    )
