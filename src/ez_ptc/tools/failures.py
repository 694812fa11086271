"""What went wrong in a call: what is logged, and what a model reads of it."""

import functools
import logging
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from ez_ptc.errors import ArgumentsError, DuplicateToolError, SchemaError, ToolNotFoundError
from ez_ptc.messages import ToolResult
from ez_ptc.schema.safe_repr import safe_line

__all__ = ["error_text", "failure", "log_error", "log_text", "logs_refusal"]

P = ParamSpec("P")
R = TypeVar("R")

_MESSAGE_WIDTH: Final = 4000
_LOG_WIDTH: Final = 500

_log = logging.getLogger("ez_ptc.tools")
# A library that nobody configured logging for keeps quiet.
_log.addHandler(logging.NullHandler())


def failure(tool: str, error: Exception, *, duration_ms: float = 0.0) -> ToolResult:
    """Log what a call ended with, and return it as a result."""
    if isinstance(error, ArgumentsError | ToolNotFoundError):
        _log.warning("call refused: %s", log_text(error))
    else:
        log_error(f"{tool} failed", error)
    return ToolResult(success=False, error=error_text(error), exception=error, duration_ms=duration_ms)


def logs_refusal(define: Callable[P, R]) -> Callable[P, R]:
    """Return a function that does the same and logs what a definition is refused with, before it is raised."""

    @functools.wraps(define)
    def defined(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return define(*args, **kwargs)
        except (SchemaError, DuplicateToolError) as error:
            _log.warning("definition refused: %s", log_text(error))
            raise

    return defined


def log_error(what: str, error: Exception) -> None:
    """Log that something failed, with the traceback."""
    _log.warning("%s: %s", what, log_text(error), exc_info=error)


def log_text(error: BaseException) -> str:
    """Return what a log says of an exception, in one line."""
    return safe_line(error_text(error), _LOG_WIDTH)


def error_text(error: BaseException) -> str:
    """Return what a model reads of an exception: its message, never a traceback.

    An exception that has none, or whose message is a key alone, is preceded by its class.
    """
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an exception's own text is foreign code too
        return name
    if len(message) > _MESSAGE_WIDTH:
        message = f"{message[: _MESSAGE_WIDTH - 1]}…"
    if not message.strip():
        return name
    return f"{name}: {message}" if isinstance(error, KeyError) else message
