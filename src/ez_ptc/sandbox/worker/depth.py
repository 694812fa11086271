"""How deep programs may recurse: `sys.setrecursionlimit` takes any number, and too deep is a RecursionError.

Until Python 3.11 every level of recursion may take the C stack, and what overruns that ends the process. The deepest
frames known are those of `list.sort` with a key that sorts: 2.6 KB a level. From 3.12 on the interpreter itself limits
how deep C goes, to 10,000 levels at most; what Python's own functions take is memory.
"""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__ = ["install", "make_room"]

_STACK_OF_A_LEVEL = 2_700
_MEMORY_OF_A_LEVEL = 2_048
_MOST_STACK = 112 << 20
"""Linux leaves 128 MB for the stack, whatever its limit was when the process began."""
_MOST_THAT_C_TAKES = (1 << 31) - 1
_C_COUNTS = sys.version_info < (3, 12)

_most = 1 << 30
_set_limit = sys.setrecursionlimit
_asked = sys.getrecursionlimit()


def install() -> None:
    """Let programs ask for any limit."""
    sys.setrecursionlimit = _set
    sys.getrecursionlimit = _get


def make_room(memory: int) -> None:
    """Give the stack a quarter of what a program's memory may be, and note what recursion fits into both."""
    global _most  # noqa: PLW0603 - the limit of this process
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = min(memory // 4, _MOST_STACK)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
    stack = _MOST_STACK if soft == resource.RLIM_INFINITY else min(soft, _MOST_STACK)
    _most = max(stack // _STACK_OF_A_LEVEL if _C_COUNTS else memory // _MEMORY_OF_A_LEVEL, _asked)


def _set(limit: Any, /) -> None:  # noqa: ANN401 - CPython says what it takes
    """Set the maximum depth of the Python interpreter stack to n."""
    global _asked  # noqa: PLW0603 - the limit of this process
    is_too_much = isinstance(limit, int) and _most < limit <= _MOST_THAT_C_TAKES
    _set_limit(_most if is_too_much else limit)
    _asked = limit


def _get() -> int:
    """Return the current value of the recursion limit, as it was asked for."""
    return _asked
