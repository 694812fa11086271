"""Code that would run in a thread of its own, run here and now: it sees neither the caller's loop nor its context."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
from typing import TYPE_CHECKING, Any

from ...worker.running import call_paths

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["current_ident", "run_inline"]

_swap_task: Callable[[asyncio.AbstractEventLoop, Any], Any] = vars(asyncio.tasks)["_swap_current_task"]
_set_loop: Callable[[asyncio.AbstractEventLoop | None], None] = vars(asyncio.events)["_set_running_loop"]
_active: dict[int, threading.Thread] = vars(threading)["_active"]
# The threads that run, each within its starter: the last one runs now.
_idents = [threading.get_ident()]
_next_ident = itertools.count(_idents[0] + 1)


def current_ident() -> int:
    """Return the number of the thread that runs."""
    return _idents[-1]


def run_inline(
    thread: threading.Thread,
    path: call_paths.CallPath,
    context: contextvars.Context | None,
    function: Callable[..., object],
    /,
    *args: object,
    **kwargs: object,
) -> object:
    """Call a function as `thread` would, with the call path of its job, and by default in an empty context."""
    run = (context or contextvars.Context()).run
    named: Any = thread
    named._ident = named._ident or next(_next_ident)  # noqa: SLF001 - a Thread has no public name for it
    _idents.append(named._ident)  # noqa: SLF001 - as above
    _active[named._ident] = thread  # noqa: SLF001 - as above
    loop = call_paths.running_loop()
    task = None
    if loop is not None:
        task = _swap_task(loop, None)
        _set_loop(None)
    try:
        return call_paths.run_in(path, run, function, *args, **kwargs)
    finally:
        if loop is not None:
            _set_loop(loop)
            _swap_task(loop, task)
        _active.pop(_idents.pop(), None)
