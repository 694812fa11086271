"""Threads that run tools: made when needed, kept for a while, never waited for.

A bounded pool would be used up by tools that hang, and the interpreter would wait for them at its end. These are
daemons, and an idle one ends by itself.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Threads"]

_IDLE_SECONDS = 10.0


class Threads:
    """Runs jobs in threads; an idle thread is used again before a new one is made."""

    def __init__(self) -> None:
        self._idle: deque[queue.SimpleQueue[Callable[[], None]]] = deque()

    def forget(self) -> None:
        """Make new threads from now on: in a fork of the host the idle ones do not exist."""
        self._idle.clear()

    def start(self, job: Callable[[], None]) -> None:
        """Run ``job`` in another thread. It must not raise."""
        try:
            self._idle.pop().put(job)
        except IndexError:
            threading.Thread(target=self._work, args=(job,), name="ez-ptc-tools", daemon=True).start()

    def _work(self, job: Callable[[], None]) -> None:
        inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        while True:
            job()
            del job
            self._idle.append(inbox)
            try:
                job = inbox.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with contextlib.suppress(ValueError):
                    self._idle.remove(inbox)
                    return
                # Taken from the idle ones at the last moment: a job is on its way.
                job = inbox.get()
