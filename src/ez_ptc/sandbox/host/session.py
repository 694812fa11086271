"""Sessions: programs that share one worker, and so their variables."""

from __future__ import annotations

import threading
import warnings
import weakref
from typing import TYPE_CHECKING

from ez_ptc.errors import SandboxError, WorkerDiedError
from ez_ptc.sandbox.host.retries import MAX_ATTEMPTS, WorkerRequest, adrive, drive
from ez_ptc.sandbox.host.runner import find_code_problem
from ez_ptc.sandbox.protocol.exchange import Exchange
from ez_ptc.sandbox.protocol.opening import SessionState, rejected_result

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.pool import Lease, Pool
    from ez_ptc.sandbox.host.retries import Steps
    from ez_ptc.sandbox.host.runner import Runner
    from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
    from ez_ptc.sandbox.protocol.interfaces import Channel, Recorder

__all__ = ["ProcessSession", "recovery_text"]

_CUT_OFF = "its last program was cut off"
_FORKED = "this process was forked from the one that has them"
_GONE = "the names of this session are gone: define again what is needed"


class ProcessSession:
    """Runs programs one after another in one worker; if it is lost, the next program begins in a new one.

    The loss is reported once: in the result of the program that caused or met it, or, if no one got that result, in
    that of the next program, which is not run.

    The holder of `_busy` owns the worker. No one waits for `_busy`: `close` withdraws the lease instead, and the owner,
    which checks for that after releasing `_busy`, gives the worker back.
    """

    def __init__(self, sandbox: object, pool: Pool, runner: Runner, *, recorded: bool = False) -> None:
        """Create a session; the first program takes a worker. Keeps `sandbox` alive.

        The caller of a `recorded` one rebuilds what is lost, so no loss is reported.
        """
        self._is_recorded = recorded
        self._sandbox = sandbox
        self._pool = pool
        self._runner = runner
        self._generation = pool.generation
        self._lease: Lease | None = None
        self._dropped: weakref.finalize[..., ProcessSession] | None = None
        self._busy = threading.Lock()
        self._state = SessionState()
        self._untold = ""
        self._is_closed = False

    @property
    def is_fresh(self) -> bool:
        """Whether no program has run in the worker: it is new, or the last one is lost."""
        return self._state.limits is None

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run a program to completion and return its result.

        Raises:
            SandboxError: The sandbox failed, not the program; or the session is already running a program, is closed,
                or was closed meanwhile.
        """
        return drive(self._steps(code, channel, limits), self._runner, channel)

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it ends the program and drops the variables."""
        return await adrive(self._steps(code, channel, limits), self._runner, channel)

    def _steps(self, code: str, channel: Channel, limits: Limits) -> Steps:
        busy = self._begin()
        try:
            self._require_open()
            reason, self._untold = self._untold, ""
            if reason:
                return rejected_result(f"{_GONE} ({reason}; this program was not run)")
            problem = find_code_problem(code, limits)
            if problem:
                return rejected_result(problem)
            attempts = 0
            while True:
                lease = self._lease
                if lease is None:
                    lease = self._keep((yield WorkerRequest(self._pool, channel.grants)))
                exchange = Exchange(code, channel, limits, session=self._state)
                try:
                    yield exchange, lease
                except BaseException:
                    # A program was interrupted halfway, so the worker's state is unknown.
                    self._end("" if self._is_recorded else _CUT_OFF)
                    raise
                attempts += 1
                if attempts == MAX_ATTEMPTS or not exchange.is_repeatable or self._state.limits:
                    return self._finish(exchange, channel.recorder)
                # The worker was lost before the session's first program had any effect.
                self._end("")
        finally:
            busy.release()
            self._end_if_closed()

    def _begin(self) -> threading.Lock:
        if self._generation != self._pool.generation:
            # This is a fork of the host: the worker is left to the parent.
            self._generation = self._pool.generation
            self._busy = threading.Lock()
            if self._lease is not None:
                self._end(_FORKED)
        busy = self._busy
        if not busy.acquire(blocking=False):
            message = "this session is running a program: wait until it has ended, or open another session"
            raise SandboxError(message)
        return busy

    def _require_open(self) -> None:
        if self._is_closed:
            message = "this session is closed: open a new one"
            raise SandboxError(message)
        if self._pool.closed:
            message = "the sandbox of this session is closed: open a session of another one"
            raise SandboxError(message)

    def _keep(self, lease: Lease) -> Lease:
        self._lease = lease
        self._dropped = weakref.finalize(self, _release_dropped, lease)
        # Silently: at exit the worker ends by itself.
        self._dropped.atexit = False
        if self._is_closed or self._pool.closed:
            # Closed meanwhile, by a thread that saw no worker.
            self._end("")
            self._require_open()
        self._pool.order_ready()
        return lease

    def _finish(self, exchange: Exchange, recorder: Recorder | None) -> ExecutionResult:
        """Return a program's result; if the worker cannot be used again, the result says so.

        Raises WorkerDiedError if the program is recorded and lost its worker: its run goes on.
        """
        result = exchange.result()
        if recorder is not None and exchange.is_orphaned:
            self._end("")
            raise WorkerDiedError(recovery_text(recorder))
        if exchange.is_reusable:
            self._state = SessionState(self._state.calls + exchange.calls_made, exchange.limits)
            return result
        nothing_lost = not (self._state.limits or exchange.has_begun)
        self._end("" if self._is_recorded else "its last program left calls unanswered")
        if result.error is not None and not self._is_recorded:
            self._untold = ""
            if not nothing_lost:
                result.error += f"; {_GONE}"
                result.error_output += _GONE + "\n"
        return result

    def _end(self, reason: str) -> None:
        """Release the worker, and tell the next program why the variables are lost. Called by the owner."""
        lease, self._lease = self._lease, None
        if self._dropped is not None:
            self._dropped.detach()
        if lease is not None:
            lease.release()
        self._untold = reason
        self._state = SessionState()

    def _end_if_closed(self) -> None:
        busy = self._busy
        if self._is_closed and busy.acquire(blocking=False):
            try:
                self._end("")
            finally:
                busy.release()

    def close(self) -> None:
        """End the session's process. If a program is running, its caller gets a SandboxError.

        Closing twice is harmless, in another thread and in a signal handler too.
        """
        self._is_closed = True
        lease = self._lease
        if lease is not None:
            lease.withdraw("this session was closed")
        self._end_if_closed()


def recovery_text(recorder: Recorder) -> str:
    """Return the error of a recorded program whose worker is lost."""
    return (
        f"the sandbox's processes were killed under a program, whose calls are recorded: continue it with "
        f"resume({recorder.run_id!r}), which repeats none of them"
    )


def _release_dropped(lease: Lease) -> None:
    # In a fork, or after the end of the sandbox, there was nothing left to close.
    if lease.release() and not lease.withdrawn:
        message = (
            "a session was dropped without being closed, and its process was ended: use it in a `with` statement, or "
            "call close()"
        )
        warnings.warn(message, ResourceWarning, stacklevel=2)
