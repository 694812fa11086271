"""What is wrong with a call of a tool, where what is missing can be had, and the program with that put right."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..quoting import item_text, name_list, name_text, quoted
from .suggestions import beginning, name_of, names_effect, suggest_filter, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .inference import Scope
    from .signatures import Parameter, Shape, Shapes, Type

__all__ = [
    "Fix",
    "Mistake",
    "apply_fixes",
    "call_mistakes",
    "fix",
    "likely_name",
    "sources",
    "which_names",
]

_SCALARS = frozenset({"str", "int", "float", "bool"})
_NUMBERS = frozenset({"int", "float"})
_MAX_CHOICES = 10
_TEXT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_WORDED = re.compile("inf|nan", re.IGNORECASE)
# From this likeness on, of 1, a name that is nowhere is taken for a slip of the one name that is so like it.
_SAME = 0.85
Fix = tuple[int, int, int, int, str]


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake: its line, as CPython would say it, how to do better, and what to write instead of which part.

    A fix is the first line and column, the last line and column (in bytes, from 0), and the text for it; `begin` is
    how a program may begin that gets what is missing.
    """

    line: int
    error: str
    hint: str
    fix: Fix | None = None
    begin: str = ""


def fix(node: ast.expr, text: str) -> Fix:
    """Return the fix that puts `text` in an expression's place."""
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0, text


def apply_fixes(text: str, found: Sequence[Mistake]) -> str:
    """Return a program with all its mistakes put right; "" where one cannot be."""
    # Small models copy best what looks like their own.
    quotes = ("'", '"') if text.count("['") > text.count('["') else ('"', "'")
    for quote in quotes:
        better = _replace_spans(text, found, quote)
        # In a text in braces, as f"{…}", the quotes may have to be others.
        if better and _is_program(better):
            return better
    return ""


def _is_program(text: str) -> bool:
    try:
        compile(text, "<proposed>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The last two are what the parser says of too deep a nesting.
        return False
    return True


def _replace_spans(text: str, found: Sequence[Mistake], quote: str) -> str:
    lines = text.encode().splitlines(keepends=True)
    before: tuple[int, int] | None = None
    for item in sorted(found, key=lambda each: each.fix or (), reverse=True):
        if item.fix is None:
            return ""
        line, column, last_line, last_column, new = item.fix
        if line != last_line or (before is not None and (line, last_column) > before):
            return ""
        whole = lines[line - 1]
        new = _TEXT.sub(lambda found: _requote(found, quote), new)
        lines[line - 1] = whole[:column] + new.encode() + whole[last_column:]
        before = line, column
    return b"".join(lines).decode()


def _requote(found: re.Match[str], quote: str) -> str:
    """Return a text in other quotes where it is a key that is a name, and as it is anywhere else."""
    text, around = found[0], found.string[found.start() - 1 : found.end() + 1]
    is_key = text[1:-1].isidentifier() and around == f"[{text}]"
    return f"{quote}{text[1:-1]}{quote}" if is_key else text


def which_names(name: str, bound: Iterable[str], shapes: Shapes) -> str:
    """Say what may have been meant by a name that is nowhere, and where to get what that takes."""
    near = difflib.get_close_matches(name, [*shapes, *bound], n=2, cutoff=0.6)
    meaning = words(name)
    likely_name = list(dict.fromkeys([*near, *(tool for tool in shapes if meaning & words(tool))]))[:3]
    tools = [item for item in likely_name if item in shapes]
    every = [*tools, *(tool for tool in shapes if tool not in tools)]
    parts = [f"the tools are: {name_list(every)}"]
    if likely_name:
        texts = (shapes[item].signature if item in shapes else name_text(item) for item in likely_name)
        parts.insert(0, f"did you mean {' or '.join(texts)}?")
    parts += [source for item in tools for source in sources(shapes[item], shapes)]
    return "; ".join(parts)


def sources(tool: Shape, shapes: Shapes) -> Iterator[str]:
    """Say which tools return what a tool needs; and what to write to have it, where that calls nothing but readers."""
    for name, shape, own in shapes.sources(tool):
        item = item_text("item", own)
        use = f"{tool.tool}({item})" if len(tool.positional) == 1 and tool.read_only else item
        is_loop = shape.returns.kind == "list" and shape.read_only
        loop = f": for item in {shape.call}: {use}" if is_loop else f", as {quoted(own)}"
        yield f"{name} is in what {shape.call} returns{loop}"


def likely_name(name: str, bound: Iterable[str], shapes: Shapes) -> str:
    """Return the one name that another is a slip of; "" where there is none, or more than one."""
    near = difflib.get_close_matches(name, [*shapes, *bound], n=2, cutoff=_SAME)
    return near[0] if len(near) == 1 else ""


def call_mistakes(node: ast.Call, tool: Shape, scope: Scope, shapes: Shapes) -> Iterator[Mistake]:
    """Yield what is wrong with a call of a tool."""
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        item.arg is None for item in node.keywords
    ):
        return
    places = tool.positional
    known = {place.name: place for place in places} | dict(tool.named)
    given = {place.name: value for place, value in zip(places, node.args, strict=False)}
    given |= {str(keyword.arg): keyword.value for keyword in node.keywords}
    problems = _name_problems(node, tool, known, given)
    if problems:
        values = [(known[name], value) for name, value in given.items() if name in known]
        found = (_constant_problem(value.value, item) for item, value in values if isinstance(value, ast.Constant))
        problems += filter(None, found)
        only_unknown = len(problems) == sum(name not in known for name in given)
        text = suggest_filter(node, tool, shapes) if only_unknown else ""
        error = f"TypeError: {tool.tool}: {'; '.join(problems)}"
        yield Mistake(node.lineno, error, _about(tool, shapes), fix(node, text) if text else None)
        return
    for name, value in given.items():
        if name in known and known[name].type.kind in _SCALARS:
            yield from _misplaced_choices(node, value, known[name], scope, (tool, shapes))
            yield from _value_mistakes(node, value, known[name], scope.of(value), (tool, shapes))


