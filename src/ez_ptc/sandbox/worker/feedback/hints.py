"""Hints for errors of a running program: what it could have used, and what the sandbox lacks."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import linecache
import re
import socket
import sys
from typing import TYPE_CHECKING, Any, cast

from ..absences import reason_of
from ..errors import NotApprovedError, ToolError
from ..program import is_program
from ..quoting import MAX_LINE, MAX_QUOTED, item_text, literal, name_list, name_text, on_one_line, quoted
from .following.names import called_name
from .mistakes import Mistake, parse_quietly, replacing
from .near_names import close_matches, hint_of_replaced
from .newer_syntax import hint_of_newer_syntax
from .proposals import BEGUN, program_to_copy, proposal
from .suggestions import identity, sources, suggest_call_loop, suggest_fetches
from .table_hints import hint_of_column, hint_of_table, is_of_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import FrameType, TracebackType

    from .signatures import Shape, Shapes

__all__ = ["IMPORTABLE", "begin_of_program", "hint_for"]

# What programs can import, in words; a worker adds its packages at its start.
IMPORTABLE = ["the standard library"]
_MAX_NAME = 80
_MAX_INT = 10**15
_MAX_CAUSES = 20
_MAX_SEARCHED = 1_000
# The number of EPERM in Linux; errors have it in WebAssembly too.
_EPERM = 1
_NO_TEMPORARY = "No usable temporary directory"
# Errors of libraries in a Python without OpenSSL.
_OF_NETWORKS = ("the SSL module is not available", "unknown url type: http")
# The errors of what starts a loop where one runs.
_IN_LOOP = ("from a running event loop", "while another loop is running", "event loop is already running")
# A program's own metaclass may define another `__name__`.
_TYPE_NAME = vars(type)["__name__"].__get__
_LOOPS = (ast.For, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# The classes of errors with which tools refuse an argument; other errors do not depend on it.
_ABOUT_ARGUMENTS = (LookupError, TypeError, ValueError)
_UNHASHABLE = "unhashable type: 'Record'"
_UNORDERED = "not supported between instances of 'Record' and 'Record'"
_CALL_PROBLEM = re.compile(r"([\w.]+?)(?:\.__init__)?\(\) (?:got|missing|takes)")
_PASSED = re.compile(r"""[(,]\s{0,9}(["']?)([^\s=(),"'][^=(),"'\s]{0,60})\1\s?=(?!=)""")


def hint_for(error: BaseException, shapes: Shapes, namespace: Mapping[str, object]) -> str | None:
    """Return a hint for an error, or None."""
    if issubclass(type(error), NotApprovedError):
        return None  # other arguments would not be approved either
    try:
        for error_class, hint in _HINTS:
            if isinstance(error, error_class):
                return hint(error, shapes, namespace)
    except BaseException:  # noqa: BLE001 - foreign code: looking at a program's objects runs their methods
        return None
    return None


def _outside_hint(error: Exception, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    """Return the sandbox's limitation behind an error: files, a network or processes that it lacks."""
    lack: str | None = None
    cause: object = error
    for _ in range(_MAX_CAUSES):
        if isinstance(cause, socket.gaierror):
            lack = "no network access in the sandbox"
        # Python and libraries keep causes in various ways.
        following = getattr(cause, "reason", None) or getattr(cause, "__cause__", None)
        cause = following or getattr(cause, "__context__", None)
    if isinstance(error, OSError) and error.errno == _EPERM:
        lack = "no network access and no other processes in the sandbox"
    if isinstance(error, (ImportError, OSError)) and any(map(str(error).__contains__, _OF_NETWORKS)):
        lack = "no network access in the sandbox"
    if isinstance(error, (PermissionError, FileNotFoundError)) and (error.filename or _NO_TEMPORARY in str(error)):
        lack = "no file access in the sandbox"
    if lack and shapes:
        return f"{lack}: get data from the tools"
    return lack


def _import_hint(error: ModuleNotFoundError, _shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    if not error.name:
        return None
    name = error.name.partition(".")[0]
    reason = reason_of(name)
    if reason is not None:
        return f"programs cannot import {name}: {reason}"
    return f"programs can import {' and '.join(IMPORTABLE)}, without files, network and processes"


def _loop_hint(error: RuntimeError, shapes: Shapes, namespace: Mapping[str, object]) -> str | None:
    """Return what to write in a loop for a function that starts one."""
    if any(map(str(error).endswith, _IN_LOOP)):
        return "an event loop runs here already: write await f(), not asyncio.run(f())"
    return _outside_hint(error, shapes, namespace)


def _syntax_hint(error: SyntaxError, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    """Return how to spell an argument that a line passes as `from=` or `user-id=`, or what to write for `return`."""
    if "'return' outside function" in str(error):
        return "a program has no return: make the value its last expression, or print it"
    line = ""
    if error.filename and is_program(error.filename):
        line = linecache.getline(error.filename, error.lineno or 0)[:_MAX_SEARCHED]
    if newer := hint_of_newer_syntax(error, line):
        return newer
    called = [shape for shape in shapes.values() if shape.tool in line]
    for match in _PASSED.finditer(line):
        name = "_".join(re.findall(r"\w+", match[2]))
        for tool in called:
            spelling = next((spelling for spelling in (f"{name}_", name) if spelling in tool.named), None)
            if spelling and (not match[2].isidentifier() or keyword.iskeyword(match[2])):
                return f"write {on_one_line(spelling, MAX_QUOTED)}=; the tool is {tool.signature}"
    return None


def _key_hint(error: KeyError, _shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    owner: object = getattr(error, "obj", None)
    if owner is None:
        owner = _subscript_owner(error.__traceback__)
    if not isinstance(owner, dict):
        return None
    keys = cast("dict[object, object]", owner)
    if not keys:
        return "the dict is empty"
    return f"the keys are: {name_list(keys, *error.args[:1])}"


def _subscript_owner(tb: TracebackType | None) -> object:
    """Return the object whose subscript failed, if the failing line names it plainly."""
    node, frame = _failing(tb)
    if frame is None or not isinstance(node, ast.Subscript):
        return None
    return _lookup(node.value, frame)


def _failing(tb: TracebackType | None) -> tuple[ast.expr | None, FrameType | None]:
    """Return the program's failing expression and its frame."""
    last: tuple[FrameType, int] | None = None
    while tb is not None:
        if is_program(tb.tb_frame.f_code.co_filename):
            last = (tb.tb_frame, tb.tb_lasti)
        tb = tb.tb_next
    if last is None:
        return None, None
    frame, instruction = last
    line, end_line, column, end_column = list(frame.f_code.co_positions())[instruction // 2]
    position = line, end_line, column, end_column
    expressions = (node for node in ast.walk(parse_quietly(_text_of(frame))) if isinstance(node, ast.expr))
    for node in expressions:
        if (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == position:
            return node, frame
    return None, frame


def _text_of(frame: FrameType) -> str:
    return "".join(linecache.getlines(frame.f_code.co_filename))


def _lookup(node: ast.expr, frame: FrameType) -> object:
    """Return the value of a plain chain of names and constant subscripts, without calling anything."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.Name)):
        base = _lookup(node.value, frame)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else _lookup(node.slice, frame)
        if isinstance(base, (dict, list, tuple)):
            return cast("dict[object, object]", base)[key]
    return None


def _attribute_hint(error: AttributeError, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    owner = error.obj
    wanted = error.name or ""
    if isinstance(owner, dict):
        keys = cast("dict[object, object]", owner)
        key = wanted if wanted in keys else "key"
        return f"this is a dict: use {item_text('', key)}; its keys are: {name_list(keys, wanted)}"
    if isinstance(owner, list):
        return _list_hint(cast("list[object]", owner), wanted) or "this is a list: take one item of it, or loop over it"
    if isinstance(owner, str) and (hint := _hint_of_key(error, owner, shapes)):
        return hint
    public = [name for name in dir(owner) if not name.startswith("_") or wanted.startswith("_")]
    near = close_matches(wanted, public)
    if not near:
        return None
    return f"{name_text(_TYPE_NAME(type(owner)))} has: {name_list(near)}"


def _hint_of_key(error: Exception, key: str, shapes: Shapes) -> str | None:
    """Return how to use the one record over which a program loops as if it were a list of them, or None."""
    node, frame = _failing(error.__traceback__)
    if frame is None or not isinstance(node, (ast.Attribute, ast.Subscript)) or not isinstance(node.value, ast.Name):
        return None
    hint: str | None = None
    for loop in ast.walk(parse_quietly(_text_of(frame))):
        is_around = isinstance(loop, _LOOPS) and loop.lineno <= node.lineno <= (loop.end_lineno or 0)
        for part in getattr(loop, "generators", [loop]) if is_around else ():
            if ast.unparse(part.target) != node.value.id:
                continue
            tool, record = shapes.get(called_name(part.iter) or ""), _lookup(part.iter, frame)
            text = None
            if tool is not None and tool.returns.kind in {"dict", "record"}:
                text = f"{tool.call} returns"
            elif isinstance(record, dict) and key in record:
                text = f"{on_one_line(ast.unparse(part.iter), MAX_QUOTED)} is"
            hint = text and f"{text} one dict: use it directly; a loop over it gives its keys, like {quoted(key)}"
    return hint


def _list_hint(owner: list[object], wanted: str | None) -> str | None:
    """Return a hint for a list used as a table: by a key, or by an attribute that tables have."""
    if wanted is not None and not is_of_table(wanted):
        return None
    if owner and isinstance(owner[0], dict):
        return hint_of_table(cast("dict[object, object]", owner[0]))
    return None if wanted is None else hint_of_column()


def _find_failed_call(error: ToolError, shapes: Shapes) -> tuple[ast.Call, Shape] | None:
    """Return the failed call and its tool, if the failing line names it plainly."""
    node = _failing(error.__traceback__)[0]
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
    node, frame = _failing(error.__traceback__)
    if frame is not None and isinstance(node, ast.Call) and _UNHASHABLE in str(error):
        return _propose_keys(node, frame, shapes, taken)
    if frame is not None and isinstance(error, OSError) and failed is None:
        calls = suggest_fetches(_text_of(frame), shapes)
        return program_to_copy("Begin like this instead:", calls, shapes, taken)
    if failed is None or frame is None:
        return None
    values = {**frame.f_globals, **frame.f_locals}.items()
    known = {name: literal(value) for name, value in values if type(value) is str and len(value) <= _MAX_NAME}
    known |= {name: repr(value) for name, value in values if type(value) is int and abs(value) < _MAX_INT}
    return program_to_copy(BEGUN, suggest_call_loop(*failed, shapes, known), shapes, taken)


def _propose_keys(call: ast.Call, frame: FrameType, shapes: Shapes, taken: Collection[str]) -> str | None:
    """Return the program with the keys of records in place of the records that a call cannot put into a set."""
    if len(call.args) != 1:
        return None
    argument = call.args[0]
    keys, is_list = _keys_of(argument, frame, shapes)
    key = identity(keys)
    if key is None:
        return None
    text = ast.unparse(argument)
    replacement = f"[{item_text('item', key)} for item in {text}]" if is_list else item_text(text, key)
    mistake = Mistake("unhashable", call.lineno, _UNHASHABLE, suggestion=replacing(argument, replacement))
    return proposal([mistake], _text_of(frame), shapes, taken)


def _keys_of(node: ast.expr, frame: FrameType, shapes: Shapes) -> tuple[list[str], bool]:
    """Return the keys of records in an expression, as far as they are known, and whether it is a list of them."""
    rows: object = _lookup(node, frame)
    is_list = isinstance(rows, list)
    tool = shapes.get(called_name(node) or "")
    if tool is not None:
        return [*tool.returns.record.keys], tool.returns.kind == "list"
    row = rows
    if isinstance(rows, list) and rows:
        row = cast("list[object]", rows)[0]
    keys = [*cast("dict[str, object]", row)] if isinstance(row, dict) else []
    return keys, is_list


def _tool_hint(error: ToolError, shapes: Shapes, namespace: Mapping[str, object]) -> str | None:
    """Return the tool that refused its arguments, and sources for invented values, as a hint."""
    name = getattr(error, "tool_name", None)
    tool = shapes.get(name) if type(name) is str else None
    if tool is None:
        return None
    sentences = list(sources(tool, shapes))
    if isinstance(error, _ABOUT_ARGUMENTS) and tool.named:
        sentences.insert(0, _tool_text(tool, namespace))
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
    node = _failing(error.__traceback__)[0]
    if isinstance(error, UnboundLocalError) and isinstance(node, ast.Name) and (hint := hint_of_replaced(node.id)):
        return hint
    defined = [name for name in namespace if not name.startswith("__") and name not in shapes]
    near = close_matches(wanted, [*shapes, *defined, *vars(builtins)])
    sentences: list[str] = []
    if wanted in sys.stdlib_module_names:
        sentences.append(f"write `import {wanted}` first")
    elif near and sys.version_info < (3, 12):
        # From 3.12 on, CPython's own text has the suggestion.
        sentences.append(f"did you mean {' or '.join(map(name_text, near))}?")
    sentences.append(f"the tools are: {name_list(shapes, wanted) or 'none'}")
    if defined:
        sentences.append(f"names defined so far: {name_list(defined, wanted)}")
    return "; ".join(sentences)


def _type_hint(error: TypeError, shapes: Shapes, namespace: Mapping[str, object]) -> str | None:
    text = str(error)
    tool = next((shapes[name] for name in shapes if text.startswith(f"an argument of {name}:")), None)
    if tool is not None:
        return f"the tool is {tool.signature}"
    if " indices must be integers" in text:
        return _subscript_hint(error, shapes)
    if text.endswith("object is not callable"):
        node = _failing(error.__traceback__)[0]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return hint_of_replaced(node.func.id)
        return None
    if _UNHASHABLE in text:
        return 'a record is a dict, and cannot be in a set or be a key: use one of its values, like row["id"]'
    return _order_hint(error, shapes) if _UNORDERED in text else _signature_hint(text, namespace)


def _order_hint(error: TypeError, shapes: Shapes) -> str:
    """Return how to compare records: by one of their keys."""
    node, frame = _failing(error.__traceback__)
    keys = list[str]()
    if isinstance(node, ast.Call) and frame is not None:
        rows = node.args[0] if node.args else getattr(node.func, "value", node)
        keys = _keys_of(rows, frame, shapes)[0]
    key = item_text("row", next((key for key in keys if len(key) <= MAX_QUOTED), "key"))
    hint = f"records have no order: say by which key, like key=lambda row: {key}"
    return f"{hint}; the keys are: {name_list(keys)}" if keys else hint


def _subscript_hint(error: TypeError, shapes: Shapes) -> str | None:
    owner, node = _subscript_owner(error.__traceback__), _failing(error.__traceback__)[0]
    if isinstance(owner, str):
        return _hint_of_key(error, owner, shapes) or f"this is the str {quoted(owner)}, which has no keys"
    if isinstance(owner, list):
        return _list_hint(cast("list[object]", owner), None)
    if isinstance(node, ast.Subscript) and called_name(node.value) in shapes:
        return hint_of_table(())
    return None


def _signature_hint(text: str, namespace: Mapping[str, object]) -> str | None:
    match = _CALL_PROBLEM.match(text)
    name = "" if match is None else match[1].rpartition(".")[2]
    function = namespace.get(name)
    if not callable(function):
        return None
    return f"the signature is {name}{on_one_line(str(inspect.signature(function)), MAX_LINE)}"


# The first match counts, since a tool's error is also an instance of a built-in class.
_HINTS: tuple[tuple[type[BaseException], Callable[[Any, Shapes, Mapping[str, object]], str | None]], ...] = (
    (ToolError, _tool_hint),
    (KeyError, _key_hint),
    (AttributeError, _attribute_hint),
    (NameError, _name_hint),
    (TypeError, _type_hint),
    (SyntaxError, _syntax_hint),
    (ModuleNotFoundError, _import_hint),
    (RuntimeError, _loop_hint),
    (Exception, _outside_hint),
)
