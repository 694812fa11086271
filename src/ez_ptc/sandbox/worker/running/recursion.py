"""Recursion limits: `sys.setrecursionlimit` accepts any number, and recursion that is too deep is a RecursionError.

Up to Python 3.11, every level may use the C stack, whose overflow kills the process. The deepest frames known are those
of `list.sort` with a key that sorts: 2.6 KB a level. From 3.12 on, the interpreter limits C recursion itself, to 10,000
levels at most; Python functions use other memory.

A thread's whole stack counts as memory of the program. The first few threads get 8 MB each, as from plain CPython on
Linux; with more threads, each further one gets less, and a recursion within the interpreter's limit may overflow it.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__ = ["install", "make_room", "make_room_for_thread"]

_STACK_OF_A_LEVEL = 2_700
_MEMORY_OF_A_LEVEL = 2_048
# The default size would allow few threads.
_STACK_OF_A_THREAD = 1 << 20
_STACK_OF_THE_FIRST = 8 << 20
# Threads with the larger stack.
_FIRST = 4
# The fraction of a program's memory: small programs have small stacks.
_SHARE_OF_A_STACK = 32
_MAX_C_INT = (1 << 31) - 1
_C_COUNTS = sys.version_info < (3, 12)

_most = 1 << 30
_set_limit = sys.setrecursionlimit
_stack_size = threading.stack_size
_asked = sys.getrecursionlimit()
_large_stack = _STACK_OF_A_THREAD
_given_stack = _STACK_OF_A_THREAD


def install() -> None:
    """Let programs set any limit."""
    sys.setrecursionlimit = _set
    sys.getrecursionlimit = _get
    _stack_size(_STACK_OF_A_THREAD)


def make_room(memory: int, stack: int) -> None:
    """Compute the recursion depth that fits into a program's memory limit and its C stack, in bytes."""
    global _most, _large_stack  # noqa: PLW0603 - the limits of this process
    _large_stack = min(max(memory // _SHARE_OF_A_STACK, _STACK_OF_A_THREAD), _STACK_OF_THE_FIRST)
    _most = max(stack // _STACK_OF_A_LEVEL if _C_COUNTS else memory // _MEMORY_OF_A_LEVEL, _asked)


def make_room_for_thread(others: int) -> None:
    """Choose the stack size of the next thread beside `others`, unless the program has chosen one."""
    global _given_stack  # noqa: PLW0603 - what is compared with what the program may have chosen
    size = _STACK_OF_A_THREAD
    if others < _FIRST:
        size = _large_stack
    chosen = _stack_size(size)
    if chosen == _given_stack:
        _given_stack = size
    else:
        _stack_size(chosen)


def _set(limit: Any, /) -> None:  # noqa: ANN401 - CPython says what it takes
    """Set the maximum depth of the Python interpreter stack to n."""
    global _asked  # noqa: PLW0603 - the limit of this process
    is_too_much = isinstance(limit, int) and _most < limit <= _MAX_C_INT
    _set_limit(_most if is_too_much else limit)
    _asked = limit


def _get() -> int:
    """Return the current value of the recursion limit, as it was set."""
    return _asked
