"""The one place where exceptions that leave a conversation get its `continuation`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["Continuing", "inherit_continuation"]


class Continuing:
    """A context manager that sets `continuation`, the builder that continues so far, on exceptions.

    Any exception gets it: ours, a listener's, an SDK's, a cancellation. One that accepts no attributes is left as it
    is; the stream's own `continuation` is the same.
    """

    def __init__(self, continuation: Callable[[], object]) -> None:
        self._continuation = continuation

    def __enter__(self) -> None:
        return

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, GeneratorExit):
            _set_continuation(error, self._continuation())


def inherit_continuation(interruption: KeyboardInterrupt) -> None:
    """Copy the continuation of the cancellation that an interruption became in an event loop."""
    cancellation = interruption.__cause__ or interruption.__context__
    continuation = getattr(cancellation, "continuation", None)
    if continuation is not None:
        _set_continuation(interruption, continuation)


def _set_continuation(error: BaseException, continuation: object) -> None:
    with suppress(Exception):  # foreign exceptions may refuse attributes in any way they like
        error.continuation = continuation  # pyright: ignore[reportAttributeAccessIssue] - any exception may have one
