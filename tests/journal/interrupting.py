"""Interrupting what this thread does at one of its lines, as Ctrl-C does."""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Callable, Collection
from types import FrameType, ModuleType
from typing import Any

__all__ = ["interrupt_at"]


def interrupt_at(
    count: int, action: Callable[[], object], modules: Collection[ModuleType], *, functions: Collection[str] = ()
) -> bool:
    """Interrupt an action at one of its lines in modules, or in functions of them; return whether it had so many."""
    files = set(map(inspect.getsourcefile, modules))
    left = [count]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:  # noqa: ANN401 - as `sys.settrace` has it
        del argument
        if frame.f_code.co_filename not in files or (functions and frame.f_code.co_name not in functions):
            return None
        if event == "line":
            left[0] -= 1
            if not left[0]:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    gc.disable()  # an interruption in the finalizer of another journal would be lost
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
    return False
