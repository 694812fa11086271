"""asyncio for programs: tasks with call paths, and plain values accepted where something is awaited.

A model cannot always know which tools are async, and `await tool(x)` should work either way. Outside a running loop,
tools return their results directly, so an ``await`` (rewritten in the syntax tree), a ``gather`` or a ``run`` of such
results accepts plain values.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from .call_paths import new_task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

__all__ = ["install", "settle"]

_THREADS = 64


class _Settled:
    """An awaitable with a result."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __await__(self) -> Generator[None, None, object]:
        yield from ()
        return self._value


def settle(value: object) -> Awaitable[object]:
    """Return `value` if it is awaitable, or else an awaitable of it."""
    if inspect.isawaitable(value):
        return value
    return _Settled(value)


def install() -> None:
    """Make every new event loop number its tasks, and let gather and run accept plain values.

    `concurrent.futures` no longer exports the executors of absent modules.
    """
    concurrent.futures.__all__ = tuple(
        name for name in concurrent.futures.__all__ if name not in {"ProcessPoolExecutor", "InterpreterPoolExecutor"}
    )
    loop_class = asyncio.BaseEventLoop
    initialise = loop_class.__init__
    gather = asyncio.gather
    run = asyncio.run

    def start(self: asyncio.BaseEventLoop) -> None:
        initialise(self)
        self.set_task_factory(new_task)  # pyright: ignore[reportArgumentType] - typeshed knows no keyword `context`
        # The default, the number of cores plus four, is too small for programs that wait for many tools.
        self.set_default_executor(ThreadPoolExecutor(_THREADS))

    def tolerant_gather(*awaitables: object, return_exceptions: bool = False) -> object:
        return gather(*map(settle, awaitables), return_exceptions=return_exceptions)

    async def awaiting(value: Awaitable[object]) -> object:
        return await value

    def tolerant_run(main: object, **options: Any) -> object:
        if not inspect.isawaitable(main):
            return main
        return run(main if inspect.iscoroutine(main) else awaiting(main), **options)

    loop_class.__init__ = start
    asyncio.gather = asyncio.tasks.gather = tolerant_gather
    asyncio.run = asyncio.runners.run = tolerant_run
