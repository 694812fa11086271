"""The one place where a blocking call becomes an awaited one, and the reverse; and what a fork of the host undoes."""

import contextvars
import os
import sys
import threading
import weakref
from collections.abc import AsyncIterable, Callable, Coroutine, Generator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

__all__ = ["in_forks", "iterated", "run_coroutine", "to_thread"]

R = TypeVar("R")


async def to_thread(function: Callable[..., R], *arguments: object) -> R:
    """Call a blocking function in a worker thread and await what it returns.

    The thread sees the caller's context variables. When the caller is cancelled, it goes on at once and the thread is
    left to end by itself: a thread cannot be stopped, and nobody should wait for one that hangs. There are at most as
    many threads as anyio's default limiter has places (40); further calls wait for one.

    `function` must not raise `StopIteration`, which no future can carry.
    """
    from anyio import to_thread as threads

    return await threads.run_sync(function, *arguments, abandon_on_cancel=True)


def run_coroutine(function: Callable[..., Coroutine[object, object, R]], *arguments: object) -> R:
    """Call an asynchronous function from blocking code, and return what it returns or raise what it raises.

    It runs on an asyncio event loop of its own: in this thread where no loop runs here, otherwise in a new one, while
    this thread waits. It sees the caller's context variables either way.
    """
    import asyncio

    if not _a_loop_runs_here():
        return asyncio.run(function(*arguments))
    future: Future[R] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            context.run(_forget_the_outer_loop)
            future.set_result(context.run(asyncio.run, function(*arguments)))
        except BaseException as error:  # noqa: BLE001 - whatever ends the coroutine is raised again by the waiting thread
            future.set_exception(error)

    threading.Thread(target=run, name="ez-ptc-coroutine", daemon=True).start()
    return future.result()


def iterated(events: AsyncIterable[R]) -> Generator[R]:
    """Iterate over asynchronous events from blocking code; closing the generator cancels what gives them.

    They come from an asyncio event loop in a thread of its own.
    """
    from anyio.from_thread import start_blocking_portal

    given: SimpleQueue[tuple[R] | None] = SimpleQueue()

    # All of the events are taken in one task, because cancel scopes may not move from one to another.
    async def take() -> None:
        try:
            async for event in events:
                given.put((event,))
        finally:
            given.put(None)

    with start_blocking_portal() as portal:
        taking = portal.start_task_soon(take)
        try:
            while (item := given.get()) is not None:
                yield item[0]
            taking.result()
        finally:
            taking.cancel()


def in_forks(method: Callable[[], None]) -> None:
    """Call a bound method in every fork of this process that is made while its object lives."""
    reference = weakref.WeakMethod(method)

    def call() -> None:
        alive = reference()
        if alive is not None:
            alive()

    os.register_at_fork(after_in_child=call)


def _a_loop_runs_here() -> bool:
    from anyio import get_cancelled_exc_class

    try:
        get_cancelled_exc_class()
    except RuntimeError:  # what anyio says where no loop runs has this class in all its versions
        return False
    return True


def _forget_the_outer_loop() -> None:
    # anyio asks sniffio, where that is installed, which library runs, and its answer lies in a context variable.
    if (sniffio := sys.modules.get("sniffio")) is not None:
        sniffio.current_async_library_cvar.set("asyncio")
