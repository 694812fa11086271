"""Threads where there is one: they run in their starter, at once, and calls of tools in pools wait side by side.

A lock, a queue or an event that only another thread could release would wait forever: it is a RuntimeError.
"""

from __future__ import annotations

import _thread
import _threading_local
import asyncio
import contextvars
import queue
import select
import threading
import time
from typing import TYPE_CHECKING, Any

from ...worker.running import call_paths
from .jobs import FOREVER, current_ident, run_inline
from .loop import HostLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...worker.running.tools import Tools
    from .jobs import Jobs

__all__ = ["install"]

_DEADLOCK = "this waits for another thread, and in this sandbox a thread runs only while it is being started"


def install(jobs: Jobs, tools: Callable[[], Tools]) -> None:
    """Install everything that needs other threads in CPython; `tools` returns those of the running program."""
    _install_threads()
    _install_locks(jobs)
    jobs.install()
    _install_to_thread(tools)
    _install_sleep(jobs)


def _start(self: Any) -> None:  # noqa: ANN401 - a Thread and its private names
    if self._started.is_set():
        message = "threads can only be started once"
        raise RuntimeError(message)
    self._started.set()
    try:
        run_inline(self, call_paths.current().fork(), None, self.run)
    except SystemExit:
        pass
    except BaseException as error:
        if error.args == (_DEADLOCK,):
            # The program relies on threads that run side by side: without this one, it would go on and be wrong.
            raise
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, self)))
    finally:
        self.ez_over = True


def _install_threads() -> None:
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

    def start_new_thread(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, /) -> int:  # noqa: ANN401 - as in Python
        threading.Thread(target=function, args=args, kwargs=kwargs).start()
        return threading.get_ident()

    _thread.start_new_thread = _thread.start_new = start_new_thread
    thread: Any = threading.Thread
    thread.start, thread.join, thread.is_alive = _start, join, is_alive
    thread.native_id = property(lambda self: self.ident)
    threading.get_ident = threading.get_native_id = _thread.get_ident = _thread.get_native_id = current_ident
    # That of CPython in C tells threads apart by themselves; this one does so by `current_thread`.
    threading.local = _threading_local.local


class _GuestLock:
    """A lock whose wait is an error if nothing can end it."""

    __slots__ = ("__weakref__", "_is_held")

    jobs: Jobs
    """What may end a wait; set at startup."""

    def __init__(self) -> None:
        self._is_held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - as in CPython
        """Acquire the lock."""
        if self._is_held and not (blocking and self._wait(timeout)):
            return False
        self._is_held = True
        return True

    def _wait(self, timeout: float) -> bool:
        """Wait for jobs until one of them has released the lock; return whether one has."""
        until = None if timeout < 0 else time.monotonic() + timeout
        while self._is_held:
            if until is None:
                if not self.jobs.settle() and not self.jobs.are_calls_open:
                    raise RuntimeError(_DEADLOCK)
                left = FOREVER
            elif (left := until - time.monotonic()) <= 0:
                return False
            if self._is_held:
                self.jobs.advance(left)
        return True

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


def _install_locks(jobs: Jobs) -> None:
    """Let waits advance jobs; the locks of `threading`, on which its other classes are built, are looked up late."""
    _GuestLock.jobs = jobs
    made_by_threading: Any = threading
    made_by_threading.Lock = made_by_threading._allocate_lock = _thread.allocate_lock = _GuestLock  # noqa: SLF001 - no one else has another lock
    queue.SimpleQueue = vars(queue)["_PySimpleQueue"]


def _install_to_thread(tools: Callable[[], Tools]) -> None:
    thread = threading.Thread(name="asyncio_0")

    async def to_thread(func: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as in Python
        path = call_paths.current().fork()
        call = tools().start_call(func, args, kwargs, path)
        loop = asyncio.get_running_loop()
        if call is not None and isinstance(loop, HostLoop):
            return await loop.await_call(*call)
        return run_inline(thread, path, contextvars.copy_context(), func, *args, **kwargs)

    asyncio.to_thread = asyncio.threads.to_thread = to_thread


def _install_sleep(jobs: Jobs) -> None:
    def sleep(seconds: float, /) -> None:
        if not seconds >= 0:
            message = "sleep length must be non-negative"
            raise ValueError(message)
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            jobs.advance(left)

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
