"""The jobs of pools where there is one thread: calls of tools go on in the host, other functions run when they start.

Theory of operation. A job starts as soon as its pool has a place for it, and runs at once unless it is a tool: then its
call is open until `advance` or `settle` finds its reply. Everything that waits calls `advance`, so whatever a program
waits for, its other calls end meanwhile, and their callbacks run. If no call is open, nothing will ever happen.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import itertools
import logging
import threading
import weakref
from collections import deque
from concurrent.futures.thread import BrokenThreadPool
from typing import TYPE_CHECKING, Any, cast

from ...worker.running import call_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...worker.running.link import Link, Pending
    from ...worker.running.tools import Tools
    from .lone_baton import LoneBaton
    from .pipe import TurnPipe

__all__ = ["FOREVER", "Jobs", "current_ident", "run_inline"]


def current_ident() -> int:
    """Return the number of the thread that runs."""
    return _idents[-1]


def run_inline(
    thread: threading.Thread,
    path: call_paths.CallPath,
    context: contextvars.Context | None,
    function: Callable[..., object],
    /,
    *args: object,
    **kwargs: object,
) -> object:
    """Call a function as `thread` would, with the call path of its job, and by default in an empty context."""
    run = (context or contextvars.Context()).run
    named: Any = thread
    named._ident = named._ident or next(_next_ident)  # noqa: SLF001 - a Thread has no public name for it
    _idents.append(named._ident)  # noqa: SLF001 - as above
    _active[named._ident] = thread  # noqa: SLF001 - as above
    loop = call_paths.running_loop()
    task = None
    if loop is not None:
        task = _swap_task(loop, None)
        _set_loop(None)
    try:
        return call_paths.run_in(path, run, function, *args, **kwargs)
    finally:
        if loop is not None:
            _set_loop(loop)
            _swap_task(loop, task)
        _active.pop(_idents.pop(), None)


_swap_task: Callable[[asyncio.AbstractEventLoop, Any], Any] = vars(asyncio.tasks)["_swap_current_task"]
_set_loop: Callable[[asyncio.AbstractEventLoop | None], None] = vars(asyncio.events)["_set_running_loop"]
_active: dict[int, threading.Thread] = vars(threading)["_active"]
# The threads that run, each within its starter: the last one runs now.
_idents = [threading.get_ident()]
_next_ident = itertools.count(_idents[0] + 1)

FOREVER = -1.0


class Jobs:
    """The jobs of all pools of a worker."""

    def __init__(self, link: Link, tools: Callable[[], Tools]) -> None:
        """Use `link` to wait; `tools` returns those of the running program."""
        self._link = link
        self._tools = tools
        self.baton: LoneBaton | None = None
        self._open: list[_PoolJob] = []
        self._lines: weakref.WeakKeyDictionary[object, _Line] = weakref.WeakKeyDictionary()

    @property
    def are_calls_open(self) -> bool:
        """Whether a reply may come: to a call of a job, or to another one."""
        return self._link.outstanding > 0

    def submit(self, pool: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _PoolJob:  # noqa: ANN401 - an executor and its private names
        """Return a new job of a ThreadPoolExecutor."""
        line = self._lines.get(pool)
        if line is None:
            line = self._lines[pool] = _Line(pool)
        job = _PoolJob(self, line, lambda path: self._begin(line, path, function, args, kwargs))
        line.waiting.append(job)
        self._start_waiting(line)
        return job

    def _begin(self, line: _Line, path: call_paths.CallPath, function: Any, args: Any, kwargs: Any) -> Any:  # noqa: ANN401 - any function
        initialize, line.initialize = line.initialize, None
        if initialize is not None:
            run_inline(line.thread, path, None, initialize)
        call = self._tools().start_call(function, args, kwargs, path)
        return call or (None, run_inline(line.thread, path, None, function, *args, **kwargs))

    def _start_waiting(self, line: _Line) -> None:
        while line.waiting and line.running < line.most:
            job = line.waiting.popleft()
            if job.start():
                line.running += 1
                self._open.append(job)

    def settle(self) -> bool:
        """End the jobs whose replies have come, and start those that waited for their places; return whether any."""
        # Replies may have come together with the one that another call waited for.
        if self.baton is None:
            self._link.take_replies(b"")
        ready = [job for job in self._open if job.has_reply]
        if not ready:
            return False
        self._open = [job for job in self._open if job not in ready]
        for job in ready:
            job.line.running -= 1
        for job in ready:
            job.end()
            self._start_waiting(job.line)
        return True

    def advance(self, seconds: float) -> None:
        """Wait for replies for at most so many seconds, and end the jobs that are done then."""
        if self.settle():
            return
        if self.baton is None:
            self._link.take_replies(cast("TurnPipe", self._link.pipe).wait(seconds))
        elif seconds < 0:
            self.baton.pass_event(None)
        else:
            self.baton.pass_event(seconds)
        self.settle()

    def look(self) -> None:
        """End the jobs that are done, without waiting."""
        if self.settle() or not self.are_calls_open:
            return
        if self.baton is None:
            self.advance(0.0)
        else:
            self.baton.step()
            self.settle()

    def close(self, pool: object, *, wait: bool, cancel: bool) -> None:
        """Cancel the jobs of a pool that have not started, or wait for all."""
        line = self._lines.get(pool)
        if line is None:
            return
        if cancel:
            for job in line.waiting:
                job.cancel()
            line.waiting.clear()
        while wait and (line.running or line.waiting):
            self.advance(FOREVER)

    def finish(self) -> None:
        """Wait for all jobs and all other calls, as at the end of a program: also for those that no one awaits."""
        while self._open or self.are_calls_open:
            self.advance(FOREVER)

    def install(self) -> None:
        """Let pools have these jobs."""
        pool: Any = concurrent.futures.ThreadPoolExecutor
        shutdown = pool.shutdown

        def submit(executor: Any, fn: Any, /, *args: Any, **kwargs: Any) -> _PoolJob:  # noqa: ANN401 - as in Python
            if executor._broken:  # noqa: SLF001 - no public name
                raise BrokenThreadPool(executor._broken)  # noqa: SLF001 - as above
            if executor._shutdown:  # noqa: SLF001 - as above
                message = "cannot schedule new futures after shutdown"
                raise RuntimeError(message)
            return self.submit(executor, fn, args, kwargs)

        def shut_down(executor: Any, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002 - as in Python
            shutdown(executor, wait=False)
            self.close(executor, wait=wait, cancel=cancel_futures)

        pool.submit, pool.shutdown = submit, shut_down
        wait, as_completed = concurrent.futures.wait, concurrent.futures.as_completed

        def wait_looking(fs: Iterable[Any], timeout: float | None = None, return_when: str = "ALL_COMPLETED") -> Any:  # noqa: ANN401 - as in Python
            self.look()
            return wait(fs, timeout, return_when)

        def as_completed_looking(fs: Iterable[Any], timeout: float | None = None) -> Any:  # noqa: ANN401 - as in Python
            self.look()
            return as_completed(fs, timeout)

        defined: Any = vars(concurrent.futures)["_base"]
        concurrent.futures.wait = defined.wait = wait_looking
        concurrent.futures.as_completed = defined.as_completed = as_completed_looking


class _Line:
    """The jobs of one pool: at most `most` calls of it are open at a time; its other functions run in `thread`."""

    def __init__(self, pool: Any) -> None:  # noqa: ANN401 - an executor as above
        self.most: int = pool._max_workers  # noqa: SLF001 - no public name
        self.thread = threading.Thread(name=f"{pool._thread_name_prefix}_0")  # noqa: SLF001 - as above
        self.running = 0
        self.waiting: deque[_PoolJob] = deque()
        # Until the first job, which fails if this does.
        self.initialize: Callable[[], object] | None = functools.partial(_initialize, pool)


def _initialize(pool: Any) -> None:  # noqa: ANN401 - an executor as above
    """Do what the threads of a pool do first."""
    try:
        pool._create_worker_context().initialize()  # noqa: SLF001 - no public name
    except BaseException:
        logging.getLogger("concurrent.futures").critical("Exception in initializer:", exc_info=True)
        pool._initializer_failed()  # noqa: SLF001 - as above
        raise BrokenThreadPool(pool._broken) from None  # noqa: SLF001 - as above


class _PoolJob(concurrent.futures.Future[Any]):
    """A job of a pool. Its own methods look for replies first; those that wait do so through a lock."""

    def __init__(self, jobs: Jobs, line: _Line, begin: Callable[[call_paths.CallPath], Any]) -> None:
        super().__init__()
        self.line = line
        self._jobs = jobs
        self._begin: Callable[[call_paths.CallPath], Any] | None = begin
        self._path = call_paths.take_next()
        self._pending: Pending | None = None
        self._take: Callable[[Pending], object] | None = None

    @property
    def has_reply(self) -> bool:
        """Whether the reply to its call has come."""
        return self._pending is not None and self._pending.reply is not None

    def start(self) -> bool:
        """Start it, and return whether it goes on: as a call."""
        begin, self._begin = self._begin, None
        if begin is None or not self.set_running_or_notify_cancel():
            return False
        try:
            pending, rest = begin(self._path)
        except Exception as error:  # noqa: BLE001 - foreign code: the error is the job's result
            self.set_exception(error)
            return False
        if pending is None:
            self.set_result(rest)
            return False
        self._pending, self._take = pending, rest
        return True

    def end(self) -> None:
        """Take the reply."""
        pending, take = self._pending, self._take
        self._pending = self._take = None
        if pending is None or take is None:
            return
        try:
            value = take(pending)
        except Exception as error:  # noqa: BLE001 - as above
            self.set_exception(error)
        else:
            self.set_result(value)

    def done(self) -> bool:
        self._look()
        return super().done()

    def running(self) -> bool:
        self._look()
        return super().running()

    def result(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - a future's result is anything
        self._look()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._look()
        return super().exception(timeout)

    def _look(self) -> None:
        if not super().done():
            self._jobs.look()
