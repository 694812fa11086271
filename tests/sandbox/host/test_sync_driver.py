"""The threads of the blocking driver agree on who does what at the end of a program's time."""

from __future__ import annotations

import threading

import pytest

from ez_ptc import Limits, ProcessSandbox, Toolkit, ez_tool
from ez_ptc.sandbox.host.sync_driver import BlockingDriver
from ez_ptc.sandbox.host.workers.handle import WorkerHandle

_PROGRAM = """
import time
try: answer()
except TimeoutError:
    end = time.monotonic() + 0.5
    while time.monotonic() < end: pass
    print("cleaned up")
"""


class _LateDriver(BlockingDriver):
    """Both of its threads notice the deadline at the same time: the worker does not read the reply before."""

    barrier: threading.Barrier

    def _send(self, frame: bytes, answered: object = None) -> None:
        if answered is None:
            super()._send(frame)
            return
        while self._clock.left():
            threading.Event().wait(self._clock.left())
        raise TimeoutError

    def _stop(self) -> bool:
        self.barrier.wait(30)
        return super()._stop()


def test_only_one_thread_stops_a_program_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the program is interrupted twice, or ended by one thread in the grace period that the other keeps."""
    interruptions: list[WorkerHandle] = []
    interrupt = WorkerHandle.interrupt

    def note_interruption(worker: WorkerHandle) -> None:
        interruptions.append(worker)
        interrupt(worker)

    monkeypatch.setattr(WorkerHandle, "interrupt", note_interruption)
    monkeypatch.setattr("ez_ptc.sandbox.host.runner.BlockingDriver", _LateDriver)
    limits = Limits(timeout=0.5, grace=30)

    @ez_tool
    def answer() -> int:
        """Answer."""
        return 1

    with ProcessSandbox(ready=1) as sandbox, Toolkit([answer], sandbox=sandbox, limits=limits) as toolkit:
        for _ in range(4):
            _LateDriver.barrier = threading.Barrier(2)
            result = toolkit.execute(_PROGRAM)
            assert (result.output, len(interruptions)) == ("cleaned up\n", 1)
            interruptions.clear()
