"""Work that is done in the background, after the caller that caused it has gone on."""

from __future__ import annotations

import _thread
import contextlib
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Background"]

_IDLE_SECONDS = 10.0


class Background:
    """Calls one function in a thread soon after each request; requests before the call count as one.

    As in the pool, no code here waits for a lock that a frame below may hold: starting a `threading.Thread` in a
    finalizer could. A request frees the lock that the thread waits for. A thread that has been idle for long first says
    so and then looks for a request again, so one of the two always sees the other. Two threads at a time are harmless.
    """

    def __init__(self, function: Callable[[], object]) -> None:
        """Call `function`, which must not raise, in a daemon thread that ends after ten idle seconds."""
        self._function = function
        self._requested = _thread.allocate_lock()
        self._requested.acquire()
        self._has_thread = False
        self._is_closed = False
        self._pause = 0.0

    def request(self, *, after: float = 0.0) -> None:
        """Have the function called soon, `after` some seconds, or call it here if no thread can be started.

        Of several requests, the last one says after how many.
        """
        self._pause = after
        self._wake()
        if not self._has_thread:
            self._has_thread = True
            try:
                _thread.start_new_thread(self._serve, ())
            except RuntimeError:
                self._has_thread = False
                self._function()

    def close(self) -> None:
        """End the thread, after one more call of the function. Closing twice is harmless."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._requested.release()

    def _serve(self) -> None:
        while self._requested.acquire(timeout=_IDLE_SECONDS):
            if self._pause:
                time.sleep(self._pause)  # the caller uses the processor meanwhile
            self._function()
            if self._is_closed:
                return
        self._has_thread = False
        if self._requested.acquire(blocking=False):
            # It was requested between the two lines above.
            self._function()
