"""The one place where a blocking call becomes an awaited one, and the reverse; and what a fork of the host undoes."""

import contextlib
import contextvars
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from functools import cache, partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio

    from anyio.lowlevel import RunVar

__all__ = [
    "BlockingEvents",
    "Threads",
    "from_other_threads",
    "iterated",
    "on_fork",
    "run_coroutine",
    "to_thread",
    "within",
]

R = TypeVar("R")
T = TypeVar("T")

_IDLE_SECONDS = 10.0


async def to_thread(function: Callable[..., R], *arguments: object, seconds: float | None = None) -> R:
    """Call a blocking function in a worker thread and await what it returns.

    The thread sees the caller's context variables. When the caller is cancelled, it goes on at once and the thread is
    left to end by itself: a thread cannot be stopped, and nobody should wait for one that hangs, neither the caller nor
    the interpreter at its end. A function that had not begun then does not begin. At most as many calls are waited for
    as anyio's default limiter has places (40); further ones wait for a place.

    `function` must not raise `StopIteration`, which no coroutine can carry. Raises TimeoutError when it takes longer
    than `seconds` from when it began.
    """
    from anyio import Event, fail_after
    from anyio.to_thread import current_default_thread_limiter

    ended = Event()
    wake = from_other_threads(ended.set)
    async with current_default_thread_limiter():
        outcome = _started(_threads_here().start, function, *arguments, and_then=wake)
        try:
            with fail_after(seconds):
                await ended.wait()
        finally:
            outcome.cancel()  # which does nothing to what has begun
    return outcome.result()


def within(seconds: float, function: Callable[[], R]) -> R:
    """Call a function in a worker thread and wait for it, but no longer than that; it is then left to itself.

    The thread sees the caller's context variables. A function that had not begun when the time was over does not begin.
    Raises TimeoutError then, and what the function raises; it must not raise TimeoutError itself.
    """
    outcome = _started(_in_a_new_thread, function)
    try:
        return outcome.result(timeout=seconds)
    finally:
        outcome.cancel()


class Threads:
    """Runs jobs in threads: made when needed, kept for a while, never waited for.

    A bounded pool would be used up by jobs that hang, and the interpreter would wait for them at its end. These are
    daemons; an idle one is used again before a new one is made, and ends by itself.
    """

    def __init__(self) -> None:
        self._idle: deque[SimpleQueue[Callable[[], None]]] = deque()

    def forget(self) -> None:
        """Make new threads from now on: in a fork of the host the idle ones do not exist."""
        self._idle.clear()

    def start(self, job: Callable[[], None]) -> None:
        """Run `job` in another thread. It must not raise."""
        try:
            self._idle.pop().put(job)
        except IndexError:
            threading.Thread(target=self._work, args=(job,), name="ez-ptc-tools", daemon=True).start()

    def _work(self, job: Callable[[], None]) -> None:
        inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        while True:
            job()
            del job
            self._idle.append(inbox)
            try:
                job = inbox.get(timeout=_IDLE_SECONDS)
            except Empty:
                with contextlib.suppress(ValueError):
                    self._idle.remove(inbox)
                    return
                # Taken from the idle ones at the last moment: a job is on its way.
                job = inbox.get()


@cache
def _threads_of_loops() -> "RunVar[Threads]":
    from anyio.lowlevel import RunVar

    return RunVar("ez_ptc_threads")


def _threads_here() -> Threads:
    """Return the threads of the event loop that runs here: they end some time after it."""
    variable = _threads_of_loops()
    try:
        return variable.get()
    except LookupError:
        threads = Threads()
        variable.set(threads)
        return threads


def _in_a_new_thread(job: Callable[[], None]) -> None:
    threading.Thread(target=job, name="ez-ptc-call", daemon=True).start()


