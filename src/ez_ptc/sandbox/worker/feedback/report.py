"""Errors of a program as text, from which a model can repair it."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import logging
import re
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, cast

from ..absences import reason_of
from ..errors import ToolError
from ..program import EmptyProgramError, is_program
from ..quoting import MAX_LINE, indent_rest, item_text, literal, name_list, name_text, on_one_line, quoted
from ..reflow import unfold_statements
from .isolation_hints import name_the_lack
from .near_names import close_matches
from .parameter_spelling import spelling_hint
from .proposals import BEGUN, CORRECTED, MAX_HINT, program_to_copy
from .signatures import Shapes
from .suggestions import sources, suggest_call_loop, suggest_fetches

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence
    from types import FrameType, TracebackType

    from .signatures import Shape

__all__ = ["describe", "install", "is_clean_exit"]

_IMPORTABLE = ["the standard library"]
_MAX_TEXT = 20_000
_MAX_NAME = 80
_MAX_INT = 10**15
_ON_LINES = "begin each statement on a line of its own, and indent what stands under another"
# A program's own metaclass may define another `__name__`.
_TYPE_NAME = vars(type)["__name__"].__get__
_EXIT_CODE = vars(SystemExit)["code"].__get__
# An exception's class at the start of a line; its name may be anything except the beginning of our own lines.
_CLASS = re.compile(r"(?!(?:Hint|ERROR)\b)[\w.<>]+(?::|\n|\Z)")
_CALL_PROBLEM = re.compile(r"([\w.]+?)(?:\.__init__)?\(\) (?:got|missing|takes)")


def describe(error: BaseException, shapes: Shapes, namespace: Mapping[str, object]) -> tuple[str, str]:
    """Return ``(error, traceback)``: one line with a hint, and the traceback of the program's own lines."""
    try:
        return _error_and_trace(error, shapes, namespace)
    except MemoryError:
        raise
    except BaseException:  # noqa: BLE001 - foreign code: an exception's own __str__ and attributes may do anything
        line = f"{name_text(_TYPE_NAME(type(error)))} (its text cannot be shown)"
        return line, line + "\n"


def is_clean_exit(error: BaseException) -> bool:
    """Return whether a program has exited deliberately with exit code 0."""
    if not issubclass(type(error), SystemExit):
        return False
    code = _EXIT_CODE(error)
    return code is None or code is False or (type(code) is int and code == 0)


def _error_and_trace(error: BaseException, shapes: Shapes, namespace: Mapping[str, object]) -> tuple[str, str]:
    if isinstance(error, EmptyProgramError):
        message = "the program is empty: write Python statements that call the tools and print the result"
        return message, message + "\n"
    hint = _hint(error, shapes, namespace)
    exception = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
    _keep_apart(exception)
    text = "".join(exception.format())
    line = "".join(exception.format_exception_only()).rstrip()
    program: str | None = None
    if issubclass(type(error), SyntaxError):
        syntax_error = cast("SyntaxError", error)
        pieces = exception.format_exception_only()
        line = "".join(piece for piece in pieces if not piece.startswith(" ")).rstrip()
        text = text.rstrip()
        if syntax_error.lineno:
            position = f" (line {syntax_error.lineno})"
            line, text = line + position, text + position
        text += "\n"
        filename = syntax_error.filename or ""
        corrected: str | None = None
        if not hint and is_program(filename):
            corrected = unfold_statements("".join(linecache.getlines(filename)))
        if corrected:
            hint, program = _ON_LINES, program_to_copy(CORRECTED, corrected, shapes, namespace)
    line, text = _cut(line, 2_000), _cut(text, _MAX_TEXT)
    if hint:
        hint = on_one_line(hint, MAX_HINT)
        line, text = f"{line}\nHint: {hint}", f"{text}Hint: {hint}\n"
        text += program or _suggest_start(error, shapes, namespace) or ""
    return line, text


def install(packages: Sequence[str]) -> None:
    """Format errors in threads and in logging like a program's own: with its lines, without ours.

    `packages` are those programs may import.
    """
    _IMPORTABLE[:] = ["the standard library", *packages]

    def show_in_thread(hook: threading.ExceptHookArgs) -> None:
        if hook.exc_value is not None and not isinstance(hook.exc_value, SystemExit):
            name = on_one_line(hook.thread.name, MAX_LINE) if hook.thread else "?"
            sys.stderr.write(f"Exception in thread {name}:\n{describe(hook.exc_value, Shapes({}), {})[1]}")

    def show_in_logging(self: logging.Handler, record: logging.LogRecord) -> None:
        del self
        error = sys.exception()
        if error is not None:
            sys.stderr.write(f"Logging error in {quoted(record.msg)}:\n{describe(error, Shapes({}), {})[1]}")

    threading.excepthook = show_in_thread
    logging.Handler.handleError = show_in_logging


def _cut(text: str, most: int) -> str:
    # On the same line: no part of an exception's text begins one.
    if len(text) <= most:
        return text
    return f"{text[: most // 2]} [...] {text[-most // 2 :]}"


class _Apart(traceback.TracebackException):
    """Indents all lines of an exception's text that no class name begins, because only our own text begins a line."""

    def format_exception_only(self, **options: Any) -> Generator[str]:
        """Yield the position of a syntax error, the exception's text, and its notes."""
        is_said = False
        for piece in super().format_exception_only(**options):
            text = indent_rest(piece)
            if not piece.startswith(" ") and (is_said or not _CLASS.match(piece)):
                text = indent_rest(f"\n{piece}")[1:]
            yield f"{text}\n"
            is_said = is_said or not piece.startswith(" ")


