"""The one place where what leaves a conversation is given the way to go on with it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["Continuing", "inherit_continuation"]


class Continuing:
    """A context whose exceptions get a `continuation`: the builder that goes on with what has happened so far.

    Any exception does, ours or not: a listener's, an SDK's, a cancellation. One that takes no attribute is left as it
    is; the stream's own `continuation` has the same.
    """

    def __init__(self, continuation: Callable[[], object]) -> None:
        self._continuation = continuation

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, GeneratorExit):
            _give(error, self._continuation())


def inherit_continuation(interruption: KeyboardInterrupt) -> None:
    """Give an interruption the continuation of the cancellation that it became in an event loop."""
    cancellation = interruption.__cause__ or interruption.__context__
    continuation = getattr(cancellation, "continuation", None)
    if continuation is not None:
        _give(interruption, continuation)


def _give(error: BaseException, continuation: object) -> None:
    with suppress(Exception):  # foreign exceptions may refuse attributes in any way they like
        error.continuation = continuation  # pyright: ignore[reportAttributeAccessIssue] - any exception may have one
