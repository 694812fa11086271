"""The sandbox that toolkits share when they are given none: one zygote serves a whole host process."""

from __future__ import annotations

import atexit
import functools
import threading
from typing import TYPE_CHECKING

from ez_ptc._sync import in_forks

if TYPE_CHECKING:
    from ez_ptc.sandbox.process.backend import ProcessSandbox

__all__ = ["SharedSandbox", "shared"]


class SharedSandbox:
    """Counts who uses the sandbox, and ends its processes with the last who says that he has finished."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._sandbox: ProcessSandbox | None = None
        in_forks(self._start_anew)

    def _start_anew(self) -> None:
        self._lock = threading.Lock()

    def acquire(self) -> ProcessSandbox:
        """Return the sandbox, and count one more user of it."""
        from ez_ptc.sandbox.process.backend import ProcessSandbox

        with self._lock:
            self._users += 1
            if self._sandbox is None:
                self._sandbox = ProcessSandbox()
            return self._sandbox

    def release(self) -> None:
        """Count one user less; the last one ends every process."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._sandbox is not None:
                self._sandbox.close()
                self._sandbox = None

    def end(self) -> None:
        """End every process, whoever still counts as a user."""
        with self._lock:
            if self._sandbox is not None:
                self._sandbox.close()
                self._sandbox = None


@functools.cache
def shared() -> SharedSandbox:
    """Return the one of this process; its processes end with it."""
    found = SharedSandbox()
    atexit.register(found.end)
    return found
