"""Workers whose programs are over, until they are ended or serve again."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ez_ptc.sandbox.host.workers.handle import WorkerHandle
    from ez_ptc.sandbox.host.workers.ready import ReadyWorkers

__all__ = ["ReleasedWorkers"]


class ReleasedWorkers:
    """Workers whose programs are over. As in the pool, each change is a single operation of a deque."""

    def __init__(self) -> None:
        self._workers: deque[tuple[WorkerHandle, ReadyWorkers, bool]] = deque()

    def add(self, worker: WorkerHandle, ready: ReadyWorkers, *, is_clean: bool) -> None:
        """Add a worker, and the ready ones of its zygote. One that `is_clean` may serve again."""
        worker.change("release")
        ready.note_release(worker, is_clean=is_clean)
        self._workers.append((worker, ready, is_clean))

    def end_all(self) -> None:
        """End the workers, or have them serve again."""
        with contextlib.suppress(IndexError):
            while True:
                worker, ready, is_clean = self._workers.pop()
                ready.end(worker, is_clean=is_clean)

    def disown(self) -> None:
        """Forget the workers, in a fork of the host: they belong to its parent."""
        while self._workers:
            self._workers.pop()[0].disown()
