"""The sandbox of a toolkit: its own, or one that all toolkits without their own share.

One shared sandbox, with one zygote, serves the whole host process for each backend and set of importable packages.

Theory of operation. `SharedSandboxes` counts the users of each sandbox. A signal handler or finalizer may interrupt any
line of this module to open, close or drop a toolkit itself: it takes the lock again, which is reentrant, and finds the
counts consistent after each step. Releasing a share never waits for the lock, because a finalizer may run while another
thread holds it: the share goes into `_leaving`, and the thread that holds the lock removes it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING

from ez_ptc._forks import on_fork
from ez_ptc.errors import SandboxError

if TYPE_CHECKING:
    from ez_ptc.sandbox.protocol.interfaces import Sandbox

    _Key = tuple[str | None, frozenset[str]]

__all__ = ["SandboxAccess", "Share", "SharedSandboxes", "shared_sandboxes"]


class SandboxAccess:
    """A toolkit's access to its sandbox, until it is closed. A shared sandbox is acquired on first use."""

    def __init__(self, sandbox: Sandbox | str | None, packages: frozenset[str]) -> None:
        """Use this sandbox, or a shared one: that with this name, or the one that suits this machine."""
        self.sandbox: Sandbox | None = None
        self._is_closed = False
        name = sandbox if isinstance(sandbox, str) else None
        self._share = Share(packages, name)
        if not isinstance(sandbox, str):
            self.sandbox = sandbox
        if self.sandbox is None:
            # Silently and not at exit: a shared sandbox has no owner to warn, and ends with the host in any case.
            weakref.finalize(self, self._share.release).atexit = False

    def open(self) -> Sandbox:
        """Return the sandbox. Raises SandboxError after `close`."""
        sandbox = self.sandbox
        if sandbox is None and not self._is_closed:
            self.sandbox = sandbox = self._share.acquire()
        if self._is_closed or sandbox is None:
            # Perhaps closed a moment ago, in another thread or a signal handler.
            self.close()
            message = "this toolkit is closed: make a new one"
            raise SandboxError(message)
        return sandbox

    def close(self) -> None:
        """Give up access. Closing twice is harmless, in a signal handler too."""
        self._is_closed, self.sandbox = True, None
        self._share.release()


class Share:
    """One user of a shared sandbox whose programs may import `packages`, the one with a `name` if there is one."""

    def __init__(self, packages: frozenset[str], name: str | None = None) -> None:
        self.packages = packages
        self.name = name
        self._lender: SharedSandboxes | None = None

    def acquire(self) -> Sandbox:
        """Return the sandbox; from now on, the share counts as a user, once."""
        self._lender = lender = self._lender or shared_sandboxes()
        return lender.acquire(self)

    def release(self) -> None:
        """Stop counting as a user. The last user ends every process. Releasing twice is harmless."""
        if self._lender is not None:
            self._lender.release(self)


class SharedSandboxes:
    """The shared sandboxes, one for each name and set of packages, with their users."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users: dict[_Key, set[Share]] = {}
        self._sandboxes: dict[_Key, Sandbox] = {}
        self._leaving: deque[Share] = deque()
        on_fork(self, SharedSandboxes._after_fork)

    def _after_fork(self) -> None:
        self._lock = threading.RLock()

    def acquire(self, share: Share) -> Sandbox:
        """Return the share's sandbox, and count the share as a user."""
        from ez_ptc.toolkit.execution.backends import make_sandbox

        key = share.name, share.packages
        try:
            with self._lock:
                self._users.setdefault(key, set()).add(share)
                sandbox = self._sandboxes.get(key)
                if sandbox is None:
                    sandbox = self._sandboxes.setdefault(key, make_sandbox(share.packages, share.name))
                return sandbox
        finally:
            self._remove_leaving()

    def release(self, share: Share) -> None:
        """Stop counting a share as a user. The last one ends every process of its sandbox."""
        self._leaving.append(share)
        self._remove_leaving()

    def _remove_leaving(self) -> None:
        """Remove the leaving shares, unless another thread holds the lock: it removes them when it is done."""
        while self._leaving and self._lock.acquire(blocking=False):
            try:
                unused = self._remove_one()
            finally:
                self._lock.release()
            if unused is not None:
                unused.close()

    def _remove_one(self) -> Sandbox | None:
        """Remove one leaving share, and return the sandbox if that leaves it unused."""
        with contextlib.suppress(IndexError):
            share = self._leaving.popleft()
            key = share.name, share.packages
            users = self._users.get(key, set())
            users.discard(share)
            sandbox = None if users else self._sandboxes.pop(key, None)
            # A signal handler may have added a user in between; then the sandbox goes back.
            if sandbox is not None and not (users and self._sandboxes.setdefault(key, sandbox) is sandbox):
                return sandbox
        return None

    def close(self) -> None:
        """End every process, even of sandboxes in use."""
        with contextlib.suppress(KeyError):
            while True:
                self._sandboxes.popitem()[1].close()


@functools.cache
def shared_sandboxes() -> SharedSandboxes:
    """Return the shared sandboxes of this host process, which end with it."""
    sandboxes = SharedSandboxes()
    atexit.register(sandboxes.close)
    return sandboxes
