"""Running one program in a leased worker, and explaining why a worker ended."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from ez_ptc._sync import to_thread
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.host.sync_driver import BlockingDriver, ask
from ez_ptc.sandbox.protocol.both_ends.limits import limit_error
from ez_ptc.sandbox.protocol.exchange import ZYGOTE_GONE
from ez_ptc.sandbox.protocol.records.caller_presence import ending_with_caller
from ez_ptc.sandbox.protocol.records.program_state import ProgramState
from ez_ptc.telemetry.metrics import current_metrics

if TYPE_CHECKING:
    from ez_ptc._sync import Threads
    from ez_ptc.sandbox.host.pool import Lease
    from ez_ptc.sandbox.protocol.exchange import Exchange
    from ez_ptc.sandbox.protocol.execution import Limits
    from ez_ptc.sandbox.protocol.interfaces import Channel

__all__ = ["Runner", "find_code_problem"]


class Runner:
    """Runs programs in leased workers."""

    def __init__(self, threads: Threads, *, may_spin: bool = True) -> None:
        self._threads = threads
        if may_spin and hasattr(os, "sched_getaffinity"):
            self._cores = len(os.sched_getaffinity(0))
        else:
            self._cores = 1
        # Adding to a set and discarding from it are atomic, so there is no lock.
        self._running: set[Exchange] = set()

    def after_fork(self) -> None:
        """Forget the parent's programs, in a fork of the host."""
        self._running = set()

    def _begin(self, exchange: Exchange) -> None:
        """Count a program, and let both sides spin if it is the only one and there is a second core.

        Waking a sleeping process takes half of a tool call's time. With several programs, spinning would take the cores
        from the others.
        """
        self._running.add(exchange)
        if self._cores > 1 and len(self._running) == 1:
            exchange.may_spin = True

    def run(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        """Return when the program ends or is stopped, or its worker is lost and the exchange knows why."""
        self._begin(exchange)
        try:
            with ending_with_caller(partial(_leave, exchange, lease)):
                self._drive(exchange, lease, channel)
            # If the program was not sent, or its time was up, the verdict has not been looked at yet.
            lease.is_cleared(exchange)
            if exchange.is_lost:
                self._explain(exchange, lease, channel)
            if exchange.divergence is not None:
                raise exchange.divergence
        finally:
            self._end(exchange)

    def _end(self, exchange: Exchange) -> None:
        metrics = current_metrics()
        if metrics is not None and not exchange.is_finished and exchange.state is not ProgramState.PAUSED:
            metrics.record_kill("timeout" if exchange.is_late else "cancelled" if exchange.is_lost else "lost")
        exchange.leave()
        self._running.discard(exchange)

    def _drive(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        """Return when the program ends or is stopped, or its worker is lost."""
        calls = exchange.waiting_calls or None
        needs_driver = exchange.session is not None or channel.observer is not None or calls is not None
        if not needs_driver:
            calls = ask(exchange, lease)
            needs_driver = calls is not None
        if needs_driver:
            BlockingDriver(exchange, lease, channel, self._threads).run(calls)

    async def arun(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        """Same as `run`, but awaits."""
        from ez_ptc.sandbox.host.async_driver import AwaitingDriver

        self._begin(exchange)
        try:
            with ending_with_caller(partial(_leave, exchange, lease)):
                await AwaitingDriver(exchange, lease, channel).run()
            await lease.ais_cleared(exchange)
            if exchange.is_lost:
                await to_thread(self._explain, exchange, lease, channel)
            if exchange.divergence is not None:
                raise exchange.divergence
        finally:
            self._end(exchange)

    def _explain(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        """Record why a lost worker ended. Raises SandboxError if the lease was withdrawn."""
        if lease.withdrawn:
            raise SandboxError(_describe_withdrawal(exchange, lease.withdrawn, channel))
        lease.worker.kill()
        reason = lease.exit_reason()
        if lease.withdrawn:
            # Withdrawn in the meantime, which is why the zygote ended.
            raise SandboxError(_describe_withdrawal(exchange, lease.withdrawn, channel))
        exchange.end(ZYGOTE_GONE if reason is None else reason)


def _leave(exchange: Exchange, lease: Lease) -> None:
    exchange.leave()
    lease.withdraw("the caller has left")


def _describe_withdrawal(exchange: Exchange, reason: str, channel: Channel) -> str:
    if exchange.is_undelivered:
        return f"{reason} before this program could start"
    if channel.recorder is not None:
        run_id = channel.recorder.run_id
        return f"{reason} while this program ran: continue it with resume({run_id!r}), which repeats no call"
    names = ", ".join(dict.fromkeys(call["name"] for call in exchange.result().tool_calls))
    return f"{reason} while this program ran" + (f"; it had called tools ({names}): see what they did" if names else "")


def find_code_problem(code: object, limits: Limits) -> str | None:
    """Return why `code` cannot be sent to a worker, or None."""
    most = min(limits.program, limits.frame)
    if isinstance(code, str) and code.isascii() and "\0" not in code and len(code) <= most:
        return None
    if not isinstance(code, str):
        return f"TypeError: a program is text (str), not {type(code).__name__}"
    is_plain = "\0" not in code
    try:
        code.encode()
    except UnicodeEncodeError:
        is_plain = False
    if not is_plain:
        return "SyntaxError: the program contains a null character or half of a surrogate pair: write plain text"
    if len(code) > most:
        return f"ValueError: {limit_error('program', size=len(code), limit=most)}"
    return None
