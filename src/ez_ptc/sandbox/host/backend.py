"""The default backend: one CPython worker per program, forked in advance by an isolated zygote."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import sys
import warnings
import weakref
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from ez_ptc._closing import Closable
from ez_ptc._component import HOST_PYTHON
from ez_ptc._forks import on_fork
from ez_ptc._lazy import lazy
from ez_ptc._sync import Threads
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import SandboxError, WorkerDiedError
from ez_ptc.sandbox.host.boot.host import report_platform, require_host
from ez_ptc.sandbox.host.boot.start import ZygoteSettings
from ez_ptc.sandbox.host.packages import find_packages
from ez_ptc.sandbox.host.pool import Pool
from ez_ptc.sandbox.host.retries import MAX_ATTEMPTS, WorkerRequest, adrive, drive
from ez_ptc.sandbox.host.runner import Runner, find_code_problem
from ez_ptc.sandbox.host.session import ProcessSession, recovery_text
from ez_ptc.sandbox.host.workers.capacity import Capacity
from ez_ptc.sandbox.host.workers.orders import ZygoteGoneError
from ez_ptc.sandbox.host.workers.parked_workers import ParkedProgram, ParkedWorkers
from ez_ptc.sandbox.protocol.exchange import Exchange
from ez_ptc.sandbox.protocol.opening import rejected_result, shared_head
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.telemetry.metrics import boot_measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ez_ptc.sandbox.host.boot.extension import WorkerExtension
    from ez_ptc.sandbox.host.pool import Boot
    from ez_ptc.sandbox.host.retries import Steps
    from ez_ptc.sandbox.host.workers.lease import Lease
    from ez_ptc.sandbox.host.zygote import ZygoteProcess
    from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
    from ez_ptc.sandbox.protocol.interfaces import Channel, Recorder
    from ez_ptc.sandbox.protocol.isolation import Report

__all__ = ["PooledSandbox", "ProcessSandbox"]

_Fresh: TypeAlias = Literal["process", "restored"]
_BOOTS = 3
_DESCRIPTORS_EACH = 4
_ZYGOTE = "ez_ptc.sandbox.host.zygote"


class PooledSandbox(Closable):
    """Runs each program in a worker of a pool, from any thread and event loop, even after the host has forked."""

    python = HOST_PYTHON
    """The version of Python that programs run in."""
    _python: str | None = None

    def __init__(
        self,
        boot: Boot,
        capacity: Capacity,
        *,
        boot_repeatable: Boot | None = None,
        require: Callable[[], None] = lambda: None,
        runner: type[Runner] = Runner,
        paused: float = 60.0,
    ) -> None:
        """Create a sandbox without workers.

        Args:
            boot: Makes a maker of workers, and raises SandboxError if that is impossible.
            capacity: How many workers there may be.
            boot_repeatable: Same as `boot`, for programs with a seed; None if all workers are alike.
            require: Raises SandboxError if no maker can be made.
            runner: Runs programs in workers.
            paused: Seconds to keep the worker of a paused program.
        """
        self._threads = threads = Threads()
        self._parked = parked = ParkedWorkers(paused)
        # Without a reference to this object, which ends when it is dropped.
        settings = threads, require, parked.release_one
        self._pool = pool = Pool(capacity, boot, *settings)
        self._deterministic_pool = deterministic_pool = Pool(capacity, boot_repeatable or boot, *settings)
        self._runner = runner(threads)
        on_fork(self, PooledSandbox._after_fork)
        self._dropped = weakref.finalize(self, _close_dropped, type(self).__name__, parked, pool, deterministic_pool)
        # Silently: at exit the workers end by themselves.
        self._dropped.atexit = False

    def _after_fork(self) -> None:
        """Drop the parent's zygotes, threads and queue, in a fork of the host."""
        self._threads.forget()
        self._pool.after_fork()
        self._deterministic_pool.after_fork()
        self._runner.after_fork()
        self._parked.after_fork()

    @property
    def isolation(self) -> Report:
        """The isolation that is enforced, found by probing it. Boots the zygote if necessary.

        Raises IsolationUnavailableError if a required layer is missing.
        """
        return self._pool.zygote().report

    @property
    def interpreter(self) -> str:
        """The name and version of the interpreter for programs, as runs record it."""
        return f"{platform.python_implementation()} {sys.version}" if self._python is None else self._named_interpreter

    @lazy
    def _named_interpreter(self) -> str:
        from ez_ptc.sandbox.host.boot.interpreter import describe_interpreter

        return describe_interpreter(self._python or "")

    def boot_soon(self) -> None:
        """Begin to boot the zygote in another thread. If that fails, the first program says why."""

        def boot() -> None:
            with contextlib.suppress(SandboxError, RuntimeError, OSError):
                self._pool.zygote()

        with contextlib.suppress(RuntimeError):  # no thread can be started
            self._threads.start(boot)

    def warm_up(self) -> None:
        """Boot the zygote and prepare workers now, instead of with the first program."""
        self._pool.warm_up()

    def cool_down(self) -> None:
        """End the workers in excess of `ready` after a burst, and return when that many are ready.

        They end gradually in any case. No program must be running.
        """
        self._pool.cool_down()
        self._deterministic_pool.cool_down()

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run a program to completion and return its result.

        Raises:
            IsolationUnavailableError: The kernel lacks a required isolation feature.
            Overloaded: Too many programs are waiting, or this one waited too long.
            WorkerDiedError: The sandbox's processes were killed after the program had called tools.
            SandboxError: The sandbox failed, not the program.
        """
        return drive(self._steps(code, channel, limits), self._runner, channel)

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it kills the program."""
        return await adrive(self._steps(code, channel, limits), self._runner, channel)

    def _steps(self, code: str, channel: Channel, limits: Limits) -> Steps:
        problem = find_code_problem(code, limits)
        if problem:
            return rejected_result(problem)
        recorder = channel.recorder
        parked = None if recorder is None else self._parked.take(recorder.run_key, recorder.execution)
        if parked is not None:
            parked.exchange.resume(channel)
            try:
                yield parked.exchange, parked.lease
            finally:
                self._end(parked.exchange, parked.lease, channel)
            return _result(parked.exchange, recorder)
        pool, head = self._pool, None
        if limits.seed is not None:
            pool = self._deterministic_pool
        elif recorder is None:
            head = shared_head(channel, limits)
        attempts, may_check, is_again = 0, head is not None, False
        while True:
            lease: Lease = yield WorkerRequest(pool, channel.grants, head, is_again)
            is_again = True
            exchange = Exchange(code, channel, limits)
            exchange.is_prepared = lease.worker.head is not None
            # A checker does not know the functions of one program.
            exchange.is_checked = may_check and exchange.offer.is_empty and lease.begin_check(channel.grants, code)
            try:
                yield exchange, lease
                lease.is_clean = exchange.is_reusable
            finally:
                self._end(exchange, lease, channel)
            if lease.check is not None and lease.check.is_refused:
                # Its next worker checks it, and says what is wrong.
                may_check = False
                continue
            attempts += 1
            if attempts == MAX_ATTEMPTS or not exchange.is_repeatable:
                return _result(exchange, recorder)

    def _end(self, exchange: Exchange, lease: Lease, channel: Channel) -> None:
        """Release a worker, or keep that of a paused program for a while."""
        recorder = channel.recorder
        if recorder is not None and exchange.can_be_parked:
            self._parked.put(recorder.run_key, ParkedProgram(recorder.execution, exchange, lease))
            # Others may wait for its place already.
            lease.lender.order_ready()
        else:
            lease.release()

    def session(self, *, recorded: bool = False) -> ProcessSession:
        """Return a session, whose programs share their variables. The caller closes it.

        The programs of a `recorded` one have a seed, and its caller rebuilds what is lost.
        """
        pool = self._deterministic_pool if recorded else self._pool
        return ProcessSession(self, pool, self._runner, recorded=recorded)

    def close(self) -> None:
        """End every process of this sandbox; it must not be used afterwards.

        The callers of running programs get a SandboxError. Closing twice is harmless, in a signal handler too.
        """
        self._dropped.detach()
        self._parked.clear()
        self._pool.close()
        self._deterministic_pool.close()


