"""The sandbox that toolkits share when they are given none: one zygote serves a whole host process.

A signal handler or a finalizer that interrupts this module may open, close or drop a toolkit itself. It takes the lock
again, which is reentrant, and finds consistent counts after every step. Releasing a share never waits for the lock: if
another thread holds it, that thread lets the share go.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import threading
from collections import deque
from typing import TYPE_CHECKING

from ez_ptc._sync import on_fork

if TYPE_CHECKING:
    from ez_ptc.sandbox.process.backend import ProcessSandbox

__all__ = ["Share", "SharedSandbox", "shared"]


class Share:
    """One user of a sandbox in which programs may import `packages`; it counts once, however often it is asked for."""

    def __init__(self, packages: frozenset[str]) -> None:
        """Count nowhere yet."""
        self.packages = packages
        self._lender: SharedSandbox | None = None

    def sandbox(self) -> ProcessSandbox:
        """Return the sandbox, and count as a user of it from now on."""
        self._lender = lender = self._lender or shared()
        return lender.acquire(self)

    def release(self) -> None:
        """Count no more; the last one ends every process. Releasing twice is fine, and so is a finalizer."""
        if self._lender is not None:
            self._lender.release(self)


class SharedSandbox:
    """Knows who uses a sandbox, and ends its processes with the last who has finished, or was dropped.

    There is one for each set of packages that programs may import.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users: dict[frozenset[str], set[Share]] = {}
        self._sandboxes: dict[frozenset[str], ProcessSandbox] = {}
        self._leaving: deque[Share] = deque()
        on_fork(self, SharedSandbox._after_fork)

    def _after_fork(self) -> None:
        self._lock = threading.RLock()

    def acquire(self, share: Share) -> ProcessSandbox:
        """Return the sandbox in which programs may import the share's packages, and count the share as a user of it."""
        from ez_ptc.sandbox.process.backend import ProcessSandbox

        packages = share.packages
        try:
            with self._lock:
                self._users.setdefault(packages, set()).add(share)
                found = self._sandboxes.get(packages)
                if found is None:
                    found = self._sandboxes.setdefault(packages, ProcessSandbox(allow_imports=packages))
                return found
        finally:
            self._settle()

    def release(self, share: Share) -> None:
        """Count one user less; the last one ends every process."""
        self._leaving.append(share)
        self._settle()

    def _settle(self) -> None:
        """Let those go that are leaving, unless another thread is inside: it does so when it comes out."""
        while self._leaving and self._lock.acquire(blocking=False):
            try:
                unused = self._let_go()
            finally:
                self._lock.release()
            if unused is not None:
                unused.close()

    def _let_go(self) -> ProcessSandbox | None:
        """Let one go; return the sandbox that nobody uses any more."""
        with contextlib.suppress(IndexError):
            share = self._leaving.popleft()
            users = self._users.get(share.packages, set())
            users.discard(share)
            found = None if users else self._sandboxes.pop(share.packages, None)
            # A signal handler may have brought a user in between.
            if found is not None and not (users and self._sandboxes.setdefault(share.packages, found) is found):
                return found
        return None

    def end(self) -> None:
        """End every process, whoever still counts as a user."""
        with contextlib.suppress(KeyError):
            while True:
                self._sandboxes.popitem()[1].close()


@functools.cache
def shared() -> SharedSandbox:
    """Return the one of this process; its processes end with it."""
    found = SharedSandbox()
    atexit.register(found.end)
    return found
