"""Errors of a program as text, from which a model can repair it."""

from __future__ import annotations

import linecache
import logging
import re
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, cast

from ..protocol.both_ends.copying import CORRECTED
from ..protocol.both_ends.errors import is_denial
from ..protocol.both_ends.quoting import MAX_LINE, indent_rest, name_text, on_one_line, quoted
from .proposals import MAX_HINT, program_to_copy
from .reading.program import EmptyProgramError, is_program
from .reading.reflow import unfold_statements
from .reading.source_repair import without_return
from .runtime.hints import IMPORTABLE, begin_of_program, hint_for
from .signatures import Shapes
from .silent_programs import ASKED_FOR

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

__all__ = ["describe", "install", "is_clean_exit"]

_MAX_TEXT = 20_000
_ON_LINES = "begin each statement on a line of its own, and indent what stands under another"
# A program's own metaclass may define another `__name__`.
_TYPE_NAME = vars(type)["__name__"].__get__
_EXIT_CODE = vars(SystemExit)["code"].__get__
# An exception's class at the start of a line; its name may be anything except the beginning of our own lines.
_CLASS = re.compile(r"(?!(?:Hint|ERROR)\b)[\w.<>]+(?::|\n|\Z)")


def describe(
    error: BaseException, shapes: Shapes, namespace: Mapping[str, object], most: int = _MAX_TEXT
) -> tuple[str, str]:
    """Return ``(error, traceback)``: one line with a hint, and the traceback of the program's own lines.

    The traceback has at most `most` characters, and a hint.
    """
    try:
        return _error_and_trace(error, shapes, namespace, most)
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


def _error_and_trace(
    error: BaseException, shapes: Shapes, namespace: Mapping[str, object], most: int
) -> tuple[str, str]:
    if isinstance(error, EmptyProgramError):
        message = f"the program is empty: {ASKED_FOR}"
        if error.has_comments:
            message += ", not only comments"
        return message, message + "\n"
    hint = hint_for(error, shapes, namespace)
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
        if is_program(filename) and "'return' outside function" in line:
            program = program_to_copy(CORRECTED, without_return("".join(linecache.getlines(filename))), None, namespace)
        elif not hint and is_program(filename):
            corrected = unfold_statements("".join(linecache.getlines(filename)))
        if corrected:
            hint, program = _ON_LINES, program_to_copy(CORRECTED, corrected, shapes, namespace)
    line, text = _cut(line, 2_000), _cut(text, most)
    if hint:
        hint = on_one_line(hint, MAX_HINT)
        line, text = f"{line}\nHint: {hint}", f"{text}Hint: {hint}\n"
        if not is_denial(error):  # otherwise no program is asked for
            text += program or begin_of_program(error, shapes, namespace) or ""
    return line, text


def install(packages: Sequence[str]) -> None:
    """Format errors in threads and in logging like a program's own: with its lines, without ours.

    `packages` are those programs may import.
    """
    IMPORTABLE[:] = ["the standard library", *packages]

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
    return f"{text[: most // 2]} [... {len(text) - most:,} characters are left out here ...] {text[-most // 2 :]}"


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


class _Stack(traceback.StackSummary):
    """Formats repeated frames once: recursion repeats one thousands of times, and CPython parses its line each time."""

    def __init__(self, frames: Iterable[traceback.FrameSummary]) -> None:
        super().__init__(frames)
        self._texts: dict[tuple[object, ...], str] = {}

    def format_frame_summary(self, frame_summary: traceback.FrameSummary, **options: Any) -> str:
        """Return the text of a frame."""
        position = frame_summary.colno, frame_summary.end_colno, frame_summary.end_lineno
        key = (frame_summary.filename, frame_summary.lineno, frame_summary.name, *position)
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = super().format_frame_summary(frame_summary, **options)
        return text


def _keep_apart(exception: traceback.TracebackException) -> None:
    """Indent foreign text, and drop frames other than the program's: ours, and those of libraries."""
    pending: list[traceback.TracebackException | None] = [exception]
    while pending:
        member = pending.pop()
        if member is None:
            continue
        frames = [frame for frame in member.stack if is_program(frame.filename)]
        member.stack = _Stack(frames)
        member.__class__ = _Apart
        pending += [member.__cause__, member.__context__, *(member.exceptions or ())]
