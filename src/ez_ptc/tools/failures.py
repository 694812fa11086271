"""Failed calls: their log records and their results."""

import functools
import logging
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from ez_ptc.errors import ArgumentsError, DuplicateToolError, SchemaError, ToolError, ToolNotFoundError
from ez_ptc.messages import ToolResult, exception_text
from ez_ptc.results.bounds import MAX_TEXT, ResultKeeper
from ez_ptc.schema.safe_repr import safe_line

__all__ = ["failure", "log_error", "log_text", "logs_refusal"]

P = ParamSpec("P")
R = TypeVar("R")

_MAX_LOG_LENGTH: Final = 500

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
    """Log a call's exception, without the traceback of a ToolError that has no cause, and return the failed result."""
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
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an exception's own text is foreign code too
        message = type(error).__name__
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


def log_error(summary: str, error: Exception) -> None:
    """Log an exception as a warning, with its traceback."""
    _log.warning("%s: %s", summary, log_text(error), exc_info=error)


def log_text(error: BaseException) -> str:
    """Return an exception's text for a log, on one line."""
    return safe_line(exception_text(error), _MAX_LOG_LENGTH)
