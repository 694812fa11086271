"""Programs that share one worker, and so the names that they define."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ez_ptc._sync import in_forks
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.converse import Earlier, Exchange, rejected
from ez_ptc.sandbox.process.running import MOST_REPEATS, problem_of

if TYPE_CHECKING:
    from ez_ptc.sandbox.execution import Channel, ExecutionResult, Limits
    from ez_ptc.sandbox.process.pool import Lease, Pool
    from ez_ptc.sandbox.process.running import Runner

__all__ = ["ProcessSession"]

_CUT_OFF = "its last program was cut off"
_GONE = "the names of this session are gone: define again what is needed"


class ProcessSession:
    """One worker for one program after the other; where it is lost, the next program begins in a new one.

    The loss is told once: by the result of the program that caused it or found it or, where nobody got one, by the
    next program's, which is not run.
    """

    def __init__(self, pool: Pool, runner: Runner) -> None:
        """Start nothing yet: the first program takes a worker."""
        self._pool = pool
        self._runner = runner
        self._lease: Lease | None = None
        self._busy = threading.Lock()
        self._earlier = Earlier()
        self._untold = ""
        self._closed = False
        in_forks(self._start_anew)

    def _start_anew(self) -> None:
        """Leave the worker to the parent, in a fork of the host."""
        self._busy = threading.Lock()
        if self._lease is not None:
            self._lease.worker.disown()
            self._forget("this process was forked from the one that has them")

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run `code` to its end, after the programs before it, and return how it ended.

        Raises:
            SandboxError: The sandbox, not the program, failed; or the session is closed or runs a program already.
        """
        self._begin()
        try:
            problem = self._problem(code, limits)
            if problem:
                return rejected(problem)
            exchange = self._attempt(code, channel, limits)
            for _ in range(MOST_REPEATS):
                if not self._may_repeat(exchange):
                    break
                exchange = self._attempt(code, channel, limits)
            return self._told(exchange)
        finally:
            self._busy.release()

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Do the same as `execute`, but await; cancelling it ends the program, and the names with it."""
        self._begin()
        try:
            problem = self._problem(code, limits)
            if problem:
                return rejected(problem)
            exchange = await self._aattempt(code, channel, limits)
            for _ in range(MOST_REPEATS):
                if not self._may_repeat(exchange):
                    break
                exchange = await self._aattempt(code, channel, limits)
            return self._told(exchange)
        finally:
            self._busy.release()

    def _begin(self) -> None:
        if not self._busy.acquire(blocking=False):
            message = "this session is running a program: wait until it has ended, or open another session"
            raise SandboxError(message)

    def _problem(self, code: str, limits: Limits) -> str:
        if self._closed:
            message = "this session is closed: open a new one"
            raise SandboxError(message)
        reason, self._untold = self._untold, ""
        if reason:
            return f"{_GONE} ({reason}; this program was not run)"
        return problem_of(code, limits)

    def _attempt(self, code: str, channel: Channel, limits: Limits) -> Exchange:
        lease = self._lease or self._kept(self._pool.take())
        exchange = Exchange(code, channel, limits, earlier=self._earlier)
        try:
            self._runner.run(exchange, lease, channel)
        except BaseException:
            self._end(_CUT_OFF)
            raise
        return exchange

    async def _aattempt(self, code: str, channel: Channel, limits: Limits) -> Exchange:
        lease = self._lease or self._kept(await self._pool.atake())
        exchange = Exchange(code, channel, limits, earlier=self._earlier)
        try:
            await self._runner.arun(exchange, lease, channel)
        except BaseException:
            # What is in a worker whose program was left in the middle is not known.
            self._end(_CUT_OFF)
            raise
        return exchange

    def _kept(self, lease: Lease) -> Lease:
        self._lease = lease
        self._pool.refill()
        return lease

    def _may_repeat(self, exchange: Exchange) -> bool:
        """Return whether the worker was lost before the first program had done anything: a new one runs it."""
        if not exchange.untouched or self._earlier.limits:
            return False
        self._end("")
        return True

    def _told(self, exchange: Exchange) -> ExecutionResult:
        """Return the result of a program and, where the worker cannot be used any more, say so in it."""
        result = exchange.result()
        if exchange.reusable:
            self._earlier = Earlier(self._earlier.calls + len(result.tool_calls), exchange.limits)
            return result
        nothing_lost = not (self._earlier.limits or exchange.begun)
        self._end("its last program left calls unanswered")
        if result.error is not None:
            self._untold = ""
            if not nothing_lost:
                result.error += f"; {_GONE}"
                result.error_output += _GONE + "\n"
        return result

    def _end(self, reason: str) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            self._pool.give_back(lease)
        self._forget(reason)

    def _forget(self, reason: str) -> None:
        self._lease = None
        self._untold = reason
        self._earlier = Earlier()

    def close(self) -> None:
        """End the session's process. Closing twice is fine."""
        self._closed = True
        self._end("")
