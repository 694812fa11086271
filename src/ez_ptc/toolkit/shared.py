"""The sandbox that toolkits share when they are given none: one zygote serves a whole host process."""

from __future__ import annotations

import atexit
import functools
import threading
from collections import Counter
from typing import TYPE_CHECKING

from ez_ptc._sync import in_forks

if TYPE_CHECKING:
    from ez_ptc.sandbox.process.backend import ProcessSandbox

__all__ = ["SharedSandbox", "shared"]


class SharedSandbox:
    """Counts who uses a sandbox, and ends its processes with the last who says that he has finished.

    There is one for each set of packages that programs may import.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: Counter[frozenset[str]] = Counter()
        self._sandboxes: dict[frozenset[str], ProcessSandbox] = {}
        in_forks(self._start_anew)

    def _start_anew(self) -> None:
        self._lock = threading.Lock()

    def acquire(self, packages: frozenset[str]) -> ProcessSandbox:
        """Return the sandbox in which programs may import `packages`, and count one more user of it."""
        from ez_ptc.sandbox.process.backend import ProcessSandbox

        with self._lock:
            if packages not in self._sandboxes:
                self._sandboxes[packages] = ProcessSandbox(allow_imports=packages)
            self._users[packages] += 1
            return self._sandboxes[packages]

    def release(self, packages: frozenset[str]) -> None:
        """Count one user less; the last one ends every process."""
        with self._lock:
            self._users[packages] -= 1
            if self._users[packages] == 0 and packages in self._sandboxes:
                self._sandboxes.pop(packages).close()

    def end(self) -> None:
        """End every process, whoever still counts as a user."""
        with self._lock:
            while self._sandboxes:
                self._sandboxes.popitem()[1].close()


@functools.cache
def shared() -> SharedSandbox:
    """Return the one of this process; its processes end with it."""
    found = SharedSandbox()
    atexit.register(found.end)
    return found
