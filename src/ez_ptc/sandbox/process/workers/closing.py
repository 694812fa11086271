"""The end of a sandbox, as its threads wait for it."""

from __future__ import annotations

import contextlib
import threading

__all__ = ["Closing"]


class Closing:
    """An event that takes place once. Unlike `threading.Event`, it can be set in a handler that interrupts `set`."""

    def __init__(self) -> None:
        """Be ahead."""
        self.is_set = False
        self._held = threading.Lock()
        self._held.acquire()

    def set(self) -> None:
        """Let it take place; nobody waits any longer."""
        was_set, self.is_set = self.is_set, True
        if not was_set:
            with contextlib.suppress(RuntimeError):
                self._held.release()

    def wait(self, seconds: float) -> bool:
        """Wait for it so many seconds; return whether it has taken place."""
        if not self._held.acquire(timeout=seconds):
            return False
        with contextlib.suppress(RuntimeError):
            self._held.release()
        return True
