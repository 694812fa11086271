"""Finding out that a program whose calls all wait for a decision has nothing else to do."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.workers.handle import WorkerHandle
    from ez_ptc.sandbox.protocol.exchange import Exchange

__all__ = ["Silence"]

_SECONDS: Final = 0.05
_LOOKS: Final = 6
# A thread of the process runs, or waits for a processor or its memory.
_ACTIVE_STATES: Final = frozenset("RD")


class Silence:
    """Whether a program whose calls all wait has been idle at several looks in a row.

    It may be sleeping, though: then it goes on after the pause. A program polling with short timers is idle at most
    looks, and a computing one at none, however slowly: CPU time would tell less on a busy machine.
    """

    seconds = _SECONDS

    def __init__(self, exchange: Exchange, worker: WorkerHandle) -> None:
        self._exchange = exchange
        pid = worker.host_pid()
        self._threads = None if pid is None else Path(f"/proc/{pid}/task")
        self._waiting: frozenset[int] = frozenset()
        self._idle_looks = 0

    def lasts(self) -> bool:
        """Return whether the program is idle, and has been for a while; call it every `seconds`."""
        unanswered = self._exchange.unanswered
        before, self._waiting = self._waiting, frozenset(unanswered.numbers)
        self._idle_looks += 1
        if self._waiting != before or not unanswered.all_wait:
            self._idle_looks = 0
        elif self._threads is not None:
            with contextlib.suppress(OSError):  # the worker is lost; its reader notices
                for thread in self._threads.iterdir():
                    with contextlib.suppress(OSError):  # the thread has ended
                        # The state comes after the name, which is in parentheses and may contain any characters.
                        text = (thread / "stat").read_text(encoding="utf-8", errors="replace")
                        if text.rpartition(") ")[2][:1] in _ACTIVE_STATES:
                            self._idle_looks = 0
        return self._idle_looks >= _LOOKS