def _keep_apart(exception: traceback.TracebackException) -> None:
    """Indent foreign text, and drop frames other than the program's: ours, and those of libraries."""
    pending: list[traceback.TracebackException | None] = [exception]
    while pending:
        member = pending.pop()
        if member is None:
            continue
        frames = [frame for frame in member.stack if is_program(frame.filename)]
        member.stack = traceback.StackSummary.from_list(frames)
        member.__class__ = _Apart
        pending += [member.__cause__, member.__context__, *(member.exceptions or ())]


def _hint(error: BaseException, shapes: Shapes, namespace: Mapping[str, object]) -> str | None:
    try:
        for error_class, hint in _HINTS:
            if isinstance(error, error_class):
                return hint(error, shapes, namespace)
    except BaseException:  # noqa: BLE001 - foreign code: looking at a program's objects runs their methods
        return None
    return None


def _outside_hint(error: Exception, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    lack = name_the_lack(error)
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
    return f"programs can import {' and '.join(_IMPORTABLE)}, without files, network and processes"


def _syntax_hint(error: SyntaxError, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    if "'return' outside function" in str(error):
        return "a program has no return: make the value its last expression, or print it"
    return spelling_hint(error, shapes)


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
    if line is None or line != end_line or column is None or end_column is None:
        return None, frame
    segment = linecache.getline(frame.f_code.co_filename, line).encode()[column:end_column].decode()
    try:
        return ast.parse(segment.strip(), mode="eval").body, frame
    except SyntaxError:  # no expression, or a statement such as an import
        return None, frame


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


def _attribute_hint(error: AttributeError, _shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    owner = error.obj
    wanted = error.name or ""
    if isinstance(owner, dict):
        keys = cast("dict[object, object]", owner)
        key = wanted if wanted in keys else "key"
        return f"this is a dict: use {item_text('', key)}; its keys are: {name_list(keys, wanted)}"
    if isinstance(owner, list):
        return "this is a list: take one item of it, or loop over it"
    public = [name for name in dir(owner) if not name.startswith("_") or wanted.startswith("_")]
    near = close_matches(wanted, public)
    if not near:
        return None
    return f"{name_text(_TYPE_NAME(type(owner)))} has: {name_list(near)}"


def _find_failed_call(error: ToolError, shapes: Shapes) -> tuple[ast.Call, Shape] | None:
    """Return the failed call and its tool, if the failing line names it plainly."""
    node = _failing(error.__traceback__)[0]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    tool = shapes.get(node.func.id)
    if tool is None:
        return None
    return node, tool


def _suggest_start(error: BaseException, shapes: Shapes, taken: Collection[str]) -> str | None:
    """Return the beginning of a program that reads the value the failed call got as a literal, or None."""
    failed: tuple[ast.Call, Shape] | None = None
    if isinstance(error, ToolError):
        failed = _find_failed_call(error, shapes)
    frame = _failing(error.__traceback__)[1]
    if frame is not None and isinstance(error, OSError) and failed is None:
        calls = suggest_fetches("".join(linecache.getlines(frame.f_code.co_filename)), shapes)
        return program_to_copy("Begin like this instead:", calls, shapes, taken)
    if failed is None or frame is None:
        return None
    values = {**frame.f_globals, **frame.f_locals}.items()
    known = {name: literal(value) for name, value in values if type(value) is str and len(value) <= _MAX_NAME}
    known |= {name: repr(value) for name, value in values if type(value) is int and abs(value) < _MAX_INT}
    return program_to_copy(BEGUN, suggest_call_loop(*failed, shapes, known), shapes, taken)


def _tool_hint(error: ToolError, shapes: Shapes, _namespace: Mapping[str, object]) -> str | None:
    """Return the signature of the tool that refused its arguments, and sources for invented values, as a hint."""
    failed = _find_failed_call(error, shapes)
    if failed:
        tool = failed[1]
    else:
        text = str(error)
        tool = next((shapes[name] for name in shapes if text.startswith(f"{name}:")), None)
    if tool is None:
        return None
    sentences = list(sources(tool, shapes))
    if isinstance(error, TypeError):
        sentences.insert(0, f"the tool is {tool.signature}")
    return "; ".join(sentences)


def _name_hint(error: NameError, shapes: Shapes, namespace: Mapping[str, object]) -> str:
    wanted = error.name or ""
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


def _call_hint(error: TypeError, shapes: Shapes, namespace: Mapping[str, object]) -> str | None:
    tool = next((shapes[name] for name in shapes if str(error).startswith(f"an argument of {name}:")), None)
    if tool is not None:
        return f"the tool is {tool.signature}"
    if str(error).startswith("string indices must be integers"):
        owner = _subscript_owner(error.__traceback__)
        if isinstance(owner, str):
            return f"this is the str {quoted(owner)}, which has no keys"
        return None
    if "unhashable type: 'Record'" in str(error):
        return 'a record is a dict, and cannot be in a set or be a key: use one of its values, like row["id"]'
    match = _CALL_PROBLEM.match(str(error))
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
    (TypeError, _call_hint),
    (SyntaxError, _syntax_hint),
    (ModuleNotFoundError, _import_hint),
    (Exception, _outside_hint),
)