def _name_problems(node: ast.Call, tool: Shape, known: dict[str, Parameter], given: dict[str, ast.expr]) -> list[str]:
    problems: list[str] = []
    most = len(tool.positional)
    if len(node.args) > most and not tool.takes_more:
        problems.append(f"takes {most} argument{'' if most == 1 else 's'} by position, got {len(node.args)}")
    if not tool.takes_any_name:
        problems += [_unknown(name, known, given) for name in given if name not in known]
    missing = (name for name, item in known.items() if item.is_required and not item.type.nullable)
    return [*problems, *(f"missing argument {quoted(name)}" for name in missing if name not in given)]


def _unknown(name: str, known: Iterable[str], given: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, [item for item in known if item not in given], n=1, cutoff=0.6)
    return f"unknown argument {quoted(name)}" + (f" (did you mean {quoted(near[0])}?)" if near else "")


def _about(tool: Shape, shapes: Shapes) -> str:
    return "; ".join([f"the tool is {tool.signature}", *sources(tool, shapes)])


def _value_mistakes(
    node: ast.Call, value: ast.expr, parameter: Parameter, kind: Type, called: tuple[Shape, Shapes]
) -> Iterator[Mistake]:
    name, wanted = parameter.name, parameter.type.kind
    problem = hint = begin = ""
    put_right: Fix | None = None
    if isinstance(value, ast.Constant):
        problem = _constant_problem(value.value, parameter)
        begin = beginning(node, *called, {}) if problem and parameter.is_required else ""
        # Less is asked of a reader only: what has an effect would have it on more.
        if not parameter.is_required and called[0].read_only:
            hint = f"leave {name} out where none is meant, and filter the results with if"
    elif kind.kind in {"list", "set"}:
        item = f"item[{name!r}]" if kind.item is not None and name in kind.item.keys else "item"
        problem = f"takes one {name} ({wanted}), got a list: call it once for each"
        if called[0].read_only and not names_effect(node, called[1]):
            hint = f"write [{_with(node, value, item)} for item in {ast.unparse(value)}]"
    elif kind.kind == "record":
        problem = f"{name!r} wants {wanted}, got a whole record"
        part = f'{ast.unparse(value)}["{name}"]' if name in kind.keys and not names_effect(value, called[1]) else ""
        hint = f"pass one key of it: {part or name_list(kind.keys)}"
        put_right = fix(value, part) if part else None
    elif kind.kind == "dict":
        problem = f"{name!r} wants {wanted}, got a dict"
    if problem:
        hint = "; ".join(filter(None, (hint, _about(*called))))
        yield Mistake(node.lineno, f"TypeError: {called[0].tool}: {problem}", hint, put_right, begin)


def _misplaced_choices(
    node: ast.Call, value: ast.expr, parameter: Parameter, scope: Scope, called: tuple[Shape, Shapes]
) -> Iterator[Mistake]:
    """Yield a record's key that stands at the place of a few choices, and is called as another parameter is."""
    tool, other = called[0], name_of(value)
    if not parameter.type.choices or other == parameter.name or not node.args or value is not node.args[-1]:
        return
    given = {keyword.arg for keyword in node.keywords} | {item.name for item in tool.positional[: len(node.args)]}
    is_key = isinstance(value, (ast.Subscript, ast.Attribute)) and scope.of(value.value).kind == "record"
    if is_key and other in tool.named and other not in given and scope.of(value).kind and not scope.of(value).choices:
        text = f"{other}={ast.unparse(value)}"
        error = f"TypeError: {tool.tool}: {parameter.name!r} got what is called {other!r}"
        hint = "" if names_effect(value, called[1]) else f"write {text}; "
        yield Mistake(node.lineno, error, f"{hint}{_about(*called)}", fix(value, text))


def _with(node: ast.Call, value: ast.expr, text: str) -> str:
    """Return a call with another argument in a value's place."""
    other = ast.parse(text, mode="eval").body
    args = [other if argument is value else argument for argument in node.args]
    keywords = [
        ast.keyword(keyword.arg, other if keyword.value is value else keyword.value) for keyword in node.keywords
    ]
    return ast.unparse(ast.Call(node.func, args, keywords))


def _constant_problem(value: object, parameter: Parameter) -> str:
    wanted = parameter.type
    if value is None:
        is_wrong = parameter.is_required and not wanted.nullable
        return f"{parameter.name!r} wants {wanted.kind}, got None" if is_wrong else ""
    if type(value) is not str:
        return ""
    if wanted.kind in _NUMBERS and not any(item.isdigit() for item in value) and not _WORDED.search(value):
        return f"{parameter.name!r} wants {wanted.kind}, got str {quoted(value)}"
    if not wanted.choices:
        return ""
    if value.casefold() in {str(choice).casefold() for choice in wanted.choices}:
        return ""
    choices = [*map(quoted, wanted.choices[:_MAX_CHOICES])]
    more = len(wanted.choices) - len(choices)
    return f"{parameter.name!r} wants {' or '.join(choices)}{f' or {more} others' if more else ''}, got {quoted(value)}"
