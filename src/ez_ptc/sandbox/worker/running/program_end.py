"""The end of a program, like CPython's own: threads, callbacks, and the contents of its module."""

from __future__ import annotations

import atexit
import concurrent.futures.thread
import gc
import logging
import sys
import threading
from typing import TYPE_CHECKING

from . import call_paths

if TYPE_CHECKING:
    from types import ModuleType
    from weakref import ReferenceType

__all__ = ["drop_module", "finish", "may_have_finalizers", "wait_for_threads"]

_run_callbacks = vars(atexit)["_run_exitfuncs"]
_handlers: list[object] = vars(logging)["_handlerList"]
_HANDLERS_OF_NO_PROGRAM = len(_handlers)
# It writes to many pages, and has nothing to do without handlers; `finish` calls it for those of a program.
atexit.unregister(logging.shutdown)
_FINALIZERS = ("__del__", "weakref", "yield", "exec", "eval")
_STAYS = "__builtins__"


def may_have_finalizers(text: str) -> bool:
    """Return whether a program may notice the end of its last objects.

    A collection takes a tenth of a small program's time.
    """
    return any(map(text.__contains__, _FINALIZERS))


def finish() -> None:
    """Wait for the program's threads, and call its atexit functions."""
    wait_for_threads()
    _run_callbacks()
    if len(_handlers) > _HANDLERS_OF_NO_PROGRAM:
        atexit.register(logging.shutdown)
        _run_callbacks()


def drop_module(alive: ReferenceType[ModuleType]) -> None:
    """Drop the program's module, to which this runtime has no other reference."""
    sys.modules.pop("__main__", None)
    gc.collect()
    module = alive()
    if module is None:
        return
    # It is still referenced: then CPython clears it, names with one underscore first (_PyModule_ClearDict).
    names = vars(module)
    for name in sorted(names, key=lambda name: not name.startswith("_") or name.startswith("__")):
        if name != _STAYS:
            names[name] = None
    gc.collect()


def wait_for_threads() -> None:
    """Wait for the threads CPython would wait for at the end of a program."""
    if not call_paths.count_threads():
        return
    shut_down = getattr(concurrent.futures.thread, "_python_exit", None)
    if shut_down is not None:
        shut_down()
        # Set forever at a program's end, but a session continues.
        setattr(concurrent.futures.thread, "_shutdown", False)  # noqa: B010 - no public name, and pyright knows none
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
