"""Finding out that a program whose calls all wait for a decision has nothing else to do."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.workers.handle import WorkerHandle
    from ez_ptc.sandbox.protocol.exchange import Exchange

__all__ = ["Silence"]

_SECONDS: Final = 0.15
# The clock of another process's CPU time, as the kernel numbers it.
_CPU_CLOCK: Final = 2


class Silence:
    """Whether a program whose calls all wait has sent nothing and used no CPU time for a moment.

    It may be sleeping, though: then it goes on after the pause.
    """

    seconds = _SECONDS

    def __init__(self, exchange: Exchange, worker: WorkerHandle) -> None:
        self._exchange = exchange
        self._pid = worker.host_pid()
        self._last = self._look()

    def _look(self) -> tuple[int, float, bool] | None:
        """Return how many frames have come, the CPU time in seconds, and whether a thread runs; None if calls run."""
        if not self._exchange.unanswered.all_wait:
            return None
        cpu, is_running = 0.0, False
        if self._pid is not None:
            with contextlib.suppress(OSError, ValueError):
                cpu = time.clock_gettime((~self._pid << 3) | _CPU_CLOCK)
                stats = (thread / "stat" for thread in Path(f"/proc/{self._pid}/task").iterdir())
                texts = (stat.read_text(encoding="utf-8", errors="replace") for stat in stats)
                # The state comes after the name, which is in parentheses and may contain any characters.
                is_running = "R" in (text.rpartition(")")[2].split()[0] for text in texts)
        return self._exchange.frames_left, cpu, is_running

    def lasts(self) -> bool:
        """Return whether nothing has happened since the last look; call it every `seconds`."""
        last, self._last = self._last, self._look()
        return self._last is not None and last == self._last and not self._last[2]
