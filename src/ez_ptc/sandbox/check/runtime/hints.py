"""Hints for errors of a running program: what it could have used, and what the sandbox lacks."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import linecache
import re
import sys
from typing import TYPE_CHECKING, Any

from ...protocol.both_ends.errors import NotApprovedError, ToolError
from ...protocol.both_ends.quoting import MAX_LINE, MAX_QUOTED, item_text, literal, name_list, name_text, on_one_line
from ..absences import reason_of
from ..following.mixed_types import hint_of_types
from ..mistakes import ProgramMistake, replacing
from ..near_names import close_matches, hint_of_replaced
from ..proposals import BEGUN, program_to_copy, proposal
from ..reading.program import is_program
from ..suggestions import identity, sources, suggest_call_loop, suggest_fetches
from .failing import find_failing, text_of
from .hidden_keys import hidden_key_hint
from .outside import outside_hint
from .record_hints import (
    attribute_hint,
    key_hint,
    keys_of,
    order_hint,
    passed_key_hint,
    subscript_hint,
    unpacking_hint,
    whole_dict_hint,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..signatures import Shape, Shapes

__all__ = ["IMPORTABLE", "begin_of_program", "hint_for"]

_PREFIX = r"(?<![\w\"'])(?:[rR]?{0}|{0}[rR])"
_IN_BRACES = (
    r"""(?:"(?!"")[^"\n]*\{[^}"\n]*["\\](?=[^\n]*\})|'(?!'')[^'\n]*\{[^}'\n]*['\\](?=[^\n]*\})"""
    r"""|["'][^"'\n]*\{[^}"'\n]*(?:\#|$))"""
)
_F_STRING = "this f-string (for a quote, a backslash, a comment or a line end in its braces)"
# What only a later version reads: a pattern, the version, its name, and what to write instead.
_NEWER: tuple[tuple[str, tuple[int, int], str, str], ...] = (
    (
        r"^\s*(?:async\s+)?(?:def|class|type)\s+\w+\s*\[[^\]\n]*=",
        *((3, 13), "a default of a type parameter", "leave the default out"),
    ),
    (r"^\s*type\s+\w+\s*(?:\[[^\]\n]+\])?\s*=(?!=)", (3, 12), "a type statement", "write `Name = ...` without `type`"),
    (r"^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\[[^\]\n]+\]", *((3, 12), "a type parameter", "leave the brackets out")),
    (
        r"^\s*except\*?\s+[\w.]+\s*,\s*[\w.][\w., ]*:",
        *((3, 14), "`except` without parentheses", "write `except (A, B):`"),
    ),
    (_PREFIX.format("[tT]") + "[\"']", (3, 14), "a template string", 'write an f-string, f"..."'),
    (_PREFIX.format("[fF]") + _IN_BRACES, (3, 12), _F_STRING, "give the value in the braces a name first"),
    (r"^f-string expression part cannot include", (3, 12), _F_STRING, "give the value in the braces a name first"),
)
_MAX_SEARCHED = 1_000

