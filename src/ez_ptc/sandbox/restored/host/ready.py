"""The ready workers of a zygote that restores some: these come first, and new processes serve the other programs."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from ez_ptc.sandbox.host.workers.handle import WorkerHandle
from ez_ptc.sandbox.host.workers.ready import ReadyWorkers
from ez_ptc.sandbox.restored.both_ends.messages import KeptRefused, KeptWorker, Restored, read

if TYPE_CHECKING:
    import _socket
    from collections.abc import Sequence

    from ez_ptc.sandbox.host.workers.waiting import QueueTicket
    from ez_ptc.sandbox.protocol.both_ends.control import Extended
    from ez_ptc.sandbox.restored.host.kept_workers import KeptWorkers

__all__ = ["RestoredWorkers"]

# The processes that are made at a time beside restored ones.
_MAX_BESIDE_KEPT = 2
_FDS_EACH = 2


class RestoredWorkers(ReadyWorkers):
    """Workers without a program, of which some are at their snapshots. The others stay blank, and none is prepared."""

    min_blank = 0

    def __init__(self, kept: KeptWorkers) -> None:
        super().__init__()
        self._can_prepare = False
        self.kept = kept
        """Those that are restored after their programs."""

    @property
    def expected(self) -> int:
        """The number of workers that are being restored, or made to be restored."""
        return self.kept.expected

    def is_about_to_have(self, head: bytes | None) -> bool:
        """Return whether no worker for `head` is ready, but one will be restored sooner than one can be made."""
        return self.kept.is_about_to_have(head)

    def find_head(self, place: QueueTicket) -> bytes | None:
        """Return the head of a queued program, which may run in a restored worker."""
        return place.head

    def count_missing(self, waiting: int, place: QueueTicket) -> int:
        """Return how many new processes a queue needs, of which `place` is served next, if none is ready."""
        if not self.kept.is_used:
            return waiting
        # With others, the programs in restored workers would take longer.
        return 0 if self.kept.is_about_to_have(place.head) else min(waiting, _MAX_BESIDE_KEPT)

    def count_wanted(self, wanted: int) -> int:
        """Return how many new processes should be ready: one, for programs with other tools, once any are restored."""
        return min(wanted, 1) if self.kept.is_used else wanted

    def order_more(self, wanted: int) -> None:
        """Order a worker that can be restored, if there are fewer than `wanted`. Raises ZygoteGoneError."""
        self.kept.order_missing(wanted)

    def receive(self, message: Extended, fds: Sequence[int], leash: _socket.socket) -> bool:
        """Take a message of the zygote's side; return whether it was one."""
        match read(message):
            case KeptWorker(pid, serial, number):
                if len(fds) == _FDS_EACH:
                    self.kept.add_new(WorkerHandle(pid, *fds, number=number, leash=leash), serial)
                    return True
                # The kernel drops descriptors that this process has no room for.
                for fd in fds:
                    os.close(fd)
                self.kept.refuse(serial, os.strerror(errno.EMFILE))
            case KeptRefused(serial, reason):
                self.kept.refuse(serial, reason)
            case Restored(number, reason):
                self.kept.finish_restoring(number, reason)
            case _:
                return False
        return True

    def expect_nothing_late(self) -> None:
        """Forget orders that have not been answered for long."""
        self.kept.expect_nothing_late()

    def note_release(self, worker: WorkerHandle, *, is_clean: bool) -> None:
        """Note that the program in a worker has ended, which will be restored if it `is_clean`."""
        if is_clean:
            self.kept.note_release(worker)

    def end(self, worker: WorkerHandle, *, is_clean: bool) -> None:
        """End a leased worker, or have it restored if it `is_clean` and can be."""
        if not worker.number:
            worker.close()
            # No new one may take its place, whose order would have the zygote reap it.
            self.kept.wake_zygote()
        elif is_clean:
            self.kept.restore(worker)
        else:
            self.kept.end(worker)

    def put_back(self, worker: WorkerHandle) -> None:
        """Return an unused worker."""
        if worker.number:
            self.kept.put_back(worker)
        else:
            super().put_back(worker)

    def _find(self, head: bytes | None) -> WorkerHandle | None:
        return self.kept.pop(head) or super()._find(head)

    def _note_head(self, head: bytes) -> None:
        self.kept.count(head)

    def close_ended(self) -> None:
        """Close the workers that have ended."""
        super().close_ended()
        self.kept.close_ended()

    def shrink(self, wanted: int) -> None:
        """End the workers in excess of `wanted`: of new ones, and of those for each head."""
        super().shrink(wanted)
        self.kept.shrink(wanted)

    def close(self) -> None:
        """End all workers, and those added later. Closing twice is harmless."""
        super().close()
        self.kept.close()

    def disown(self) -> None:
        """Forget all workers, in a fork of the host: they belong to its parent."""
        super().disown()
        self.kept.disown()