def _started(
    start: Callable[[Callable[[], None]], None],
    function: Callable[..., R],
    *arguments: object,
    and_then: Callable[[], object] | None = None,
) -> Future[R]:
    """Start a function in a thread that nobody waits for, and return where its outcome will be."""
    outcome: Future[R] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        if not outcome.set_running_or_notify_cancel():
            return
        try:
            context.run(_forget_the_outer_loop, None)
            outcome.set_result(context.run(function, *arguments))
        except BaseException as error:  # noqa: BLE001 - whatever ends the function is raised again where it is waited for
            outcome.set_exception(error)
        if and_then is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                and_then()

    start(run)
    return outcome


def from_other_threads(function: Callable[[], object]) -> Callable[[], object]:
    """Return what calls a function in the event loop that runs here, from any thread."""
    import asyncio

    from anyio import get_cancelled_exc_class

    if get_cancelled_exc_class() is asyncio.CancelledError:
        return partial(asyncio.get_running_loop().call_soon_threadsafe, function)
    from trio.lowlevel import current_trio_token

    return partial(current_trio_token().run_sync_soon, function)


def run_coroutine(function: Callable[..., Coroutine[object, object, R]], *arguments: object) -> R:
    """Call an asynchronous function from blocking code, and return what it returns or raise what it raises.

    It runs on an asyncio event loop of its own: in this thread where no loop runs here, otherwise in a new one, while
    this thread waits. It sees the caller's context variables either way. An interruption of this thread cancels it.
    """
    import asyncio

    if not _a_loop_runs_here():
        return asyncio.run(function(*arguments))
    running = _LoopThread(function(*arguments))
    try:
        running.start()
        running.join()
    except BaseException as interruption:  # whatever a signal handler raises; it is raised again
        running.cancel()
        running.join()
        raise interruption from running.failure()
    return running.result()


