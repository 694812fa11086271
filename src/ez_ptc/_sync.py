"""Crossing between blocking and asynchronous code, in both directions."""

import contextlib
import contextvars
import importlib
import sys
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from functools import cache, partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from ez_ptc._forks import on_fork

if TYPE_CHECKING:
    import asyncio

__all__ = [
    "BlockingEvents",
    "Threads",
    "call_within",
    "forget_outer_loop",
    "from_other_threads",
    "run_coroutine",
    "start_in_thread",
    "to_thread",
    "to_thread_and_back",
]

R = TypeVar("R")

_IDLE_SECONDS = 10.0


async def to_thread(function: Callable[..., R], *arguments: object, seconds: float | None = None) -> R:
    """Call a blocking function in a worker thread and await its result.

    The thread sees the caller's context variables. A cancelled caller continues at once and abandons the thread: a
    thread cannot be stopped, and neither the caller nor the exiting interpreter should wait for one that hangs. A
    function that has not begun by then never begins. anyio's default limiter bounds concurrent calls (to 40).

    `function` must not raise `StopIteration`, which a coroutine cannot raise. Raises TimeoutError if the call takes
    longer than `seconds` after it begins.
    """
    from anyio import Event, fail_after
    from anyio.to_thread import current_default_thread_limiter

    ended = Event()
    wake = from_other_threads(ended.set)
    async with current_default_thread_limiter():
        outcome = start_in_thread(_shared_threads().start, function, *arguments, and_then=wake)
        try:
            with fail_after(seconds):
                await ended.wait()
        finally:
            outcome.cancel()  # without effect on a function that has begun
    return outcome.result()


async def to_thread_and_back(
    function: Callable[..., R], *arguments: object, undo: Callable[[R], object] | None = None
) -> R:
    """Same as `to_thread`, but a cancelled caller waits for the function, whose result must not be lost.

    `undo` is called with a result that the caller does not get: asyncio's own cancellation is raised afterwards.
    """
    from anyio import CancelScope, Event, get_cancelled_exc_class
    from anyio.to_thread import current_default_thread_limiter

    ended = Event()
    wake = from_other_threads(ended.set)
    results: list[R] = []
    cancellation: BaseException | None = None
    with CancelScope(shield=True):
        async with current_default_thread_limiter():
            outcome = start_in_thread(_shared_threads().start, function, *arguments, and_then=wake)
            while not ended.is_set():
                try:
                    await ended.wait()
                except get_cancelled_exc_class() as error:  # no scope shields from the cancellation of the task itself
                    cancellation = error
                    if outcome.cancel():  # it has not begun
                        raise
        if cancellation is None:
            results.append(outcome.result())
        elif undo is not None and outcome.exception() is None:
            undo(outcome.result())
    if cancellation is not None:
        raise cancellation
    return results[0]


def call_within(seconds: float, function: Callable[[], R]) -> R:
    """Call a function in a new thread and wait at most `seconds` for its result; then the thread is abandoned.

    The thread sees the caller's context variables. A function that has not begun by then never begins. Raises
    TimeoutError, or whatever the function raises; it must not raise TimeoutError itself.
    """
    outcome = start_in_thread(
        lambda job: threading.Thread(target=job, name="ez-ptc-call", daemon=True).start(), function
    )
    try:
        return outcome.result(timeout=seconds)
    finally:
        outcome.cancel()


class Threads:
    """An unbounded pool of daemon threads, which end after ten idle seconds.

    Jobs that hang would use up a bounded pool, and the exiting interpreter would wait for threads that are not daemons.
    """

    def __init__(self) -> None:
        self._idle: deque[SimpleQueue[Callable[[], None]]] = deque()

    def forget(self) -> None:
        """Forget the idle threads, which do not exist in a fork of the host."""
        self._idle.clear()

    def start(self, job: Callable[[], None]) -> None:
        """Run `job` in another thread. It must not raise."""
        try:
            self._idle.pop().put(job)
        except IndexError:
            # Not as an argument of the thread, which would keep all that the job refers to until the thread ends.
            inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
            inbox.put(job)
            threading.Thread(target=self._work, args=(inbox,), name="ez-ptc-tools", daemon=True).start()

    def _work(self, inbox: SimpleQueue[Callable[[], None]]) -> None:
        job = inbox.get()
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
                # Another thread took this one from the deque at the last moment: a job is on its way.
                job = inbox.get()


@cache
def _shared_threads() -> Threads:
    """Return the idle threads of this process, which any event loop may use: a blocking turn has a loop of its own."""
    threads = Threads()
    on_fork(threads, Threads.forget)
    return threads


def start_in_thread(
    start: Callable[[Callable[[], None]], None],
    function: Callable[..., R],
    *arguments: object,
    and_then: Callable[[], object] | None = None,
) -> Future[R]:
    """Start a function in a thread by `start`, and return the future of its outcome."""
    outcome: Future[R] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        if not outcome.set_running_or_notify_cancel():
            return
        try:
            context.run(forget_outer_loop, None)
            outcome.set_result(context.run(function, *arguments))
        except BaseException as error:  # noqa: BLE001 - it is raised again for the future's caller
            outcome.set_exception(error)
        if and_then is not None:
            with contextlib.suppress(RuntimeError):  # the event loop is closed, so no one waits
                and_then()

    start(run)
    return outcome


def from_other_threads(function: Callable[[], object]) -> Callable[[], object]:
    """Return a function for any thread that schedules `function` in the running event loop."""
    import asyncio

    from anyio import get_cancelled_exc_class

    if get_cancelled_exc_class() is asyncio.CancelledError:
        return partial(asyncio.get_running_loop().call_soon_threadsafe, function)
    from trio.lowlevel import current_trio_token

    return partial(current_trio_token().run_sync_soon, function)


