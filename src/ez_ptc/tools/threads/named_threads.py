"""Threads by name: all tools that name one run on it, one call at a time.

Theory of operation. Names are shared by the whole process, whatever toolkit a tool belongs to, and so is the one lock:
it is held to pass a call on, never while one runs. A thread is started by its first call and never ends, since what
its tools keep in it, such as connections, would end with it. It is a daemon: the interpreter does not wait for it.

A call that its caller has given up may run on. Then its thread is replaced: it ends with that call, whose result is
lost, and another of the same name runs the calls behind it. That happens at the end of the call's timeout. The caller
does it if it still waits by then. Otherwise, the next call starts a watcher, which also replaces a thread whose call
has no timeout, `GRACE_SECONDS` after it has seen that no one waits for it.

A call that runs may make others. On its own thread they run at once, as any function would; from elsewhere, such as a
program that it runs, they would wait for the call that waits for them, and are refused. A fork has none of the threads,
and begins without any.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from contextvars import ContextVar
from typing import Final, TypeVar

from ez_ptc._forks import on_fork
from ez_ptc.tools.call_lifetime import CallLife

__all__ = ["GRACE_SECONDS", "PROCESS_THREADS", "NamedThread", "NamedThreads", "QueuedCall"]

R = TypeVar("R")

GRACE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.05


class QueuedCall:
    """A call for a named thread: it waits there, then runs.

    `enclosing` are the calls on named threads that make this one. `record` and `began` are called when it begins, in
    its thread: `record` may raise instead. `is_replaced` says whether its thread was replaced while it ran.
    """

    def __init__(
        self, life: CallLife, timeout: float | None, began: Callable[[], object], record: Callable[[], None]
    ) -> None:
        self.life: Final = life
        self.timeout: Final = timeout
        self.enclosing: Final = _ENCLOSING.get()
        self.thread_id: int | None = None
        self.begun_at = 0.0
        self.given_up_at: float | None = None
        self.waits_for: list[str] = []
        self.is_replaced = False
        self._began: Final = began
        self._record: Final = record

    def run(self, function: Callable[[], R]) -> R:
        """Run the function in this thread, in a context of its own."""
        _ENCLOSING.set((*self.enclosing, self))
        try:
            self.life.dequeue()
            self._record()
        finally:
            with suppress(RuntimeError):  # the caller's event loop is closed, so no one waits
                self._began()
        return function()

    def is_overdue(self, grace: float) -> bool:
        """Return whether a running call has been given up, and held the others back for long enough."""
        if self.life.is_wanted:
            return False
        now = time.monotonic()
        self.given_up_at = self.given_up_at or now
        if self.timeout is None:
            return now >= self.given_up_at + grace
        return now >= self.begun_at + self.timeout


_ENCLOSING: Final[ContextVar[tuple[QueuedCall, ...]]] = ContextVar("ez_ptc_enclosing_calls", default=())


class NamedThread:
    """One thread, and the calls that wait for it. All attributes are guarded by the lock of `NamedThreads`."""

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.jobs: Final[deque[tuple[QueuedCall, Callable[[], None]]]] = deque()
        self.running: QueuedCall | None = None
        self.worker: object = None
        """Stands for the present thread, so that a replaced one learns that it is."""

        self.is_watched = False


class NamedThreads:
    """The named threads of a process."""

    def __init__(self, grace: float = GRACE_SECONDS) -> None:
        self._grace: Final = grace
        self._changed = threading.Condition()
        self._threads: dict[str, NamedThread] = {}

    def forget(self) -> None:
        """Forget all threads, which do not exist in a fork of the host."""
        self._changed = threading.Condition()
        self._threads = {}

    def is_inside(self, name: str) -> bool:
        """Return whether this code is part of the call that runs on the thread, in that thread."""
        with self._changed:
            running = self._thread(name).running
            return running is not None and running.thread_id == threading.get_ident()

    def submit(self, name: str, call: QueuedCall, job: Callable[[], None]) -> bool:
        """Run `job`, which must not raise, on the thread of that name once it is free.

        Returns False without running it if the thread's running call waits for this one. Raises RuntimeError if no
        thread can be started.
        """
        with self._changed:
            thread = self._thread(name)
            if self._waits_for_any(thread, call.enclosing):
                return False
            self._ensure_worker(thread)
            if (thread.running is not None or thread.jobs) and not thread.is_watched:
                self._start(self._watch, thread, f"ez-ptc watch {name}")
                thread.is_watched = True
            thread.jobs.append((call, job))
            if call.enclosing:
                call.enclosing[-1].waits_for.append(name)
            self._changed.notify_all()
        return True

    def leave(self, name: str, call: QueuedCall) -> None:
        """Take note that the caller of this call does not wait for it any longer."""
        with self._changed:
            if call.enclosing:
                call.enclosing[-1].waits_for.remove(name)

    def replace(self, name: str, call: QueuedCall) -> bool:
        """Replace the thread of that name if it still runs this call; return whether it was replaced."""
        with self._changed:
            return self._replace(self._thread(name), call)

    def _thread(self, name: str) -> NamedThread:
        return self._threads.setdefault(name, NamedThread(name))

    def _waits_for_any(self, thread: NamedThread, calls: Collection[QueuedCall]) -> bool:
        """Return whether the running call waits, directly or through others, for one of these calls, or is one."""
        seen: list[NamedThread] = []
        reached = [thread]
        while reached:
            thread = reached.pop()
            if thread.running is None or thread in seen:
                continue
            if thread.running in calls:
                return True
            seen.append(thread)
            reached += [self._thread(name) for name in thread.running.waits_for]
        return False

    def _ensure_worker(self, thread: NamedThread) -> None:
        if thread.worker is None:
            worker = object()
            self._start(self._work, thread, f"ez-ptc {thread.name}", worker)
            thread.worker = worker

    def _start(self, target: Callable[..., None], thread: NamedThread, name: str, *arguments: object) -> None:
        threading.Thread(target=target, args=(thread, *arguments), name=name, daemon=True).start()

    def _replace(self, thread: NamedThread, call: QueuedCall) -> bool:
        if thread.running is not call:
            return False
        call.is_replaced = True
        thread.running = thread.worker = None
        if thread.jobs:
            self._ensure_worker(thread)
        return True

    def _work(self, thread: NamedThread, worker: object) -> None:
        changed = self._changed
        while True:
            with changed:
                while not thread.jobs:
                    changed.wait()
                call, job = thread.jobs.popleft()
                call.thread_id, call.begun_at = threading.get_ident(), time.monotonic()
                thread.running = call
            job()
            with changed:
                if thread.worker is not worker:
                    return
                thread.running = None
            del call, job

    def _watch(self, thread: NamedThread) -> None:
        changed = self._changed
        with changed:
            while thread.jobs:
                if thread.running is not None and thread.running.is_overdue(self._grace):
                    self._replace(thread, thread.running)
                changed.wait(_POLL_SECONDS)
            thread.is_watched = False


# Made by the import: of two first calls at the same time, each would make threads of its own.
PROCESS_THREADS: Final = NamedThreads()
"""The named threads of this process."""

on_fork(PROCESS_THREADS, NamedThreads.forget)
