"""The closing of a sandbox, as an event for its threads."""

from __future__ import annotations

import contextlib
import threading

__all__ = ["Closing"]


class Closing:
    """An event that is set once. Unlike `threading.Event`, it can be set in a handler that interrupts `set`."""

    def __init__(self) -> None:
        """Create an event that is not set."""
        self.is_set = False
        self._held = threading.Lock()
        self._held.acquire()

    def set(self) -> None:
        """Set the event and wake all waiting threads."""
        was_set, self.is_set = self.is_set, True
        if not was_set:
            with contextlib.suppress(RuntimeError):
                self._held.release()

    def wait(self, seconds: float) -> bool:
        """Wait for the event for at most `seconds`. Return whether it is set."""
        if not self._held.acquire(timeout=seconds):
            return False
        with contextlib.suppress(RuntimeError):
            self._held.release()
        return True
