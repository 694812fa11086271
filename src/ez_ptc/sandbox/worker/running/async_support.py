"""asyncio for programs: tasks with call paths, and plain values accepted where something is awaited.

A model cannot always know which tools are async, and `await tool(x)` should work either way. Outside a running loop,
tools return their results directly, so whatever takes an awaitable there accepts plain values: an ``await`` (rewritten
in the syntax tree), and the functions of asyncio that drive a loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import sys
from concurrent.futures import ThreadPoolExecutor
from types import GeneratorType
from typing import TYPE_CHECKING, Any, cast

from .call_paths import new_task, outcome_of, running_loop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator
    from types import FunctionType

__all__ = ["install", "make_futures_of_results", "mark_async", "read_marks", "run_results", "settle"]

_THREADS = 64
_COLLECTIONS = (list, tuple, set)
# The mark of Python 3.11, which asyncio alone reads; later ones have `inspect.markcoroutinefunction`.
_MARK = "_is_coroutine"
_MARKED: object = vars(asyncio.coroutines).get(_MARK)


class _Settled:
    """An awaitable with a result, for any event loop."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __await__(self) -> Generator[None, None, object]:
        yield from ()
        return self._value

    def result(self) -> object:
        """Return the result, as a future does."""
        return self._value


def settle(value: object) -> Awaitable[object]:
    """Return `value` if it is awaitable, or else an awaitable of it.

    Raises TypeError, as asyncio does, for several awaitables in one value: no tool returns these.
    """
    if inspect.isawaitable(value):
        return value
    is_several = type(value) in _COLLECTIONS and inspect.isawaitable(next(iter(cast("list[object]", value)), None))
    if is_several or type(value) is GeneratorType:
        message = "An asyncio.Future, a coroutine or an awaitable is required"
        raise TypeError(message)
    return _Settled(value)


def mark_async(function: FunctionType) -> None:
    """Make `inspect.iscoroutinefunction` and that of asyncio return True for the function of an asynchronous tool."""
    if sys.version_info >= (3, 12):
        inspect.markcoroutinefunction(function)
    else:
        vars(function)[_MARK] = _MARKED


def install() -> None:
    """Make every new event loop number its tasks, and let the functions of asyncio accept plain values.

    `concurrent.futures` no longer exports the executors of absent modules.
    """
    concurrent.futures.__all__ = tuple(
        name for name in concurrent.futures.__all__ if name not in {"ProcessPoolExecutor", "InterpreterPoolExecutor"}
    )
    loop_class = asyncio.BaseEventLoop
    initialise = loop_class.__init__

    def start(self: asyncio.BaseEventLoop) -> None:
        initialise(self)
        self.set_task_factory(new_task)  # pyright: ignore[reportArgumentType] - typeshed knows no keyword `context`
        # The default, the number of cores plus four, is too small for programs that wait for many tools.
        self.set_default_executor(ThreadPoolExecutor(_THREADS))

    loop_class.__init__ = start
    run_results()
    make_futures_of_results()
    if sys.version_info < (3, 12):
        read_marks()


def run_results() -> None:
    """Let the functions for running a coroutine return a result too."""
    run, run_threadsafe = asyncio.run, asyncio.run_coroutine_threadsafe
    run_in_runner: Callable[..., object] = asyncio.Runner.run

    def tolerant_run(main: object, **options: Any) -> object:
        if not inspect.isawaitable(main):
            return main
        return run(_as_coroutine(main), **options)

    def tolerant_run_in_runner(self: asyncio.Runner, coro: object, **options: Any) -> object:
        return run_in_runner(self, _as_coroutine(coro), **options)

    def tolerant_run_threadsafe(coro: object, loop: asyncio.AbstractEventLoop) -> concurrent.futures.Future[object]:
        return run_threadsafe(_as_coroutine(coro), loop)

    asyncio.run = asyncio.runners.run = tolerant_run
    asyncio.Runner.run = tolerant_run_in_runner
    asyncio.run_coroutine_threadsafe = asyncio.tasks.run_coroutine_threadsafe = tolerant_run_threadsafe


def make_futures_of_results() -> None:
    """Let the functions for making futures of awaitables accept results too."""
    gather, ensure_future, wait_for = asyncio.gather, asyncio.ensure_future, asyncio.wait_for

    def tolerant_gather(*awaitables: object, return_exceptions: bool = False) -> object:
        settled = [*map(settle, awaitables)]
        if running_loop() is None and awaitables and not any(map(inspect.isawaitable, awaitables)):
            return _Settled([*awaitables])
        return gather(*settled, return_exceptions=return_exceptions)

    def tolerant_ensure_future(
        coro_or_future: object, *, loop: asyncio.AbstractEventLoop | None = None
    ) -> asyncio.Future[object]:
        return ensure_future(settle(coro_or_future), loop=loop)

    async def tolerant_wait_for(fut: object, timeout: float | None) -> object:  # noqa: ASYNC109 - as in asyncio
        return await wait_for(settle(fut), timeout)

    asyncio.gather = asyncio.tasks.gather = tolerant_gather
    asyncio.ensure_future = asyncio.tasks.ensure_future = tolerant_ensure_future
    asyncio.wait_for = asyncio.tasks.wait_for = tolerant_wait_for


def read_marks() -> None:
    """Let `inspect` know the mark of asynchronous functions, as it does from Python 3.12 on."""
    check = inspect.iscoroutinefunction

    def is_coroutine_function(obj: object) -> bool:
        """Return True for a coroutine function."""
        if check(obj):
            return True
        while isinstance(obj, functools.partial):
            obj = obj.func
        return getattr(obj, _MARK, None) is _MARKED

    is_coroutine_function.__name__ = is_coroutine_function.__qualname__ = "iscoroutinefunction"
    inspect.iscoroutinefunction = is_coroutine_function


def _as_coroutine(value: object) -> Coroutine[Any, Any, object]:
    if inspect.iscoroutine(value):
        return value
    return outcome_of(value)
