"""A caller's place in the queue for workers."""

from __future__ import annotations

import contextlib
from time import perf_counter
from typing import TYPE_CHECKING

from ez_ptc.errors import Overloaded, SandboxError
from ez_ptc.sandbox.host.workers.lease import Lease
from ez_ptc.telemetry.metrics import current_metrics

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QueueTicket", "too_late_error", "too_many_error"]


class QueueTicket:
    """One caller's place in the queue. Any thread may serve it, once, and the caller may leave at any time."""

    __slots__ = ("_has_left", "_since", "_wake", "given", "head", "owner")

    def __init__(self, wake: Callable[[], object], head: bytes | None, owner: object) -> None:
        """Call `wake` when the place is served, with a worker for a program of `owner` with `head`."""
        self._since = perf_counter()
        self.head = head
        self.owner = owner
        self.given: Lease | Exception | None = None
        self._has_left = False
        self._wake = wake

    def give(self, what: Lease | Exception) -> None:
        """Serve the caller with a lease, or with the error for there being none."""
        self.given = what
        # The caller's event loop may be closed by now.
        with contextlib.suppress(RuntimeError):
            self._wake()
        if self._has_left:
            self._return()

    def dismiss(self) -> None:
        """Serve a caller who has left, in any thread, with an error."""
        self.give(SandboxError("the caller has left before the program ran"))

    def take(self, otherwise: Exception) -> Lease:
        """Return the lease that was given. Raises the error that was given instead, or `otherwise` if none was."""
        metrics = current_metrics()
        if metrics is not None:
            metrics.record_queue(perf_counter() - self._since)
        outcome = self.given or otherwise
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def leave(self) -> None:
        """Leave the queue, and release a lease that was given or will be."""
        self._has_left = True
        self._return()

    def _return(self) -> None:
        if isinstance(self.given, Lease):
            self.given.release()


def too_many_error(running: int, waiting: int) -> Overloaded:
    """Return the error for a caller that exceeds the queue's length."""
    return Overloaded(
        f"{running} programs run and {waiting} wait, the most that this sandbox takes: run fewer at a time, or make it "
        "larger, as in ProcessSandbox(running=…, waiting=…)"
    )


def too_late_error(running: int, seconds: float, refusal: str) -> Overloaded:
    """Return the error for a caller that has waited too long."""
    return Overloaded(
        f"no worker became free within {seconds:g} s, {running} programs run"
        + (f", and no more workers can be started ({refusal})" if refusal else "")
        + ": run fewer at a time, give them less time, or let more run, as in ProcessSandbox(running=…)"
    )
