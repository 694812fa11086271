"""Failed calls: their log records and their results."""

import functools
import logging
import sys
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from ez_ptc.errors import ArgumentsError, DuplicateToolError, SchemaError, ToolError, ToolNotFoundError
from ez_ptc.messages import ToolResult, exception_text
from ez_ptc.results.bounds import MAX_TEXT, ResultKeeper
from ez_ptc.results.robust_repr import message_of
from ez_ptc.schema.safe_repr import safe_line

__all__ = ["failure", "is_of_another_thread", "log_error", "log_text", "logs_refusal"]

P = ParamSpec("P")
R = TypeVar("R")

_MAX_LOG_LENGTH: Final = 500
_MAX_CAUSES: Final = 10
_THREAD_ERROR: Final = "SQLite objects created in a thread can only be used in that same thread"
_THREAD_HINT: Final = (
    'for the developer of {tool}: write @ez_tool(thread="db") on all tools that share the connection, and make it on '
    "first use, in one of them"
)

_log = logging.getLogger("ez_ptc.tools")
# Without it, Python would print warnings to stderr when the application has not configured logging.
_log.addHandler(logging.NullHandler())


def failure(
    tool: str,
    error: Exception,
    *,
    duration_ms: float = 0.0,
    max_text: int = MAX_TEXT,
    keeper: ResultKeeper | None = None,
) -> ToolResult:
    """Log a call's exception, without the traceback of a ToolError that has no cause, and return the failed result.

    SQLite's complaint about threads gets a note about the option that keeps a connection in one.
    """
    hint = None
    if is_of_another_thread(error):
        hint = _THREAD_HINT.format(tool=tool)
        BaseException.add_note(error, hint)
    if isinstance(error, ArgumentsError | ToolNotFoundError):
        _log.warning("call refused: %s", log_text(error))
    elif (
        isinstance(error, ToolError)
        and (error.__suppress_context__ or error.__context__ is None)
        and error.__cause__ is None
    ):
        # Its message is all there is.
        _log.warning("%s failed: %s", tool, log_text(error))
    else:
        log_error(f"{tool} failed", error)
    message = message_of(error)
    if hint is not None:
        message = f"{message} ({hint})"
    return ToolResult(
        success=False, error=message, exception=error, duration_ms=duration_ms, max_text=max_text, keeper=keeper
    )


def logs_refusal(define: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function to log SchemaError and DuplicateToolError before they are raised."""

    @functools.wraps(define)
    def define_and_log(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return define(*args, **kwargs)
        except (SchemaError, DuplicateToolError) as error:
            _log.warning("definition refused: %s", log_text(error))
            raise

    return define_and_log


def is_of_another_thread(error: BaseException) -> bool:
    """Return whether SQLite refused an object of another thread, also if a library such as SQLAlchemy reports it."""
    sqlite3 = sys.modules.get("sqlite3")
    cause: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if sqlite3 is None or cause is None:
            return False
        if type(cause) is sqlite3.ProgrammingError and str(cause).startswith(_THREAD_ERROR):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def log_error(summary: str, error: Exception) -> None:
    """Log an exception as a warning, with its traceback."""
    _log.warning("%s: %s", summary, log_text(error), exc_info=error)


def log_text(error: BaseException) -> str:
    """Return an exception's text for a log, on one line."""
    return safe_line(exception_text(error), _MAX_LOG_LENGTH)