def run_coroutine(function: Callable[..., Coroutine[object, object, R]], *arguments: object) -> R:
    """Call an asynchronous function from blocking code, and return its result or raise its exception.

    It runs on a new asyncio event loop: in this thread, or in another if a loop is running in this one. It sees the
    caller's context variables in both cases. An interruption of this thread cancels it.
    """
    import asyncio

    coroutine = _as_function(function, *arguments)
    if not _is_loop_running():
        return asyncio.run(coroutine)()
    running = _LoopThread(coroutine)
    try:
        running.start()
        running.join()
    except BaseException as interruption:  # whatever a signal handler raises; it is raised again
        running.cancel()
        running.join()
        raise interruption from running.failure()
    return running.result()()


async def _as_function(function: Callable[..., Coroutine[object, object, R]], *arguments: object) -> Callable[[], R]:
    # A function, whose repr is short: at its end, asyncio.run writes and discards the repr of the task's result.
    result = await function(*arguments)
    return lambda: result


class _LoopThread(Generic[R]):
    """A coroutine on an asyncio event loop in its own thread, with the caller's context variables."""

    def __init__(self, coroutine: Coroutine[object, object, R]) -> None:
        import asyncio

        context = contextvars.copy_context()
        context.run(forget_outer_loop, "asyncio")
        self._loop: Final = asyncio.new_event_loop()
        self._task: Final = self._loop.create_task(coroutine, context=context)
        self._interruption: BaseException | None = None
        self._ended: Final = threading.Event()
        # A daemon, because the exiting interpreter would wait for an abandoned thread.
        self._thread: Final = threading.Thread(target=self._run, name="ez-ptc-coroutine", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def _run(self) -> None:
        import asyncio

        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(asyncio.wait([self._task]))
        except BaseException as error:  # noqa: BLE001 - an interruption ends the loop, and `result` raises it
            self._interruption = error
        finally:
            self._ended.set()

    def is_alive(self) -> bool:
        """Return whether the thread is running."""
        return self._thread.is_alive()

    def call(self, function: Callable[[], object]) -> None:
        """Call a function in the event loop, unless the loop is closed."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)

    def cancel(self) -> None:
        """Cancel the coroutine."""
        self.call(self._task.cancel)

    def join(self) -> None:
        """Wait for the end of the coroutine and of everything it left in its loop; a no-op in its own thread."""
        if self.is_alive() and threading.current_thread() is not self._thread:
            # After an interrupted Thread.join(), a running thread would pass for one that has ended.
            self._ended.wait()
            self._thread.join()

    def failure(self) -> BaseException | None:
        """Return the coroutine's exception, which may be a cancellation, or None."""
        try:
            self.result()
        except BaseException as error:  # noqa: BLE001 - it is returned
            return error
        return None

    def result(self) -> R:
        """Return the result of the coroutine, which has ended, or raise its exception."""
        if self._task.done() and not (self._interruption is not None and self._task.cancelled()):
            return self._task.result()
        if self._interruption is not None:  # of another task in the loop
            raise self._interruption
        message = "the thread of this coroutine does not exist in this process (a fork): start it again"
        raise RuntimeError(message)


class BlockingEvents(Iterator[R]):
    """An iterator over asynchronous events for blocking code; each event is produced when it is requested.

    One task produces all of them, because cancel scopes must not move between tasks, and waits after each for the next
    request. Its event loop has its own thread, so a loop may run in the caller's. Closing the iterator, or interrupting
    the caller, cancels the task and waits for its end. Dropping the iterator cancels it without waiting, because the
    garbage collector may run in any thread.
    """

    def __init__(self, events: AsyncGenerator[R]) -> None:
        import asyncio

        self._events: Final = events
        self._made: Final = SimpleQueue[tuple[R] | None]()
        self._wanted: Final = asyncio.Semaphore(0)
        self._closed: Final = threading.Event()
        self._running: _LoopThread[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __next__(self) -> R:
        if self._closed.is_set():
            raise StopIteration
        try:
            if self._running is None:
                # The thread must not refer to this object, or it would never be garbage collected.
                self._running = _LoopThread(_make_events(self._events, self._made, self._wanted, self._closed))
                weakref.finalize(self, _drop, self._running, self._closed)
                self._running.start()
            else:
                self._running.call(self._wanted.release)
                if not self._running.is_alive():  # the events have ended, or this is a fork
                    self._made.put(None)
            running = self._running
            event = self._made.get()
        except BaseException:  # whatever a signal handler raises
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
        """Cancel the remaining events. May be called from any thread."""
        self._closed.set()
        if self._running is not None:
            self._running.cancel()
            self._running.join()


def _drop(running: _LoopThread[None], closed: threading.Event) -> None:
    closed.set()
    running.cancel()


async def _make_events(
    events: AsyncGenerator[R], made: SimpleQueue[tuple[R] | None], wanted: "asyncio.Semaphore", closed: threading.Event
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


def _is_loop_running() -> bool:
    import asyncio

    from anyio import get_cancelled_exc_class

    with contextlib.suppress(RuntimeError):
        # Also true between tasks, where a signal handler may run.
        asyncio.get_running_loop()
        return True
    try:
        get_cancelled_exc_class()
    except RuntimeError:  # anyio's NoEventLoopError, and what its older versions raise
        return False
    return True


def forget_outer_loop(library: str | None) -> None:
    """Have the current context name another library for its event loop, or none."""
    # If sniffio is installed, anyio asks it for the running library, which it keeps in a context variable.
    if sys.modules.get("sniffio") is not None:
        # Waits for a thread that is importing it. A handler may interrupt that, before any context has a library.
        with contextlib.suppress(AttributeError):
            importlib.import_module("sniffio").current_async_library_cvar.set(library)
