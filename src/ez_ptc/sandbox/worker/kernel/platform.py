"""The platform of a worker process: resource limits and signals of a Unix kernel."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import resource
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, cast

from ..repeating import clocks, locks, loops, ordering, threads
from ..repeating.replies import OrderedReplies
from ..running.call_paths import current

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from types import FrameType

    from ..running.determinism import ProgramClock
    from ..running.link import Link, Pending

__all__ = ["KernelPlatform", "measure_memory"]

# Memory kept in reserve, so that running out of memory can be reported.
_REPORT_MEMORY = 48 << 20
# Linux reserves 128 MB for the stack, whatever its limit was when the process began.
_MAX_STACK = 112 << 20
_RETRY_SECONDS = 0.001
_UNKNOWN_MEMORY = 64 << 20


# Where a C class has its hash function: after the header and twelve other fields.
_HASH_OFFSET = object.__basicsize__ + 13 * ctypes.sizeof(ctypes.c_void_p)


class _Hashed:
    """Has the hash function in C for classes with a `__hash__` in Python."""

    def __hash__(self) -> int:
        return 0


def measure_memory() -> int:
    """Return the bytes of data this process has already: the part of RLIMIT_DATA not available to the program."""
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    return _UNKNOWN_MEMORY


def _replace_hash(cls: type, hash_of: Callable[[Any], int]) -> None:
    """Let instances of a C class have another hash."""
    names = cast("list[dict[str, object]]", gc.get_referents(vars(cls)))[0]
    names["__hash__"] = hash_of
    slot, other = (ctypes.c_void_p.from_address(id(owner) + _HASH_OFFSET) for owner in (cls, _Hashed))
    slot.value = other.value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


class KernelPlatform:
    """Limits and stops of the programs of one process, which already has `base_memory` bytes of data."""

    def __init__(self, base_memory: int) -> None:
        self._base_memory = base_memory
        self._takes_turns = False
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        self._most_memory = sys.maxsize if most == resource.RLIM_INFINITY else most

    def on_stop(self, stop: Callable[[str], None]) -> None:
        """Call `stop` on the host's signal, and on the kernel's for CPU time."""

        def on_signal(signum: int, frame: FrameType | None) -> None:
            del frame
            stop("cpu" if signum == signal.SIGXCPU else "timeout")

        signal.signal(signal.SIGALRM, on_signal)
        signal.signal(signal.SIGXCPU, on_signal)

    def stop_again(self) -> None:
        """Signal this process in a moment."""
        signal.setitimer(signal.ITIMER_REAL, _RETRY_SECONDS)

    def limit(self, limits: dict[str, Any], *, in_session: bool) -> int:
        """Set the limits of this process, and return how many bytes of C stack the program may use."""
        # A lower limit of the host stays.
        memory = min(self._base_memory + limits["memory"] + _REPORT_MEMORY, self._most_memory)
        resource.setrlimit(resource.RLIMIT_DATA, (memory - _REPORT_MEMORY, memory))
        if limits["cpu"]:
            used = math.ceil(time.process_time()) if in_session else 0
            hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
            most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
            if not in_session:  # it kills, and could not be raised for the next program of a session
                hard = most = min(limits["cpu"] + 1, most)
            resource.setrlimit(resource.RLIMIT_CPU, (min(used + limits["cpu"], most - 1), hard))
        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        wanted = min(limits["memory"] // 4, _MAX_STACK)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
        return _MAX_STACK if soft == resource.RLIM_INFINITY else min(soft, _MAX_STACK)

    def release_memory(self) -> None:
        """Raise the limit of memory to its hard one."""
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))

    def finish_jobs(self) -> None:
        """Do nothing: jobs run in threads."""

    def await_answer(
        self, loop: asyncio.AbstractEventLoop, pending: Pending, take: Callable[[Pending], object]
    ) -> Awaitable[object]:
        """Wait for the reply in a thread, or let the loop wait if threads take turns."""
        if not self._takes_turns:
            return loop.run_in_executor(None, take, pending)
        current().step()  # as a job of the executor does: the paths of further calls stay equal
        return loops.await_reply(loop, pending, take)

    def take_turns(self, link: Link, clock: ProgramClock) -> None:
        """Let the threads and event loops of a program take turns, in an order independent of their speed."""
        self._takes_turns = True
        link.ordered = replies = OrderedReplies(link, clock)
        locks.install(replies.baton)
        threads.install(replies.baton)
        loops.install(replies.baton, clock)
        clocks.install(replies.baton, clock)
        ordering.install(_replace_hash)

    def forget_lookups(self, cls: type) -> None:
        """Forget the cached look-ups of a C class."""
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
