"""The default backend: CPython workers, one a program, forked ahead of need from a confined zygote."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Self

from ez_ptc._sync import in_forks, to_thread
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.converse import ZYGOTE_GONE, Exchange, rejected
from ez_ptc.sandbox.process.blocking import BlockingDriver
from ez_ptc.sandbox.process.threads import Threads
from ez_ptc.sandbox.process.zygote import ZygoteGoneError, ZygoteProcess

if TYPE_CHECKING:
    from types import TracebackType

    from ez_ptc.sandbox.execution import Channel, ExecutionResult, Limits
    from ez_ptc.sandbox.isolation import Report
    from ez_ptc.sandbox.process.handle import WorkerHandle

__all__ = ["ProcessSandbox"]

_READY = 4
_CRASHES = {
    signal.SIGSEGV: "the program crashed the interpreter (SIGSEGV): it nested or recursed too deeply, or aborted",
    signal.SIGABRT: "the program made the interpreter abort (SIGABRT)",
    signal.SIGSYS: "the program made a system call that is not allowed (SIGSYS)",
    signal.SIGXCPU: "the program used up its CPU time",
    signal.SIGKILL: "the program was killed: it ran out of memory or CPU time",
}  # fmt: skip


class ProcessSandbox:
    """Runs each program in a process of its own, from any thread and any event loop, also after the host has forked."""

    def __init__(self, *, ready: int = _READY) -> None:
        """Start nothing yet: the zygote boots with the first program.

        Args:
            ready: How many workers (1.5 MB each) are kept waiting.
        """
        self._wanted = ready
        self._threads = Threads()
        self._lock = threading.Lock()
        self._zygote: ZygoteProcess | None = None
        self._closed = False
        in_forks(self._start_anew)

    def _start_anew(self) -> None:
        """Leave everything to the parent, in a fork of the host: its zygote, its threads and who holds the lock."""
        self._lock = threading.Lock()
        self._threads.forget()
        if self._zygote is not None:
            self._zygote.disown()
            self._zygote = None

    @property
    def isolation(self) -> Report:
        """What the kernel enforces around programs here, found by trying. Boots the zygote if need be.

        Raises IsolationUnavailableError when what is required is missing.
        """
        return self._booted().report

    def warm_up(self) -> None:
        """Boot now, and have workers ready, instead of with the first program."""
        self._booted().refill(self._wanted)

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run `code` to its end and return how it ended.

        Raises:
            IsolationUnavailableError: The kernel does not give what is required.
            SandboxError: The sandbox, not the program, failed.
        """
        problem = _problem(code, limits)
        if problem:
            return rejected(problem)
        exchange = self._attempt(code, channel, limits)
        if exchange.untouched:
            # The zygote died under a program that had done nothing yet: a new one runs it as if nothing had been.
            exchange = self._attempt(code, channel, limits)
        return exchange.result()

    def _attempt(self, code: str, channel: Channel, limits: Limits) -> Exchange:
        zygote, worker = self._take()
        exchange = Exchange(code, channel, limits)
        try:
            BlockingDriver(exchange, worker, channel, self._threads).run()
            if exchange.lost:
                self._explain(exchange, zygote, worker)
        finally:
            worker.close()
            zygote.refill(self._wanted)
        return exchange

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Do the same as `execute`, but await; cancelling it kills the program."""
        problem = _problem(code, limits)
        if problem:
            return rejected(problem)
        exchange = await self._aattempt(code, channel, limits)
        if exchange.untouched:
            exchange = await self._aattempt(code, channel, limits)
        return exchange.result()

    async def _aattempt(self, code: str, channel: Channel, limits: Limits) -> Exchange:
        from ez_ptc.sandbox.process.awaiting import AwaitingDriver

        zygote, worker = self._take_ready() or await self._take_aside()
        exchange = Exchange(code, channel, limits)
        try:
            await AwaitingDriver(exchange, worker, channel).run()
            if exchange.lost:
                await to_thread(self._explain, exchange, zygote, worker)
        finally:
            worker.close()
            zygote.refill(self._wanted)
        return exchange

    def _booted(self) -> ZygoteProcess:
        with self._lock:
            if self._closed:
                message = "the sandbox is closed"
                raise SandboxError(message)
            if self._zygote is None:
                self._zygote = ZygoteProcess()
            return self._zygote

    def _take_ready(self) -> tuple[ZygoteProcess, WorkerHandle] | None:
        """Return a worker if one is ready now."""
        zygote = self._zygote
        if zygote is None:
            return None
        worker = zygote.take_ready()
        return (zygote, worker) if worker is not None else None

    async def _take_aside(self) -> tuple[ZygoteProcess, WorkerHandle]:
        import anyio

        # A worker that was taken for a task that has been cancelled meanwhile would be lost.
        taken: list[tuple[ZygoteProcess, WorkerHandle]] = []
        with anyio.CancelScope(shield=True):
            taken.append(await to_thread(self._take))
        return taken[0]

    def _take(self) -> tuple[ZygoteProcess, WorkerHandle]:
        """Return a ready worker and the zygote it is of; boot a new zygote once if the old one has ended."""
        zygote = self._booted()
        try:
            return zygote, zygote.take()
        except ZygoteGoneError:
            self._forget(zygote)
            zygote = self._booted()
            return zygote, zygote.take()

    def _forget(self, zygote: ZygoteProcess) -> None:
        """Let the next program boot a new zygote instead of this one, which has ended."""
        with self._lock:
            if self._zygote is zygote:
                self._zygote = None
        zygote.close()

    def _explain(self, exchange: Exchange, zygote: ZygoteProcess, worker: WorkerHandle) -> None:
        """Say how a worker ended that did not say it itself."""
        worker.kill()
        code = zygote.how_ended(worker)
        if code is None:
            self._forget(zygote)
            exchange.end(ZYGOTE_GONE)
        elif code >= 0:
            exchange.end(f"the program ended its process (exit code {code}) instead of running to its end")
        else:
            text = _CRASHES.get(signal.Signals(-code), f"the program's process ended with {signal.Signals(-code).name}")
            exchange.end(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process of this sandbox; it cannot be used any more."""
        with self._lock:
            self._closed = True
            zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.close()


def _encodes(code: str) -> bool:
    try:
        return code.isascii() or bool(code.encode())
    except UnicodeEncodeError:
        return False


def _problem(code: object, limits: Limits) -> str:
    """Return why `code` is not even sent to a worker, or an empty text."""
    if not isinstance(code, str):
        return f"TypeError: a program is text (str), not {type(code).__name__}"
    if "\0" in code or not _encodes(code):
        return "SyntaxError: the program contains a null character or half of a surrogate pair: write plain text"
    if len(code) > limits.frame:
        return f"ValueError: the program has {len(code):,} characters; at most {limits.frame:,} can be run"
    return ""
