"""The default backend: CPython workers, one a program, forked ahead of need from a confined zygote."""

from __future__ import annotations

import resource
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from ez_ptc._sync import Threads, in_forks
from ez_ptc.errors import WorkerDiedError
from ez_ptc.sandbox.converse import Exchange, rejected
from ez_ptc.sandbox.process.packages import find_packages
from ez_ptc.sandbox.process.pool import Pool
from ez_ptc.sandbox.process.room import Room
from ez_ptc.sandbox.process.running import MOST_REPEATS, Runner, problem_of
from ez_ptc.sandbox.process.session import ProcessSession
from ez_ptc.sandbox.process.zygote import ZygoteProcess

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from ez_ptc.sandbox.execution import Channel, ExecutionResult, Limits
    from ez_ptc.sandbox.isolation import Report

__all__ = ["ProcessSandbox"]

_DESCRIPTORS_EACH = 4


class ProcessSandbox:
    """Runs each program in a process of its own, from any thread and any event loop, also after the host has forked."""

    def __init__(
        self,
        *,
        ready: int = 4,
        running: int = 256,
        waiting: int = 1_000,
        patience: float = 60.0,
        allow_imports: Iterable[str] = (),
    ) -> None:
        """Start nothing yet: the zygote boots with the first program.

        Args:
            ready: How many workers (1.6 MB each) are kept waiting; more for a while when more are asked for.
            running: How many programs run at one time, as far as there are descriptors (four for each); others wait.
            waiting: How many may wait; the next one raises Overloaded.
            patience: Seconds that one waits at most; then it raises Overloaded.
            allow_imports: Packages that programs may import besides the standard library, as in `["numpy"]`.

        Raises:
            MissingExtraError: One of these packages is not installed.
            ValueError: There is room for nothing, or a time without end.
        """
        self._threads = Threads()
        room = Room(ready=ready, running=running, waiting=waiting, seconds=patience)
        room = replace(room, running=_most(running))
        packages = find_packages(allow_imports)
        self._pool = Pool(room, partial(ZygoteProcess, packages), self._threads)
        self._pool_of_alike = Pool(room, partial(ZygoteProcess, packages, alike=True), self._threads)
        self._runner = Runner(self._threads)
        in_forks(self._start_anew)

    def _start_anew(self) -> None:
        """Leave everything to the parent, in a fork of the host: its zygote, its threads and who holds the lock."""
        self._threads.forget()
        self._pool.start_anew()
        self._pool_of_alike.start_anew()
        self._runner.start_anew()

    @property
    def isolation(self) -> Report:
        """What the kernel enforces around programs here, found by trying. Boots the zygote if need be.

        Raises IsolationUnavailableError when what is required is missing.
        """
        return self._pool.zygote().report

    def warm_up(self) -> None:
        """Boot now, and have workers ready, instead of with the first program."""
        self._pool.refill()

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run `code` to its end and return how it ended.

        Raises:
            IsolationUnavailableError: The kernel does not give what is required.
            Overloaded: Too many programs wait, or one waited too long.
            WorkerDiedError: The sandbox's processes were killed under a program that had called tools.
            SandboxError: The sandbox, not the program, failed.
        """
        problem = problem_of(code, limits)
        if problem:
            return rejected(problem)
        exchange = self._attempt(code, channel, limits)
        if exchange.finished:
            return exchange.result()
        for _ in range(MOST_REPEATS):
            if not exchange.untouched:
                break
            exchange = self._attempt(code, channel, limits)
        return _result(exchange)

    def _attempt(self, code: str, channel: Channel, limits: Limits) -> Exchange:
        pool = self._pool_for(limits)
        lease = pool.take()
        exchange = Exchange(code, channel, limits)
        try:
            self._runner.run(exchange, lease, channel)
        finally:
            pool.give_back(lease)
        return exchange

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Do the same as `execute`, but await; cancelling it kills the program."""
        problem = problem_of(code, limits)
        if problem:
            return rejected(problem)
        exchange = await self._aattempt(code, channel, limits)
        for _ in range(MOST_REPEATS):
            if not exchange.untouched:
                break
            exchange = await self._aattempt(code, channel, limits)
        return _result(exchange)

    async def _aattempt(self, code: str, channel: Channel, limits: Limits) -> Exchange:
        pool = self._pool_for(limits)
        lease = await pool.atake()
        exchange = Exchange(code, channel, limits)
        try:
            await self._runner.arun(exchange, lease, channel)
        finally:
            pool.give_back(lease)
        return exchange

    def _pool_for(self, limits: Limits) -> Pool:
        return self._pool if limits.seed is None else self._pool_of_alike

    def session(self) -> ProcessSession:
        """Return a place for programs that share their names; it is the caller's to close."""
        return ProcessSession(self._pool, self._runner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process of this sandbox; it cannot be used any more."""
        self._pool.close()
        self._pool_of_alike.close()


def _result(exchange: Exchange) -> ExecutionResult:
    result = exchange.result()
    if not exchange.orphaned:
        return result
    names = ", ".join(call["name"] for call in result.tool_calls)
    why = (
        f"which is not run again because it had called tools ({names}): see what they did, and run it again if that "
        "does no harm"
        if names
        else f"{MOST_REPEATS + 1} times: memory may be short here, on the machine or in the container"
    )
    message = f"the sandbox's processes were killed under a program, {why}"
    raise WorkerDiedError(message)


def _most(running: int) -> int:
    """Return how many programs may run here: each holds two descriptors, and others of the host need some."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return running if descriptors < 0 else max(1, min(running, descriptors // _DESCRIPTORS_EACH))