@explain_calls(checks="allow_imports:str code")
class ProcessSandbox(PooledSandbox):
    """Runs each program in its own process, from any thread and event loop, even after the host has forked.

    Use it as a context manager or call `close()` to end its processes. They also end, with a ResourceWarning, when it
    is dropped, and with the host in any case.
    """

    def __init__(  # noqa: PLR0913 - users type them
        self,
        *,
        ready: int = 4,
        running: int = 256,
        waiting: int = 1_000,
        patience: float = 60.0,
        paused: float = 60.0,
        fresh: _Fresh = "process",
        allow_imports: Iterable[str] = (),
        python: str | os.PathLike[str] | None = None,
    ) -> None:
        """Create a sandbox. Its zygote boots with the first program.

        Args:
            ready: Workers (1.6 MB each) to keep ready; more for a while after bursts.
            running: Programs that may run at a time, limited by file descriptors (four for each); others wait. If those
                of one toolkit take all places, the first ones of others run beside them: an eighth more in all.
            waiting: Programs that may wait; further ones raise Overloaded.
            patience: Maximum seconds to wait; then the program raises Overloaded.
            paused: Seconds to keep the worker of a paused program, to resume it at once instead of from the journal.
            fresh: What each program starts in: a new `"process"`, or a process that is `"restored"` to a snapshot after
                each program that leaves no trace in the kernel, which is several times faster under load. The page on
                security says what the second rests on.
            allow_imports: Packages programs may import in addition to the standard library, such as `["numpy"]`.
            python: The interpreter for programs, by default this process's: CPython 3.11 or later, and with
                `allow_imports` the same minor version as this process. Required in a frozen application.

        Raises:
            MissingExtraError: A package in `allow_imports` is not installed.
            ValueError: A number is out of range, or `fresh` is neither of its values.
        """
        capacity = Capacity(ready=ready, running=running, waiting=waiting, seconds=patience)
        capacity = replace(capacity, running=_limit_running(running))
        if fresh not in get_args(_Fresh):
            message = f"ProcessSandbox(fresh=…): expected 'process' or 'restored', got {safe_repr(fresh)}"
            raise ValueError(message)
        interpreter = None if python is None else os.fspath(python)
        settings = ZygoteSettings(packages=find_packages(allow_imports), python=interpreter)
        if report_platform() is None:
            # Imported now, because with the first program there may be no file descriptor left.
            importlib.import_module(_ZYGOTE)
        self._python = settings.python
        super().__init__(
            partial(_boot, replace(settings, extension=_find_extension(fresh))),
            capacity,
            boot_repeatable=partial(_boot, replace(settings, deterministic=True)),
            require=require_host,
            paused=paused,
        )