# What programs can import, in words; a worker adds its packages at its start.
IMPORTABLE = ["the standard library"]
_MAX_NAME = 80
_MAX_INT = 10**15
# The errors of what starts a loop where one runs.
_IN_LOOP = ("from a running event loop", "while another loop is running", "event loop is already running")
# A program's own metaclass may define another `__name__`.
_TYPE_NAME = vars(type)["__name__"].__get__
_LOOPS = (ast.For, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# The classes of errors with which tools refuse an argument; other errors do not depend on it.
_ABOUT_ARGUMENTS = (LookupError, TypeError, ValueError)
# What takes the place of an absent module.
_INSTEAD = {"multiprocessing": "; concurrent.futures.ThreadPoolExecutor and parallel() make calls at once"}
_FUTURE = "_asyncio.Future"
_UNHASHABLE = "unhashable type: 'Record'"
_UNORDERED = "not supported between instances of 'Record' and 'Record'"
_CALL_PROBLEM = re.compile(r"([\w.]+?)(?:\.__init__)?\(\) (?:got|missing|takes)")
_PASSED = re.compile(r"""[(,]\s{0,9}(["']?)([^\s=(),"'][^=(),"'\s]{0,60})\1\s?=(?!=)""")


def hint_for(error: BaseException, shapes: Shapes, namespace: Mapping[str, object]) -> str | None:
    """Return a hint for an error, or None."""
    if issubclass(type(error), NotApprovedError):
        return None  # other arguments would not be approved either
    try:
        if isinstance(error, (AttributeError, TypeError)) and _FUTURE in str(error):
            return "this is a call that was not awaited: write `await` before it, in parentheses"
        for error_class, hint in _HINTS:
            if isinstance(error, error_class):
                text = hint(error, shapes, namespace)
                if text or error_class is ToolError:
                    return text
        return outside_hint(error, shapes) if isinstance(error, (Exception, SystemExit)) else None
    except BaseException:  # noqa: BLE001 - foreign code: looking at a program's objects runs their methods
        return None
    return None


def _import_hint(error: ModuleNotFoundError, _shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    if not error.name:
        return None
    name = error.name.partition(".")[0]
    reason = reason_of(name)
    if reason is not None:
        return f"programs cannot import {name}: {reason}{_INSTEAD.get(name, '')}"
    return f"programs can import {' and '.join(IMPORTABLE)}, without files, network and processes"


def _loop_hint(error: RuntimeError, _shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    """Return how to await, in a running loop, a function given to another loop."""
    if any(map(str(error).endswith, _IN_LOOP)):
        return "an event loop runs here already: write await f(), not asyncio.run(f())"
    return None


def _syntax_hint(error: SyntaxError, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    """Return how to spell an argument passed as `from=` or `user-id=`, or how to do without `return`."""
    if "'return' outside function" in str(error):
        return "a program has no return: make the value its last expression, or print it"
    line = ""
    if error.filename and is_program(error.filename):
        line = linecache.getline(error.filename, error.lineno or 0)[:_MAX_SEARCHED]
    if newer := _hint_of_newer_syntax(error, line):
        return newer
    called = [shape for shape in shapes.values() if shape.tool in line]
    for match in _PASSED.finditer(line):
        name = "_".join(re.findall(r"\w+", match[2]))
        for tool in called:
            spelling = next((spelling for spelling in (f"{name}_", name) if spelling in tool.named), None)
            if spelling and (not match[2].isidentifier() or keyword.iskeyword(match[2])):
                return f"write {on_one_line(spelling, MAX_QUOTED)}=; the tool is {tool.signature}"
    return None


def _find_failed_call(error: ToolError, shapes: Shapes) -> tuple[ast.Call, Shape] | None:
    """Return the failed call and its tool, if the failing line names it plainly."""
    node = find_failing(error.__traceback__)[0]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    tool = shapes.get(node.func.id)
    if tool is None:
        return None
    return node, tool


def begin_of_program(error: BaseException, shapes: Shapes, taken: Collection[str]) -> str | None:
    """Return the beginning of a program that reads the value the failed call got as a literal, or None."""
    failed: tuple[ast.Call, Shape] | None = None
    if isinstance(error, ToolError):
        failed = _find_failed_call(error, shapes)
    node, frame = find_failing(error.__traceback__)
    if frame is not None and isinstance(node, ast.Call) and _UNHASHABLE in str(error):
        # Records cannot be put into a set, but their keys can.
        if len(node.args) != 1:
            return None
        argument = node.args[0]
        keys, is_list = keys_of(argument, frame, shapes)
        key = identity(keys)
        if key is None:
            return None
        text = ast.unparse(argument)
        replacement = f"[{item_text('item', key)} for item in {text}]" if is_list else item_text(text, key)
        mistake = ProgramMistake("unhashable", node.lineno, _UNHASHABLE, suggestion=replacing(argument, replacement))
        return proposal([mistake], text_of(frame), shapes, taken)
    if frame is not None and isinstance(error, OSError) and failed is None:
        calls = suggest_fetches(text_of(frame), shapes)
        return program_to_copy("Begin like this instead:", calls, shapes, taken)
    if failed is None or frame is None:
        return None
    values = {**frame.f_globals, **frame.f_locals}.items()
    known = {name: literal(value) for name, value in values if type(value) is str and len(value) <= _MAX_NAME}
    known |= {name: repr(value) for name, value in values if type(value) is int and abs(value) < _MAX_INT}
    return program_to_copy(BEGUN, suggest_call_loop(*failed, shapes, known), shapes, taken)


def _tool_hint(error: ToolError, shapes: Shapes, namespace: Mapping[str, object]) -> str | None:
    """Return the tool of refused arguments, and sources for invented values, as a hint."""
    name = getattr(error, "tool_name", None)
    tool = shapes.get(name) if type(name) is str else None
    if tool is None:
        return None
    sentences = list(sources(tool, shapes))
    if isinstance(error, _ABOUT_ARGUMENTS) and tool.named:
        sentences.insert(0, _tool_text(tool, namespace))
    failed = _find_failed_call(error, shapes)
    if isinstance(error, _ABOUT_ARGUMENTS):
        first = passed_key_hint(error, shapes) or (failed and whole_dict_hint(*failed, error))
        if first:
            sentences.insert(0, first)
    return "; ".join(sentences)


def _tool_text(tool: Shape, namespace: Mapping[str, object]) -> str:
    """Return a sentence with a tool's signature and the first line of its documentation."""
    documentation: object = getattr(namespace.get(tool.tool), "__doc__", None)
    text = f"the tool is {tool.signature}"
    if type(documentation) is not str or documentation.strip() in {"", f"Tool: {tool.tool}"}:  # it has none of its own
        return text
    first = documentation[:_MAX_SEARCHED].strip().splitlines()[0]
    return f"{text}: {on_one_line(first, MAX_LINE).rstrip('.')}"


def _name_hint(error: NameError, shapes: Shapes, namespace: Mapping[str, object]) -> str:
    wanted = error.name or ""
    if wanted in shapes:
        return f"{name_text(wanted)} is a tool: there is no variable of that name to delete"
    node = find_failing(error.__traceback__)[0]
    if isinstance(error, UnboundLocalError) and isinstance(node, ast.Name) and (hint := hint_of_replaced(node.id)):
        return hint
    defined = [name for name in namespace if not name.startswith("__") and name not in shapes]
    near = close_matches(wanted, [*shapes, *defined, *vars(builtins)])
    hint = f"the tools are: {shapes.listing(wanted=wanted)}"
    if wanted in sys.stdlib_module_names:
        hint = f"write `import {wanted}` first; {hint}"
    elif near and sys.version_info < (3, 12):
        # From 3.12 on, CPython's own text has the suggestion.
        hint = f"did you mean {' or '.join(map(name_text, near))}? {hint}"
    if defined:
        hint += f"; names defined so far: {name_list(defined, wanted)}"
    return hint


def _type_hint(error: TypeError, shapes: Shapes, namespace: Mapping[str, object]) -> str | None:
    text = str(error)
    tool = next((shapes[name] for name in shapes if text.startswith(f"an argument of {name}:")), None)
    if tool is not None:
        return f"the tool is {tool.signature}"
    if " indices must be integers" in text:
        return subscript_hint(error, shapes)
    if text.endswith("object is not callable"):
        node = find_failing(error.__traceback__)[0]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return hint_of_replaced(node.func.id)
        return None
    if _UNHASHABLE in text:
        return 'a record is a dict, and cannot be in a set or be a key: use one of its values, like row["id"]'
    return (_UNORDERED in text and order_hint(error, shapes)) or hint_of_types(text) or _signature_hint(text, namespace)


def _signature_hint(text: str, namespace: Mapping[str, object]) -> str | None:
    match = _CALL_PROBLEM.match(text)
    name = "" if match is None else match[1].rpartition(".")[2]
    function = namespace.get(name)
    if not callable(function):
        return None
    return f"the signature is {name}{on_one_line(str(inspect.signature(function)), MAX_LINE)}"


# The first match counts, since a tool's error is also an instance of a built-in class.
_HINTS: tuple[tuple[type[BaseException], Callable[[Any, Shapes, Mapping[str, object]], str | None]], ...] = (
    (AttributeError, hidden_key_hint),
    (TypeError, hidden_key_hint),
    (ToolError, _tool_hint),
    (KeyError, key_hint),
    (AttributeError, attribute_hint),
    (NameError, _name_hint),
    (TypeError, _type_hint),
    (SyntaxError, _syntax_hint),
    (ValueError, unpacking_hint),
    (ModuleNotFoundError, _import_hint),
    (RuntimeError, _loop_hint),
)


def _hint_of_newer_syntax(error: SyntaxError, line: str) -> str | None:
    """Return the version and a substitute for the syntax of an unparsable line; None if this Python should know it."""
    text = f"{line[:_MAX_SEARCHED]}\n{error.msg[:_MAX_SEARCHED]}"
    for pattern, version, construct, instead in _NEWER:
        if sys.version_info < version and re.search(pattern, text, re.MULTILINE):
            ours, needed = (".".join(map(str, numbers[:2])) for numbers in (sys.version_info, version))
            return f"{construct} needs Python {needed}, and programs run in Python {ours}: {instead}"
    return None
