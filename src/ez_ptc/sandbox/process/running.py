"""Running one program in a worker that somebody has taken, and explaining the worker's end."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from ez_ptc._sync import to_thread
from ez_ptc.sandbox.converse import ZYGOTE_GONE
from ez_ptc.sandbox.process.blocking import BlockingDriver
from ez_ptc.sandbox.process.patience import Patience

if TYPE_CHECKING:
    from ez_ptc._sync import Threads
    from ez_ptc.sandbox.converse import Exchange
    from ez_ptc.sandbox.execution import Channel, Limits
    from ez_ptc.sandbox.process.pool import Lease

__all__ = ["Runner", "problem_of"]

_CRASHES = {
    signal.SIGSEGV: "the program crashed the interpreter (SIGSEGV): it nested or recursed too deeply, or aborted",
    signal.SIGABRT: "the program made the interpreter abort (SIGABRT)",
    signal.SIGSYS: "the program made a system call that is not allowed (SIGSYS)",
    signal.SIGXCPU: "the program used up its CPU time",
    signal.SIGKILL: "the program was killed: it ran out of memory or CPU time",
}  # fmt: skip


class Runner:
    """Runs programs in workers."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._patience = Patience()

    def start_anew(self) -> None:
        """Count nothing of what the parent runs, in a fork of the host."""
        self._patience = Patience()

    def run(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        """Return when the program has ended or was stopped, or its worker is gone and the exchange knows why."""
        self._patience.begin(exchange)
        try:
            BlockingDriver(exchange, lease.worker, channel, self._threads).run()
            if exchange.lost:
                self._explain(exchange, lease)
        finally:
            self._patience.end(exchange)

    async def arun(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        """Do the same as `run`, but await."""
        from ez_ptc.sandbox.process.awaiting import AwaitingDriver

        self._patience.begin(exchange)
        try:
            await AwaitingDriver(exchange, lease.worker, channel).run()
            if exchange.lost:
                await to_thread(self._explain, exchange, lease)
        finally:
            self._patience.end(exchange)

    def _explain(self, exchange: Exchange, lease: Lease) -> None:
        """Say how a worker ended that did not say it itself."""
        lease.worker.kill()
        code = lease.how_ended()
        if code is None:
            exchange.end(ZYGOTE_GONE)
        elif code >= 0:
            exchange.end(f"the program ended its process (exit code {code}) instead of running to its end")
        else:
            text = _CRASHES.get(signal.Signals(-code), f"the program's process ended with {signal.Signals(-code).name}")
            exchange.end(text)


def problem_of(code: object, limits: Limits) -> str:
    """Return why `code` is not even sent to a worker, or an empty text."""
    if not isinstance(code, str):
        return f"TypeError: a program is text (str), not {type(code).__name__}"
    if "\0" in code or not _encodes(code):
        return "SyntaxError: the program contains a null character or half of a surrogate pair: write plain text"
    if len(code) > limits.frame:
        return f"ValueError: the program has {len(code):,} characters; at most {limits.frame:,} can be run"
    return ""


def _encodes(code: str) -> bool:
    try:
        return code.isascii() or bool(code.encode())
    except UnicodeEncodeError:
        return False
