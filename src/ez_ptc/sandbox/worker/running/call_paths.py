"""Call paths: the position of a tool call in the program, independent of the order in which parallel calls arrive.

A call path counts the steps of the program itself, a thread, a task, or a branch of ``parallel``. Each call takes the
next number of its call path. Starting a call path takes a number too, and the new one counts below it. So the third
call of the program is ``"3"``, and the first call of the second branch started there is ``"3.1.1"``.

Call paths are kept beside threads and tasks instead of in a context variable, which programs would see among their own.
"""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures.thread
import inspect
import itertools
import sys
import threading
import weakref
from _thread import get_ident
from typing import TYPE_CHECKING, Any

from ...check.reading.program import file_name
from .recursion import make_room_for_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future, ThreadPoolExecutor
    from types import FrameType

__all__ = [
    "CallPath",
    "begin",
    "calling_line",
    "count_threads",
    "current",
    "install",
    "new_task",
    "outcome_of",
    "run_in",
    "running_loop",
    "submit",
    "take_next",
]

count_threads: Callable[[], int] = vars(_thread)["_count"]
"""The number of threads other than the first, counted faster than by threading."""


class CallPath:
    """The prefix of the steps of one flow of control, and the number of steps so far."""

    __slots__ = ("_count", "_prefix", "line", "program")

    def __init__(self, prefix: str = "", program: str | None = None, line: int = 0) -> None:
        self.program = program  # the file name of the program it belongs to, if known
        self.line = line  # the line of the program that has started it, if known
        self._prefix = prefix
        self._count = 0

    def step(self) -> str:
        """Return the path of the next step."""
        self._count += 1
        return f"{self._prefix}{self._count}"

    def fork(self, path: str = "") -> CallPath:
        """Return a new call path below `path`, by default the next step."""
        return CallPath(f"{path or self.step()}.", self.program, calling_line(self.program) or self.line)


_nameless = itertools.count(1)
# By thread number; a threading.local takes a new worker twenty microseconds.
_of_threads: dict[int, CallPath] = {}
_next_jobs: dict[int, CallPath] = {}
_of_tasks: weakref.WeakKeyDictionary[asyncio.Task[Any], CallPath] = weakref.WeakKeyDictionary()
running_loop: Callable[[], asyncio.AbstractEventLoop | None] = vars(asyncio)["_get_running_loop"]
"""The running loop, or None: without an exception that the errors of tools would be shown with."""
_current_task = asyncio.current_task


def begin(number: int = 1) -> None:
    """Start the own call path of a program, by its number in this process."""
    _of_threads[get_ident()] = CallPath(program=file_name(number))


def calling_line(program: str | None) -> int:
    """Return the line of a program that runs in this thread, by the program's file name; 0 if none does."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the frames that call
    while frame is not None and frame.f_code.co_filename != program:
        frame = frame.f_back
    return 0 if frame is None else frame.f_lineno or 0


def current() -> CallPath:
    """Return the call path that runs."""
    loop = running_loop()
    if loop is not None:
        task = _current_task(loop)
        if task is not None and (task_path := _of_tasks.get(task)) is not None:
            return task_path
    thread = get_ident()
    call_path = _of_threads.get(thread)
    if call_path is None:
        # A thread started without threading (by _thread) has a separate call path, below a number that no step has;
        # several such threads are not distinguished.
        _of_threads[thread] = call_path = CallPath(f"0.{next(_nameless)}.")
    return call_path


def take_next() -> CallPath:
    """Return the call path that `submit` has set for the next job, by default a new one."""
    return _next_jobs.pop(get_ident(), None) or current().fork()


def run_in(path: CallPath, function: Callable[..., object], /, *args: object, **kwargs: object) -> object:
    """Call a function in this thread, as the call path of a job."""
    thread = get_ident()
    before = _of_threads.get(thread)
    _of_threads[thread] = path
    try:
        return function(*args, **kwargs)
    finally:
        if before is not None:
            _of_threads[thread] = before


def submit(pool: ThreadPoolExecutor, path: str, function: Callable[..., object], /, *args: object) -> Future[object]:
    """Submit a job as the call path below `path`."""
    _next_jobs[get_ident()] = current().fork(path)
    try:
        return pool.submit(function, *args)
    finally:
        _next_jobs.pop(get_ident(), None)


def install() -> None:
    """Give threads, executor jobs and tasks their own paths, numbered at their start."""
    _install_in_threads()
    _install_in_jobs()


def _install_in_threads() -> None:
    thread: Any = threading.Thread
    start_thread = threading.Thread.start
    # Code outside this function is in no traceback.
    run_thread: Callable[[threading.Thread], None] = vars(threading.Thread)["_bootstrap_inner"]
    started: dict[int, CallPath] = {}

    def start(self: threading.Thread) -> None:
        # Whether an executor starts a thread depends on its idle ones, so its jobs are numbered instead of its threads.
        is_executors = getattr(self, "_target", None) is vars(concurrent.futures.thread)["_worker"]
        if not is_executors:
            # The thread takes its call path before it counts as started.
            started[id(self)] = current().fork()
        make_room_for_thread(count_threads())
        try:
            start_thread(self)
        finally:
            started.pop(id(self), None)

    def bootstrap(self: threading.Thread) -> None:
        if id(self) in started:
            _of_threads[get_ident()] = started[id(self)]
        run_thread(self)

    thread.start = start
    thread._bootstrap_inner = bootstrap  # noqa: SLF001 - threading offers no other place


def _install_in_jobs() -> None:
    job: Any = vars(concurrent.futures.thread)["_WorkItem"]
    make, run = job.__init__, job.run
    paths: weakref.WeakKeyDictionary[object, CallPath] = weakref.WeakKeyDictionary()

    def initialise(self: object, *args: object, **kwargs: object) -> None:
        make(self, *args, **kwargs)
        paths[self] = take_next()

    def run_job(self: object, *args: object) -> None:
        _of_threads[get_ident()] = paths[self]
        run(self, *args)

    job.__init__ = initialise
    job.run = run_job


def new_task(
    loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, object], **options: Any
) -> asyncio.Task[object]:
    """Create a task (as a task factory) that counts below its creation's step.

    Programs make tasks of the calls of tools: a future, since the call is sent at once, or a plain result.
    """
    call_path = current().fork()
    if not inspect.iscoroutine(coro):
        coro = outcome_of(coro)
    task = asyncio.Task(coro, loop=loop, **options)
    _of_tasks[task] = call_path
    return task


async def outcome_of(call: object) -> object:
    """Return the result of an awaitable, or any other value itself."""
    return await call if inspect.isawaitable(call) else call
