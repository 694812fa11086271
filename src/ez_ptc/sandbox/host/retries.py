"""Running a program, again if its worker was lost without any effect: one loop for threads and event loops.

Theory of operation. A generator (`_steps` of a sandbox in `backend.py`, and of a session) decides: it yields a request
to get a lease, then an exchange and its lease to have the program run, and it returns the program's result.
`drive` and `adrive` do what it asks for, blocking or awaiting. An exception of a step is raised in the generator at its
`yield`, so the generator alone gives leases back.

A program is repeated only if its exchange `is_repeatable`: it had no effect, since it never reached its worker, or was
killed together with the zygote before it called a tool. Its worker may be lost first, and then the zygote, so there are
three attempts.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Generator

    from ez_ptc.sandbox.host.pool import Pool
    from ez_ptc.sandbox.host.runner import Runner
    from ez_ptc.sandbox.host.workers.lease import Lease
    from ez_ptc.sandbox.protocol.exchange import Exchange
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.sandbox.protocol.interfaces import Channel

__all__ = ["MAX_ATTEMPTS", "Steps", "WorkerRequest", "adrive", "drive"]

MAX_ATTEMPTS = 3


class WorkerRequest(NamedTuple):
    """A request for a worker of a pool, for a program of an owner; a worker prepared for its head will do.

    After its first worker, a program gets the next one before others: it has waited for its place.
    """

    pool: Pool
    owner: object
    head: bytes | None = None
    is_again: bool = False


Steps: TypeAlias = "Generator[WorkerRequest | tuple[Exchange, Lease], Any, ExecutionResult]"


def drive(steps: Steps, runner: Runner, channel: Channel) -> ExecutionResult:
    """Take the steps of a generator in this thread, and return its result."""
    with closing(steps):
        try:
            step = next(steps)
            while True:
                try:
                    if isinstance(step, WorkerRequest):
                        outcome = step.pool.take(step.owner, step.head, is_again=step.is_again)
                    else:
                        outcome = runner.run(*step, channel)
                except BaseException as error:  # noqa: BLE001 - the generator decides, and raises it again
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as end:
            return end.value


async def adrive(steps: Steps, runner: Runner, channel: Channel) -> ExecutionResult:
    """Same as `drive`, but awaits the steps."""
    with closing(steps):
        try:
            step = next(steps)
            while True:
                try:
                    if isinstance(step, WorkerRequest):
                        outcome = await step.pool.atake(step.owner, step.head, is_again=step.is_again)
                    else:
                        outcome = await runner.arun(*step, channel)
                except BaseException as error:  # noqa: BLE001 - the generator decides, and raises it again
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as end:
            return end.value
