"""Workers of paused programs, kept for a while so that a program resumed soon goes on at once.

The journal alone can continue a run. A worker that is kept only spares running the program again, so nothing is lost if
it is dropped, and one that does not belong to the run's last execution is never used.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.workers.lease import Lease
    from ez_ptc.sandbox.protocol.exchange import Exchange

__all__ = ["ParkedProgram", "ParkedWorkers"]

_MAX_PARKED: Final = 16


class ParkedProgram(NamedTuple):
    """A paused program with its worker, and which execution of its run it is."""

    execution: int
    exchange: Exchange
    lease: Lease


class ParkedWorkers:
    """The workers of paused programs, by run. Any thread may use it; each change is a single operation of the dict."""

    def __init__(self, seconds: float) -> None:
        """Keep each worker for `seconds`; 0 keeps none."""
        self._seconds = seconds
        self._programs: dict[str, ParkedProgram] = {}

    def put(self, run_id: str, program: ParkedProgram) -> None:
        """Keep a worker, or release it if there are too many."""
        if not self._seconds or len(self._programs) >= _MAX_PARKED:
            program.lease.release()
            return
        self._programs[run_id] = program
        timer = threading.Timer(self._seconds, self._drop, (run_id, program))
        timer.daemon = True
        timer.start()

    def take(self, run_id: str, execution: int) -> ParkedProgram | None:
        """Return the program whose last execution was the one before `execution`, or None if it is not here."""
        program = self._programs.pop(run_id, None)
        if program is None:
            return None
        if program.execution + 1 == execution and not (program.lease.withdrawn or program.lease.worker.ended):
            return program
        program.lease.release()
        return None

    def _drop(self, run_id: str, program: ParkedProgram) -> None:
        if self._programs.get(run_id) is program and self._programs.pop(run_id, None) is program:
            program.lease.release()

    def clear(self) -> None:
        """Release every worker."""
        while self._programs:
            self._programs.popitem()[1].lease.release()
