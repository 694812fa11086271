"""What a pool asks of the one that makes its workers: a zygote does, and so does each other backend with a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.workers.handle import WorkerHandle
    from ez_ptc.sandbox.host.workers.ready import ReadyWorkers
    from ez_ptc.sandbox.protocol.isolation import Report

__all__ = ["RunningProgram", "WorkerMaker"]


class WorkerMaker(Protocol):
    """Makes workers. Any thread may call it; one that is lost raises ZygoteGoneError, and the pool makes another."""

    ready: ReadyWorkers
    """The workers without a program, to which new ones are added."""
    report: Report
    """The isolation of its workers."""
    refusal: str
    """Why the last worker could not be made."""
    refusals: int
    """How many workers in a row could not be made."""

    @property
    def ordered(self) -> int:
        """The number of workers ordered and not received yet."""
        ...

    def order(self, number: int) -> None:
        """Begin to make workers; do not wait for them."""
        ...

    def receive(self) -> None:
        """Add the workers that are made to `ready`; do not wait for others."""
        ...

    def wait(self) -> None:
        """Return when there is something to receive, or a moment later."""
        ...

    def expect_nothing_late(self) -> None:
        """Forget orders that have not been answered for long."""
        ...

    def ask(self, worker: WorkerHandle) -> None:
        """Begin to find out why a worker has ended."""
        ...

    def exit_reason(self, worker: WorkerHandle) -> str | None:
        """Return why a worker asked for with `ask` has ended, or None if unknown yet."""
        ...

    def disown(self) -> None:
        """Forget all workers, in a fork of the host: they belong to its parent."""
        ...

    def close(self) -> None:
        """End all workers, also those in use. Closing twice is harmless."""
        ...


class RunningProgram(NamedTuple):
    """A program in a leased worker: the maker of the worker, and the owner of the program."""

    zygote: WorkerMaker
    owner: object