def _result(exchange: Exchange, recorder: Recorder | None) -> ExecutionResult:
    result = exchange.result()
    if not exchange.is_orphaned:
        return result
    names = ", ".join(dict.fromkeys(call["name"] for call in result.tool_calls))
    reason = f"{MAX_ATTEMPTS} times: memory may be short here, on the machine or in the container"
    if names and recorder is None:
        reason = f"which was not retried because it had called tools ({names}); retry it yourself if that is safe"
    elif recorder is not None:
        raise WorkerDiedError(recovery_text(recorder))
    message = f"the sandbox's processes were killed under a program, {reason}"
    raise WorkerDiedError(message)


def _find_extension(fresh: _Fresh) -> WorkerExtension | None:
    """Return what an option plugs in, from the folder of its name; the default needs nothing."""
    if fresh == "process":
        return None
    return importlib.import_module(f"ez_ptc.sandbox.{fresh}.host.extension").EXTENSION


def _limit_running(running: int) -> int:
    """Return how many programs may run: each needs two descriptors, and the host some others."""
    try:
        import resource
    except ImportError:
        # If nothing can run at all, the first program says so.
        return running
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors < 0:
        return running
    return max(1, min(running, descriptors // _DESCRIPTORS_EACH))


def _boot(settings: ZygoteSettings) -> ZygoteProcess:
    """Boot a zygote, and retry if it is killed during its boot."""
    # This module needs Linux.
    from ez_ptc.sandbox.host.zygote import boot_zygote

    with boot_measured():
        for _ in range(_BOOTS - 1):
            with contextlib.suppress(ZygoteGoneError):
                return boot_zygote(settings)
        return boot_zygote(settings)


def _close_dropped(name: str, parked: ParkedWorkers, *pools: Pool) -> None:
    had_processes = any(pool.has_processes for pool in pools)
    parked.clear()
    for pool in pools:
        pool.close()
    if had_processes:
        message = (
            f"a {name} was dropped without being closed, and its processes were ended: use it in a `with` "
            "statement, or call close()"
        )
        warnings.warn(message, ResourceWarning, stacklevel=2)
