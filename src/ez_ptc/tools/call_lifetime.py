"""The lifetime of a call: whether its caller still waits for it, and how many abandoned calls still run."""

import atexit
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from ez_ptc.errors import ToolError

if TYPE_CHECKING:
    from ez_ptc.tools.approval_requests import ApprovalRequest
    from ez_ptc.tools.decisions import Decision

__all__ = ["CallInterrupted", "CallLife", "RunningCalls", "run_to_completion"]

P = ParamSpec("P")
R = TypeVar("R")

# Abandoned calls of one tool that may still run; further calls are refused.
_MAX_ABANDONED: Final = 16
# How long the exiting interpreter waits for argument checks, which are bounded to less.
_MAX_EXIT_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.005


class CallInterrupted(BaseException):
    """The caller's side stops a call before it ends: it waits for a decision, or it could not be recorded.

    `error` is what to raise instead of continuing; None if the call waits.
    """

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(error)
        self.error = error


class CallLife:
    """The caller's side of one call: whether it still wants the result, and what is decided and recorded about it.

    `can_wait` says whether the call may wait for a decision that comes later. Subclasses of callers that keep records
    override `verdict`, `clear`, `mark`, `recall`, `keep`, `begin`, `require_wanted`, `enqueue`, `dequeue`,
    `enter_function`, `leave_function` and `abandon`; those from `mark` on may block and may raise CallInterrupted.

    `reply` is the reply of an earlier, equal call, and `repeated_key` the key of an earlier call to repeat.
    """

    __slots__ = ("_idempotency_key", "is_given_up", "repeated_key", "reply")

    can_wait = False
    is_recorded = False
    """Whether `mark`, `keep`, `begin` and `abandon` may block."""

    def __init__(self) -> None:
        self.is_given_up = False
        self._idempotency_key: str | None = None
        self.reply: object = None
        self.repeated_key: str | None = None

    @property
    def idempotency_key(self) -> str:
        """A text that is the same each time this call is repeated, and different for every other call."""
        key = self._idempotency_key = self.repeated_key or self._idempotency_key or uuid.uuid4().hex
        return key

    @property
    def id(self) -> str:
        """The id under which the call waits for a decision."""
        return self.idempotency_key

    @property
    def path(self) -> str:
        """The call's position in its program, or ""."""
        return ""

    @property
    def verdict(self) -> bool | None:
        """Whether the call needs approval, as recorded earlier; None if the tool's rule has to be asked.

        A waiting or decided call needs approval, whatever the rule would say by now.
        """
        return None

    def clear(self) -> None:
        """Take note: by the tool's rule, the call needs no approval."""

    def mark(self, request: "ApprovalRequest") -> None:
        """Record the call as waiting for a decision, before anyone is asked about it.

        Raises ToolError if its arguments are too large for the record.
        """

    def recall(self, request: "ApprovalRequest") -> "Decision | None":
        """Return the decision that was made about the call earlier, or None."""
        del request

    def notify(self, request: "ApprovalRequest") -> None:
        """Take note that a decision is needed now, from an approver or later."""

    def keep(self, request: "ApprovalRequest", decision: "Decision") -> "Decision":
        """Record a decision, and return the one that counts: another may have come first."""
        del request
        return decision

    def begin(self, read_arguments: Callable[[], dict[str, object]]) -> None:
        """Record that the function is about to run; `read_arguments` returns its arguments as JSON."""

    def enqueue(self) -> None:
        """Let the call wait for the thread its tool names; `begin` comes once that is free."""

    def dequeue(self) -> None:
        """End the wait for the thread; may raise to prevent the call."""

    def enter_function(self) -> None:
        """Take note of the function's beginning; may raise to prevent it."""

    def leave_function(self) -> None:
        """Take note of the function's end, perhaps long after its caller has left."""

    def abandon(self) -> None:
        """Record that the function is left running in its thread, and its result will be lost."""
        self.give_up()

    @property
    def is_wanted(self) -> bool:
        """Whether the caller waits for the result."""
        return not self.is_given_up

    def require_wanted(self, tool: str) -> None:
        """Raise ToolError if the caller no longer waits; subclasses may raise CallInterrupted."""
        if not self.is_wanted:
            message = f"{tool} was not run: its caller no longer waits for the result"
            raise ToolError(message)

    @property
    def approval_seconds(self) -> float | None:
        """Seconds the approver has to answer, or None for no limit."""
        return None

    def give_up(self) -> None:
        """Record that the caller no longer waits for the result."""
        self.is_given_up = True

    def pausing(self) -> AbstractContextManager[None]:
        """Return a context in which the caller's clock stands still, for asking the approver."""
        return nullcontext()

    def reporting(self) -> AbstractContextManager[object] | None:
        """Return a context in which the function's progress is reported; None if the caller does not watch it."""
        return None


class RunningCalls:
    """The calls of one tool that are running, abandoned ones included."""

    __slots__ = ("_lives",)

    def __init__(self) -> None:
        # Adding to a dict and removing from it are atomic, so there is no lock. An empty set takes three times as much.
        self._lives: dict[CallLife, None] = {}

    def begin(self, tool: str, life: CallLife) -> None:
        """Add a call.

        Raises what `require_wanted` raises, and ToolError if too many abandoned calls are still running.
        """
        life.require_wanted(tool)
        self.check(tool)
        life.enter_function()
        self._lives[life] = None

    def check(self, tool: str) -> None:
        """Raise ToolError if too many abandoned calls are still running."""
        if not self._lives:
            return
        abandoned = sum(not life.is_wanted for life in list(self._lives))
        if abandoned >= _MAX_ABANDONED:
            message = f"{tool} was not run: {abandoned} abandoned calls of it are still running; continue without it"
            raise ToolError(message)

    def end(self, life: CallLife) -> None:
        """Remove a call."""
        self._lives.pop(life, None)
        life.leave_function()


def run_to_completion(check: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run an argument check that the exiting interpreter waits for, even in a daemon thread.

    Cutting off native code (pydantic's) at exit would crash the process.
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
        ends_at = time.monotonic() + _MAX_EXIT_SECONDS
        while checks and time.monotonic() < ends_at:
            time.sleep(_POLL_SECONDS)

    atexit.register(wait)
    return checks
