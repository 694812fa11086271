"""A worker that is somebody's, until it is released."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ez_ptc.sandbox.process.workers.handle import WorkerHandle

__all__ = ["Lease", "Lender"]


class Lender(Protocol):
    """Who gives workers out, and takes them back."""

    closed: str

    def release(self, worker: WorkerHandle) -> bool:
        """End a worker and let another program run instead; return whether it was still given out."""
        ...

    def exit_code(self, worker: WorkerHandle) -> int | None:
        """Return the exit code of a worker (negative: the signal) whose socket has ended; None when nobody knows."""
        ...


# Not a dataclass: one is made for each program, and a frozen one takes three times as long to make.
class Lease:
    """A worker that is somebody's, and the pool that takes it back.

    A lease that is dropped is released: whatever interrupts its owner, no worker is lost, and no place for a program.
    """

    __slots__ = ("_is_over", "_lender", "_withdrawn", "worker")

    def __init__(self, lender: Lender, worker: WorkerHandle) -> None:
        """Belong to the caller from now on."""
        self._lender = lender
        self._is_over = False
        self._withdrawn = ""
        self.worker = worker

    @property
    def withdrawn(self) -> str:
        """Why the worker was taken away while it was somebody's, or nothing."""
        return self._withdrawn or self._lender.closed

    def withdraw(self, reason: str) -> None:
        """Take the worker away, from any thread: its owner finds the conversation ended, and releases the lease."""
        self._withdrawn = reason
        self.worker.hang_up()

    def exit_code(self) -> int | None:
        """Return the exit code of the worker (negative: the signal) after its socket ended; None when nobody knows."""
        return self._lender.exit_code(self.worker)

    def release(self) -> bool:
        """End the worker and let another program run instead; return whether that was still to do."""
        if self._is_over:
            return False
        self._is_over = True
        return self._lender.release(self.worker)

    def forget(self) -> None:
        """Leave the worker alone: the lender has taken it back unused."""
        self._is_over = True

    def __del__(self) -> None:
        self.release()
