"""Workers of paused programs, kept for a while so that a program resumed soon goes on at once.

The journal alone can continue a run. A worker that is kept only spares running the program again, so nothing is lost if
it is dropped: after its time, or for a caller who would wait for its place. One that does not belong to the last
execution of the run is never used.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ez_ptc.sandbox.host.workers.lease import Lease, Lender
    from ez_ptc.sandbox.protocol.exchange import Exchange

__all__ = ["ParkedProgram", "ParkedWorkers"]

_MAX_PARKED: Final = 16


class ParkedProgram(NamedTuple):
    """A paused program with its worker, and which execution of its run it is."""

    execution: int
    exchange: Exchange
    lease: Lease


class _Parking(NamedTuple):
    program: ParkedProgram
    timer: threading.Timer


class ParkedWorkers:
    """The workers of paused programs, by run. Any thread may use it; each change is a single operation of the dict.

    Runs are known by their `run_key`, since journals with a run of the same id may share a sandbox.
    """

    def __init__(self, seconds: float) -> None:
        """Keep each worker for `seconds`; 0 keeps none."""
        self._seconds = seconds
        self._parkings: dict[Hashable, _Parking] = {}

    def put(self, run: Hashable, program: ParkedProgram) -> None:
        """Keep a worker, or release it if there are too many, or no thread can be started to release it later."""
        self._drop(run)
        if not self._seconds or len(self._parkings) >= _MAX_PARKED:
            program.lease.release()
            return
        timer = threading.Timer(self._seconds, self._end, (run, program.execution))
        timer.daemon = True
        self._parkings[run] = _Parking(program, timer)
        try:
            timer.start()
        except RuntimeError:
            self._drop(run)

    def take(self, run: Hashable, execution: int) -> ParkedProgram | None:
        """Return the program whose last execution was the one before `execution`, or None if it is not here."""
        program = self._remove(run)
        if program is None:
            return None
        if program.execution + 1 == execution and not (program.lease.withdrawn or program.lease.worker.ended):
            return program
        program.lease.release()
        return None

    def release_one(self, lender: Lender | None = None) -> bool:
        """Release the worker kept longest, of a lender or of any; return whether there was one."""
        for run, parking in self._parkings.copy().items():
            if (lender is None or parking.program.lease.lender is lender) and self._drop(run):
                return True
        return False

    def clear(self) -> None:
        """Release every worker."""
        while self._parkings:
            self.release_one()

    def after_fork(self) -> None:
        """Forget the workers of the parent, in a fork of the host, where their timers do not run."""
        self._parkings.clear()

    def _remove(self, run: Hashable) -> ParkedProgram | None:
        parking = self._parkings.pop(run, None)
        if parking is None:
            return None
        # Else each program that has paused would leave a thread for its time.
        parking.timer.cancel()
        return parking.program

    def _drop(self, run: Hashable) -> bool:
        program = self._remove(run)
        return program is not None and program.lease.release()

    def _end(self, run: Hashable, execution: int) -> None:
        parking = self._parkings.get(run)
        if parking is not None and parking.program.execution == execution:
            self._drop(run)
