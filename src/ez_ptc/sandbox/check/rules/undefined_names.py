"""Names that are not defined, and what they may mean."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from ...protocol.both_ends.quoting import name_text, quoted
from ..mistakes import replacing
from ..near_names import close_matches, is_slip
from ..suggestions import sources, suggest_call_loop, suggest_fetch_all, suggest_list, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..following.analysis import Analysis
    from ..signatures import Shapes

__all__ = ["look_at_name"]

# Names that every class body has, and that every program has in addition to the built-in ones.
_EVERYWHERE = frozenset(
    {"__class__", "__module__", "__qualname__", "ToolError", "asyncio", "json", "math", "parallel", "re"}
)
# The constants of JSON and JavaScript.
_CONSTANTS = {"true": "True", "false": "False", "null": "None", "undefined": "None"}
# What models write before the names of tools, as in `functions.search(...)`.
_NAMESPACES = frozenset({"api", "default_api", "functions", "self", "tool", "toolkit", "tools"})
# What they end with elsewhere, as in `final_answer(total)`.
_ANSWERS = frozenset({"FINAL", "SUBMIT", "final_answer", "submit_answer"})
# The minimum similarity (of 1) at which an undefined name counts as a misspelling of another.
_MIN_SIMILARITY = 0.85


def look_at_name(run: Analysis, node: ast.Name) -> None:
    """Report a name that the program does not define anywhere, nor anything around it."""
    name = node.id
    known = run.facts.bound, _EVERYWHERE, vars(sys.modules["builtins"]), run.shapes.readers, run.outer_names
    if any(name in names for names in known) or run.frame.binding(name) is not None:
        return
    error = f"NameError: name {quoted(name)} is not defined"
    if not run.may_suggest:
        run.report(node, "undefined-name", error)
        return
    if _report_habit(run, node, error):
        return
    before = [bound for bound, line in run.facts.bound.items() if line < node.lineno]
    begin: str | None = None
    call = run.facts.passed.get(id(node))
    if call is not None and isinstance(call.func, ast.Name) and (tool := run.shapes.get(call.func.id)) is not None:
        begin = suggest_call_loop(call, tool, run.shapes, run.facts.constants)
    hint, suggestion = _which_names(name, before, run.shapes), None
    everything = suggest_fetch_all(name, before, run.shapes)
    names = [*run.shapes.readers, *before]
    near = close_matches(name, names, 2, _MIN_SIMILARITY)
    near = near or [other for other in close_matches(name, names) if is_slip(name, other)]
    own_call = run.facts.called.get(id(node))
    if name in _CONSTANTS and own_call is None:
        hint, begin = f"in Python, it is {_CONSTANTS[name]}", None
        suggestion = replacing(node, _CONSTANTS[name], is_forced=True)
    elif own_call is None and everything:
        suggestion = replacing(node, everything)
    elif len(near) == 1:
        others = {*before, *run.shapes.readers} - {near[0]}
        is_forced = is_slip(name, near[0]) and not any(words(other) & words(name) for other in others)
        suggestion = replacing(node, near[0], is_forced=is_forced, is_only=True)
    elif own_call is not None and not (near or own_call.args or own_call.keywords):
        suggestion = replacing(own_call, everything or suggest_list(name, run.shapes))
    elif own_call is None:
        hint = f"{hint}; give {name_text(name)} a value before this line"
    run.report(node, "undefined-name", error, hint, suggestion=suggestion, begin=begin)


def _report_habit(run: Analysis, node: ast.Name, error: str) -> bool:
    """Report a name of other libraries' programs, and return whether it is one."""
    attribute, call = run.facts.attributes.get(id(node)), run.facts.called.get(id(node))
    if node.id in _NAMESPACES and attribute is not None and attribute.attr in run.shapes:
        name = name_text(attribute.attr)
        hint = f"call {name} by its name alone; the tool is {run.shapes[attribute.attr].signature}"
        suggestion = replacing(attribute, attribute.attr, is_forced=True)
        if attribute.attr in run.facts.bound:  # the tool's name is that of something else here
            hint = f"call the tool by its name alone, and give another name to what the program calls {name}"
            suggestion = None
    elif node.id in _ANSWERS and call is not None and call.args and not call.keywords:
        hint, suggestion = "the answer is what the program prints: print it", replacing(node, "print", is_forced=True)
    else:
        return False
    run.report(node, "undefined-name", error, hint, suggestion=suggestion)
    return True


def _which_names(name: str, bound: Iterable[str], shapes: Shapes) -> str:
    """Suggest a replacement for an undefined name, and where to get the values it needs."""
    tools = list(shapes.readers)
    near = close_matches(name, [*tools, *bound], 2)
    meaning = words(name)
    likely_names = list(dict.fromkeys([*near, *(tool for tool in tools if meaning & words(tool))]))[:3]
    likely_tools = [tool for tool in likely_names if tool in shapes]
    listing = f"the tools are: {shapes.listing(likely_tools)}"
    if likely_names:
        texts = (shapes[likely].signature if likely in shapes else name_text(likely) for likely in likely_names)
        listing = f"did you mean {' or '.join(texts)}? {listing}"
    sentences = [listing, *(source for tool in likely_tools for source in sources(shapes[tool], shapes))]
    return "; ".join(sentences)
