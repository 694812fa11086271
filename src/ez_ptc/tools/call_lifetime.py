"""Whether the caller of a running call still waits for it, and the calls that were abandoned."""

import atexit
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Final, ParamSpec, TypeVar

from ez_ptc.errors import ToolError

__all__ = ["CallLife", "RunningCalls", "to_the_end"]

P = ParamSpec("P")
R = TypeVar("R")

_MAX_LEFT: Final = 16
"""Abandoned calls of one tool that may still run; further calls are refused."""
_PATIENCE: Final = 2.0
"""Seconds that the interpreter's end waits for checks of arguments, which are bounded to less."""
_PAUSE: Final = 0.005


class CallLife:
    """One call, as its caller sees it: whether the call is still wanted, and whose time a person's answer takes."""

    __slots__ = ("is_given_up",)

    def __init__(self) -> None:
        self.is_given_up = False

    @property
    def is_wanted(self) -> bool:
        """Whether the caller waits for the result."""
        return not self.is_given_up

    @property
    def approval_seconds(self) -> float | None:
        """Seconds that a person has to answer, or None for any time."""
        return None

    def give_up(self) -> None:
        """Note that the caller no longer waits for the result."""
        self.is_given_up = True

    def pausing(self) -> AbstractContextManager[None]:
        """Return what a person is asked in: the time until the answer is not the caller's."""
        return nullcontext()


class RunningCalls:
    """The calls of one function that run now."""

    def __init__(self) -> None:
        # Adding to a set and taking from it needs no lock.
        self._lives: set[CallLife] = set()

    def begin(self, tool: str, life: CallLife) -> None:
        """Count a call in, unless it must not run.

        Raises ToolError if its caller no longer waits, or if too many abandoned calls are still running.
        """
        if not life.is_wanted:
            message = f"{tool} was not run: its caller no longer waits for the result"
            raise ToolError(message)
        self.check(tool)
        self._lives.add(life)

    def check(self, tool: str) -> None:
        """Raise ToolError if too many abandoned calls are still running."""
        left = sum(not each.is_wanted for each in tuple(self._lives)) if self._lives else 0
        if left >= _MAX_LEFT:
            message = f"{tool} was not run: {left} abandoned calls of it are still running; go on without it"
            raise ToolError(message)

    def end(self, life: CallLife) -> None:
        """Count a call out."""
        self._lives.discard(life)


def to_the_end(check: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Check arguments in a thread that nobody may wait for, but the interpreter at its end.

    Native code that is cut off there brings the process down.
    """
    checks, token = _checks(), object()
    checks.add(token)
    try:
        return check(*args, **kwargs)
    finally:
        checks.discard(token)


@cache
def _checks() -> set[object]:
    checks: set[object] = set()

    def wait() -> None:
        ends_at = time.monotonic() + _PATIENCE
        while checks and time.monotonic() < ends_at:
            time.sleep(_PAUSE)

    atexit.register(wait)
    return checks
