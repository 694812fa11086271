"""The lease of a worker, until it is released."""

from __future__ import annotations

import _thread
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.host.workers.checkers import Checkers, ProgramCheck
    from ez_ptc.sandbox.host.workers.handle import WorkerHandle
    from ez_ptc.sandbox.protocol.exchange import Exchange
    from ez_ptc.sandbox.protocol.execution import Grants

__all__ = ["Lease", "LeaseState", "Lender"]


class Lender(Protocol):
    """Lends workers and takes them back."""

    closed: str

    def release(self, worker: WorkerHandle, *, is_clean: bool) -> bool:
        """End a worker so that another program may run; one that `is_clean` may serve again.

        Return whether it was still leased.
        """
        ...

    def exit_reason(self, worker: WorkerHandle) -> str | None:
        """Return why a worker ended, after its socket ended, or None if unknown."""
        ...

    def order_ready(self) -> None:
        """Have waiting callers served."""
        ...


class LeaseState(StrEnum):
    """A state of a lease; `Lease` has their table."""

    LENT = "lent"
    WITHDRAWN = "withdrawn"
    OVER = "over"


# Not a dataclass: one is made for each program, and a frozen one takes three times as long to make.
class Lease:
    """A worker lent to one owner, and its lender.

        state     | withdraw  | release | forget
        LENT      | WITHDRAWN | OVER    | OVER
        WITHDRAWN |           | OVER    | OVER
        OVER      |           |         |

    A dropped lease is released, so an interrupted owner loses neither the worker nor the place for a program. Any
    thread may withdraw it, also too late: once it is over, the worker may have another owner, and is left alone.
    """

    __slots__ = ("_checkers", "_first", "_reason", "check", "is_clean", "lender", "state", "worker")

    def __init__(self, lender: Lender, worker: WorkerHandle, checkers: Checkers) -> None:
        """Lend `worker` to the caller; `checkers` may check its program."""
        self._checkers = checkers
        self.lender = lender
        self._reason = ""
        # The thread that takes it has made the first change, in one step; no one waits for it.
        self._first = _thread.allocate_lock()
        self.state = LeaseState.LENT
        self.is_clean = False
        """Whether the program has ended by itself, and nothing of it is left in any part of the host."""
        self.check: ProgramCheck | None = None
        """The check of its program in another worker, or None if its own one checks it."""
        self.worker = worker
        worker.change("lend")

    def begin_check(self, owner: Grants, code: str) -> bool:
        """Have the program of an owner checked in another worker; return False if its own one has to."""
        self.check = self._checkers.begin(owner, code)
        return self.check is not None

    def is_cleared(self, exchange: Exchange) -> bool:
        """Return whether the frames of its program may be read, after waiting for the verdict of its check.

        The exchange of a refused program ends; but one whose lease was withdrawn is lost, as without a check.
        """
        return self.check is None or self.check.wait(exchange.limits.timeout) or self._refuse(exchange)

    async def ais_cleared(self, exchange: Exchange) -> bool:
        """Same as `is_cleared`, but awaits."""
        return self.check is None or await self.check.arrive(exchange.limits.timeout) or self._refuse(exchange)

    def _refuse(self, exchange: Exchange) -> bool:
        if not self.withdrawn:
            exchange.end("the program was not cleared by its check")
        return False

    @property
    def withdrawn(self) -> str:
        """The reason why the worker was withdrawn from its owner, or an empty text."""
        return self._reason or self.lender.closed

    def withdraw(self, reason: str) -> bool:
        """Withdraw the worker, from any thread: its owner finds the socket at its end, and releases the lease.

        Return False, and do nothing, if it is withdrawn or over.
        """
        if not self._first.acquire(blocking=False):
            return False
        self._reason = reason
        self.state = LeaseState.WITHDRAWN
        self.worker.hang_up()
        return True

    def exit_reason(self) -> str | None:
        """Return why the worker ended, after its socket ended, or None if unknown."""
        return self.lender.exit_reason(self.worker)

    def release(self) -> bool:
        """End the worker so that another program may run. Return whether this was the first release."""
        is_clean = self._first.acquire(blocking=False) and self.is_clean
        if self.state is LeaseState.OVER:
            return False
        self.state = LeaseState.OVER
        if self.check is not None:
            self.check.leave()
        return self.lender.release(self.worker, is_clean=is_clean and not self.withdrawn)

    def forget(self) -> None:
        """Leave the worker alone, because the lender has taken it back unused."""
        self._first.acquire(blocking=False)
        self.state = LeaseState.OVER

    # A process that ends may have cleared the pool's modules; its workers end with its sockets.
    def __del__(self, *, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_ending():
            self.release()
