"""Paths: where in the program a tool call stands, whatever order parallel calls arrive in.

A strand is one line of sequential execution: the program itself, a thread, a task, a branch of ``parallel``. Each call
takes the next number of its strand; a strand that is started takes a number too and counts below it. So the third call
of the program is ``"3"``, and the first call of the second branch started there is ``"3.1.1"``.
"""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import contextvars
import functools
import threading
from concurrent.futures.thread import _worker as _executor_thread  # pyright: ignore[reportPrivateUsage] - no public name
from typing import TYPE_CHECKING, Any

from .depth import make_room_for_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["Strand", "begin", "count_threads", "current", "fork", "install", "new_task"]

count_threads: Callable[[], int] = vars(_thread)["_count"]
"""How many threads there are beside the first, whoever started them: for less than threading takes."""


class Strand:
    """One line of sequential execution and how many steps it has numbered."""

    __slots__ = ("_count", "_prefix", "program")

    def __init__(self, prefix: str = "", program: object = None) -> None:
        self.program = program  # which one it is part of, where that is known
        self._prefix = prefix
        self._count = 0

    def step(self) -> str:
        """Return the next path of this strand."""
        self._count += 1
        return f"{self._prefix}{self._count}"


_strand: contextvars.ContextVar[Strand] = contextvars.ContextVar("strand")


def begin() -> None:
    """Start counting: what runs here from now on is the program's own strand."""
    _strand.set(Strand(program=object()))


def current() -> Strand:
    """Return the strand that runs here."""
    found = _strand.get(None)
    if found is None:
        # A thread started behind threading's back (_thread): it counts for itself, below a number that no step has.
        found = Strand("0.")
        _strand.set(found)
    return found


def fork(path: str, context: contextvars.Context) -> contextvars.Context:
    """Return ``context`` with a new strand below ``path`` as the current one in it."""
    context.run(_strand.set, Strand(path + ".", current().program))
    return context


def install() -> None:
    """Give threads, executor jobs and tasks strands of their own, numbered where they are started.

    Threads begin with an empty context, as CPython's do; tasks with a copy of their creator's.
    """
    start_thread = threading.Thread.start
    submit_job = concurrent.futures.ThreadPoolExecutor.submit

    def start(self: threading.Thread) -> None:
        # An executor starts a thread or not as it finds idle ones: its jobs are numbered, its threads are not.
        if getattr(self, "_target", None) is not _executor_thread:
            self.run = functools.partial(fork(current().step(), contextvars.Context()).run, self.run)
        make_room_for_thread(count_threads())
        start_thread(self)

    def submit(
        self: concurrent.futures.ThreadPoolExecutor, fn: Callable[..., object], /, *args: object, **kwargs: object
    ) -> concurrent.futures.Future[object]:
        return submit_job(self, fork(current().step(), contextvars.Context()).run, fn, *args, **kwargs)

    async def to_thread(func: Callable[..., object], /, *args: object, **kwargs: object) -> object:
        run = fork(current().step(), contextvars.copy_context()).run
        return await asyncio.get_running_loop().run_in_executor(None, functools.partial(run, func, *args, **kwargs))

    threading.Thread.start = start
    concurrent.futures.ThreadPoolExecutor.submit = submit
    asyncio.to_thread = asyncio.threads.to_thread = to_thread


def new_task(
    loop: asyncio.AbstractEventLoop,
    coro: Coroutine[Any, Any, object],
    *,
    context: contextvars.Context | None = None,
    **options: Any,
) -> asyncio.Task[object]:
    """Task factory: a task counts below the place where it was created."""
    forked = fork(current().step(), contextvars.copy_context() if context is None else context)
    return asyncio.Task(coro, loop=loop, context=forked, **options)
