"""Code that would run in a thread of its own, run here and now: it sees neither the caller's loop nor its context."""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Any

from ..running import call_paths

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run_inline"]

_swap_task: Callable[[asyncio.AbstractEventLoop, Any], Any] = vars(asyncio.tasks)["_swap_current_task"]
_set_loop: Callable[[asyncio.AbstractEventLoop | None], None] = vars(asyncio.events)["_set_running_loop"]


def run_inline(
    path: call_paths.CallPath,
    context: contextvars.Context | None,
    function: Callable[..., object],
    /,
    *args: object,
    **kwargs: object,
) -> object:
    """Call a function as a thread would, with the call path of its job, and by default in an empty context."""
    run = (context or contextvars.Context()).run
    loop = call_paths.running_loop()
    if loop is None:
        return call_paths.run_in(path, run, function, *args, **kwargs)
    task = _swap_task(loop, None)
    _set_loop(None)
    try:
        return call_paths.run_in(path, run, function, *args, **kwargs)
    finally:
        _set_loop(loop)
        _swap_task(loop, task)
