"""The progress of a running call, as its tool reports it."""

import numbers
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, Self

from ez_ptc.schema.safe_repr import safe_repr, safe_repr_with_type
from ez_ptc.schema.standard.sentences import without_surrogates

__all__ = ["MAX_MESSAGE", "MAX_PROGRESS", "REPORT", "ProgressReport", "ignore_progress"]

MAX_PROGRESS: Final = 2**53
"""The greatest number: up to here, no reader of JSON rounds whole numbers."""

MAX_MESSAGE: Final = 500
"""Characters of a message; longer ones are cut."""


class ProgressReport(NamedTuple):
    """A checked report: `done` of `total`, or of an unknown total, and a message."""

    done: float
    total: float | None
    message: str | None

    @classmethod
    def of(cls, done: object, total: object = None, message: object = None) -> Self:
        """Check a report. Raises TypeError and ValueError."""
        if message is not None:
            if not isinstance(message, str):
                error = f"progress: expected the message to be a str, got {safe_repr_with_type(message)}"
                raise TypeError(error)
            message = str(message)
            if len(message) > MAX_MESSAGE:
                message = f"{message[: MAX_MESSAGE - 1]}…"
            message = without_surrogates(message)
        return cls(_number("done", done), None if total is None else _number("total", total), message)


REPORT: Final[ContextVar[Callable[..., None] | None]] = ContextVar("ez_ptc_progress", default=None)
"""Reports progress of the innermost watched call."""


def ignore_progress(done: float, total: float | None = None, message: str | None = None) -> None:
    """Check an unread report. Raises TypeError and ValueError."""
    ProgressReport.of(done, total, message)


def _number(name: str, value: Any) -> float:  # noqa: ANN401 - whatever a tool reports
    # NumPy's numbers are Real, and True is as well.
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        message = f"progress: expected {name} to be a number, got {safe_repr_with_type(value)}"
        raise TypeError(message)
    number: Any = value
    if not 0 <= number <= MAX_PROGRESS:  # refuses NaN too
        message = f"progress: expected {name} to be a number from 0 to 2**53, got {safe_repr(value)}"
        raise ValueError(message)
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value)
