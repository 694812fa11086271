"""Threads where there is one: they run in their starter, at once; calls of tools in pools wait side by side.

A lock, a queue or an event that only another thread could release would wait forever: it is a RuntimeError.
"""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import contextvars
import queue
import select
import threading
import time
from typing import TYPE_CHECKING, Any

from ..running import call_paths
from .loop import HostLoop, answer_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..running.link import Link, Pending
    from ..running.tools import Tools

__all__ = ["install"]

_DEADLOCK = "this waits for another thread, and in this sandbox a thread runs only while it is being started"


def install(link: Link, tools: Callable[[], Tools]) -> None:
    """Install everything that needs other threads in CPython; `tools` returns those of the running program."""
    HostLoop.link = link
    _install_threads()
    _install_waits()
    _install_pools(tools)
    _install_futures()
    _install_sleep(link)


def _install_threads() -> None:
    def start(self: Any) -> None:  # noqa: ANN401 - a Thread and its private names
        if self._started.is_set():
            message = "threads can only be started once"
            raise RuntimeError(message)
        self._started.set()
        path = call_paths.current().fork()
        try:
            call_paths.run_in(path, contextvars.Context().run, self.run)
        except SystemExit:
            pass
        except BaseException as error:  # noqa: BLE001 - foreign code: the error is reported as that of a thread
            threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, self)))
        finally:
            self.ez_over = True

    def join(self: Any, timeout: float | None = None) -> None:  # noqa: ANN401 - a Thread as above
        del timeout
        if not self._started.is_set():
            message = "cannot join thread before it is started"
            raise RuntimeError(message)
        if not getattr(self, "ez_over", False):
            message = "cannot join current thread"
            raise RuntimeError(message)

    def is_alive(self: Any) -> bool:  # noqa: ANN401 - a Thread as above
        return self._started.is_set() and not getattr(self, "ez_over", False)

    thread: Any = threading.Thread
    thread.start, thread.join, thread.is_alive = start, join, is_alive


class _Lock:
    """A lock whose wait is an error if nothing can end it."""

    __slots__ = ("__weakref__", "_is_held")

    def __init__(self) -> None:
        self._is_held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - as in CPython
        """Acquire the lock."""
        if not self._is_held:
            self._is_held = True
            return True
        if blocking and timeout < 0:
            raise RuntimeError(_DEADLOCK)
        if blocking:
            time.sleep(timeout)
        return False

    def release(self) -> None:
        """Release the lock."""
        if not self._is_held:
            message = "release unlocked lock"
            raise RuntimeError(message)
        self._is_held = False

    def locked(self) -> bool:
        """Return whether the lock is held."""
        return self._is_held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def _install_waits() -> None:
    """Make waits that nothing can end an error; the locks of `threading` are looked up when they are made."""
    made_by_threading: Any = threading
    made_by_threading.Lock = made_by_threading._allocate_lock = _thread.allocate_lock = _Lock  # noqa: SLF001 - no one else has another lock
    queue.SimpleQueue = vars(queue)["_PySimpleQueue"]
    condition: Any = threading.Condition

    def wait(self: Any, timeout: float | None = None) -> bool:  # noqa: ANN401 - a Condition and its names
        del self
        if timeout is None:
            raise RuntimeError(_DEADLOCK)
        time.sleep(max(timeout, 0))
        return False

    condition.wait = wait


class _Call(concurrent.futures.Future[Any]):
    """The call of a tool by a pool; its reply is taken when it is needed."""

    def __init__(self, pending: Pending, take: Callable[[Pending], object]) -> None:
        super().__init__()
        self._take: Callable[[], object] | None = lambda: take(pending)

    def settle(self) -> None:
        """Wait for the reply, if nothing has."""
        take, self._take = self._take, None
        if take is not None:
            _settle(self, take)

    def result(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - a future's result is anything
        self.settle()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.settle()
        return super().exception(timeout)

    def done(self) -> bool:
        self.settle()
        return super().done()

    def add_done_callback(self, fn: Callable[[concurrent.futures.Future[Any]], object]) -> None:
        self.settle()
        super().add_done_callback(fn)


def _settle(future: concurrent.futures.Future[Any], take: Callable[[], object]) -> None:
    try:
        future.set_result(take())
    except Exception as error:  # noqa: BLE001 - foreign code: the error is the job's result
        future.set_exception(error)


def _install_pools(tools: Callable[[], Tools]) -> None:
    def submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:  # noqa: ANN401 - as in Python
        if self._shutdown:
            message = "cannot schedule new futures after shutdown"
            raise RuntimeError(message)
        path = call_paths.take_next()
        call = tools().start_call(fn, args, kwargs, path)
        if call is not None:
            return _Call(*call)
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        _settle(future, lambda: call_paths.run_in(path, contextvars.Context().run, fn, *args, **kwargs))
        return future

    async def to_thread(func: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as in Python
        path = call_paths.current().fork()
        call = tools().start_call(func, args, kwargs, path)
        loop = asyncio.get_running_loop()
        if call is not None and isinstance(loop, HostLoop):
            return await loop.await_call(*call)
        return call_paths.run_in(path, contextvars.copy_context().run, func, *args, **kwargs)

    pool: Any = concurrent.futures.ThreadPoolExecutor
    pool.submit = submit
    asyncio.to_thread = asyncio.threads.to_thread = to_thread


def _install_futures() -> None:
    wait, as_completed = concurrent.futures.wait, concurrent.futures.as_completed

    def settled(futures: Iterable[Any]) -> list[Any]:
        settled = list(futures)
        for future in settled:
            future.done()
        return settled

    def wait_settled(fs: Iterable[Any], timeout: float | None = None, return_when: str = "ALL_COMPLETED") -> Any:  # noqa: ANN401 - as in Python
        return wait(settled(fs), timeout, return_when)

    def as_settled(fs: Iterable[Any], timeout: float | None = None) -> Any:  # noqa: ANN401 - as in Python
        return as_completed(settled(fs), timeout)

    defined: Any = vars(concurrent.futures)["_base"]
    concurrent.futures.wait = defined.wait = wait_settled
    concurrent.futures.as_completed = defined.as_completed = as_settled


def _install_sleep(link: Link) -> None:
    def sleep(seconds: float, /) -> None:
        if seconds < 0:
            message = "sleep length must be non-negative"
            raise ValueError(message)
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            answer_calls(link, left)

    real_select = select.select

    def select_or_sleep(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None, /) -> Any:  # noqa: ANN401 - as in Python
        if rlist or wlist or xlist:
            return real_select(rlist, wlist, xlist, 0)
        if timeout is None:
            raise RuntimeError(_DEADLOCK)
        sleep(timeout)
        return [], [], []

    time.sleep = sleep
    select.select = select_or_sleep