class _LoopThread(Generic[R]):
    """A coroutine that runs on an asyncio event loop in a thread of its own, with the caller's context variables."""

    def __init__(self, coroutine: Coroutine[object, object, R]) -> None:
        import asyncio

        context = contextvars.copy_context()
        context.run(_forget_the_outer_loop, "asyncio")
        self._loop: Final = asyncio.new_event_loop()
        self._task: Final = self._loop.create_task(coroutine, context=context)
        self._interruption: BaseException | None = None
        self._ended: Final = threading.Event()
        # A daemon, because the interpreter would wait at its end for a thread that is left behind.
        self._thread: Final = threading.Thread(target=self._run, name="ez-ptc-coroutine", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def _run(self) -> None:
        import asyncio

        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(asyncio.wait([self._task]))
        except BaseException as error:  # noqa: BLE001 - an interruption ends the loop, and is raised with the result
            self._interruption = error
        finally:
            self._ended.set()

    def is_alive(self) -> bool:
        """Say whether the thread runs."""
        return self._thread.is_alive()

    def call(self, function: Callable[[], object]) -> None:
        """Call a function in the event loop, unless that has ended."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)

    def cancel(self) -> None:
        """Cancel the coroutine."""
        self.call(self._task.cancel)

    def join(self) -> None:
        """Wait until the coroutine, and all that it left in its loop, has ended. Its own thread goes on at once."""
        if self.is_alive() and threading.current_thread() is not self._thread:
            # An interrupted Thread.join() takes a thread that runs for one that has ended.
            self._ended.wait()
            self._thread.join()

    def failure(self) -> BaseException | None:
        """Return what the coroutine raised, a cancellation too, or None where it has not ended so."""
        try:
            self.result()
        except BaseException as error:  # noqa: BLE001 - it is returned
            return error
        return None

    def result(self) -> R:
        """Return what the coroutine returned once it has ended, or raise what it raised."""
        if self._task.done() and not (self._interruption is not None and self._task.cancelled()):
            return self._task.result()
        if self._interruption is not None:  # of another task in the loop
            raise self._interruption
        message = "the thread that runs this coroutine is gone, as in a fork: start it again in this process"
        raise RuntimeError(message)


class BlockingEvents(Iterator[R]):
    """Asynchronous events for blocking code to iterate over: each is made when it is asked for, and not before.

    One task makes all of them, because cancel scopes may not move from one task to another, and waits after each until
    the next one is asked for. Its event loop runs in a thread of its own, so that it makes no difference whether a loop
    runs in the caller's. Closing cancels the task and waits for its end, as does an interruption of the caller. An
    iterator that is dropped cancels it too, but waits for nothing: the garbage collector may run in any thread.
    """

    def __init__(self, events: AsyncGenerator[R]) -> None:
        import asyncio

        self._events: Final = events
        self._made: Final = SimpleQueue[tuple[R] | None]()
        self._wanted: Final = asyncio.Semaphore(0)
        self._closed: Final = threading.Event()
        self._running: _LoopThread[None] | None = None

    def __next__(self) -> R:
        if self._closed.is_set():
            raise StopIteration
        try:
            running = self._ask()
            event = self._made.get()
        except BaseException:  # whatever a signal handler raises; it is raised again
            self.close()
            raise
        if event is not None:
            return event[0]
        was_closed = self._closed.is_set()
        self.close()
        if not was_closed:
            running.result()
        raise StopIteration

    def close(self) -> None:
        """Stop: what has not happened yet will not. May be called from any thread."""
        self._closed.set()
        if self._running is not None:
            self._running.cancel()
            self._running.join()

    def _ask(self) -> _LoopThread[None]:
        if self._running is None:
            # Nothing in the thread refers to this object, which would never be dropped then.
            self._running = _LoopThread(_make_events(self._events, self._made, self._wanted, self._closed))
            weakref.finalize(self, _drop, self._running, self._closed)
            self._running.start()
        else:
            self._running.call(self._wanted.release)
            if not self._running.is_alive():  # the last event was made before, or this is a fork of its process
                self._made.put(None)
        return self._running


def _drop(running: _LoopThread[None], closed: threading.Event) -> None:
    closed.set()
    running.cancel()


async def _make_events(
    events: AsyncGenerator[R],
    made: SimpleQueue[tuple[R] | None],
    wanted: "asyncio.Semaphore",
    closed: threading.Event,
) -> None:
    try:
        async with contextlib.aclosing(events):
            async for event in events:
                made.put((event,))
                if closed.is_set():  # foreign code may have swallowed the cancellation
                    break
                await wanted.acquire()
    finally:
        made.put(None)


def iterated(events: AsyncGenerator[R]) -> BlockingEvents[R]:
    """Iterate over asynchronous events from blocking code; closing the iterator cancels what gives them."""
    return BlockingEvents(events)


def on_fork(target: T, function: Callable[[T], None]) -> None:
    """Call `function(target)` in every fork of this process that is made while `target` lives.

    One hook serves all targets: a hook can never be removed, and each would be called at every fork.
    """
    _calls_on_fork()[target] = function


@cache
def _calls_on_fork() -> "weakref.WeakKeyDictionary[Any, Callable[[Any], None]]":
    calls: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()

    def call_all() -> None:
        for target, function in tuple(calls.items()):
            function(target)

    # Where it is missing, a process cannot fork.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=call_all)
    return calls


def _a_loop_runs_here() -> bool:
    import asyncio

    from anyio import get_cancelled_exc_class

    with contextlib.suppress(RuntimeError):
        # Also between its tasks, where a signal handler may have interrupted it.
        asyncio.get_running_loop()
        return True
    try:
        get_cancelled_exc_class()
    except RuntimeError:  # what anyio says where no loop runs has this class in all its versions
        return False
    return True


def _forget_the_outer_loop(library: str | None) -> None:
    # anyio asks sniffio, where that is installed, which library runs, and its answer lies in a context variable.
    if (sniffio := sys.modules.get("sniffio")) is not None:
        sniffio.current_async_library_cvar.set(library)
