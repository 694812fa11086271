"""Workers that are restored after each program, on the host's side.

Theory of operation. A worker that can be restored is made for one head: the limits and tools of its programs. It is
ready here, leased, or awaited: made or restored by the zygote. One whose program ended cleanly is ordered to be
restored when its lease ends, and is ready again when the zygote says so and nothing is left in its socket. Any other is
ended.

Heads compete for the places. Every program adds a little to its head's credit, a successful restoration adds more, and
an impossible one takes much away. Workers are made only for a head with credit: where programs leave traces in the
kernel, most of them run in new processes.

A new process takes ten times the CPU time of a restoration, and a new worker that can be restored a hundred times. So
callers wait for the workers that there are, as long as one is released every few milliseconds. If all of them run long
programs, the next callers get new processes.

As in the pool, each change is a single operation of a deque, a dict or a set: any thread or signal handler may call
this. A lost update of a credit only makes a worker too many or too few.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from ez_ptc.sandbox.host.workers.orders import ZygoteGoneError
from ez_ptc.sandbox.host.workers.ready import drain
from ez_ptc.sandbox.protocol.opening import prepare_frame
from ez_ptc.sandbox.restored.both_ends.messages import KeepWorkers, RestoreWorker

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.host.workers.handle import WorkerHandle

__all__ = ["KeptWorkers"]

_log = logging.getLogger("ez_ptc.sandbox")
_MAX_HEADS = 8
_MAX_KEPT = 16
# More would not fit into an order.
_MAX_HEAD_BYTES = 1 << 16
_MIN_PROGRAMS = 2
# If no program has ended for this long, those in all workers take their time.
_LONG_SECONDS = 0.02
_MAX_CREDIT, _RESTORED, _NOT_RESTORED = 32, 4, -8


class _Awaited(NamedTuple):
    """A worker of which the zygote will say that it is ready, for the first time if it `is_new`."""

    worker: WorkerHandle
    is_new: bool


@dataclass(slots=True, eq=False)
class _Head:
    head: bytes
    serial: int
    ready: deque[WorkerHandle] = field(default_factory=deque["WorkerHandle"])
    # The numbers of all its workers, leased ones and those that are being restored, too.
    numbers: set[int] = field(default_factory=set[int])
    ordered: int = 0
    programs: int = 0
    credit: int = 1
    # When a program in one of its workers has ended, and when the last one began in any worker.
    released_at: float = 0.0
    used_at: float = 0.0


class KeptWorkers:
    """The workers of one zygote that are restored."""

    def __init__(self, send: Callable[[KeepWorkers | RestoreWorker], None]) -> None:
        """Hold no workers yet. `send` sends an order, or raises ZygoteGoneError, or OSError if it cannot for now."""
        self._send = send
        self._heads: dict[bytes, _Head] = {}
        self._used_last: _Head | None = None
        self._awaited: dict[int, _Awaited] = {}
        self._last_serial = 0
        self._is_closed = False
        self.restored = 0
        """How many programs ended with a restored worker."""
        self.ended: deque[str] = deque(maxlen=100)
        """Why the last ones could not be restored."""

    def pop(self, head: bytes | None) -> WorkerHandle | None:
        """Return a ready worker for a program with `head`, or None."""
        entry = None if head is None else self._heads.get(head)
        if entry is not None:
            with contextlib.suppress(IndexError):
                # The one used last, of which the most is in the processor's caches.
                return entry.ready.pop()
        return None

    def count(self, head: bytes) -> None:
        """Note that a program with `head` got a worker, of any kind."""
        entry = self._heads.get(head)
        if entry is None:
            self._last_serial += 1
            entry = _Head(head, self._last_serial)
            self._heads[head] = entry
        self._used_last = entry
        entry.used_at = time.monotonic()
        entry.programs += 1
        entry.credit = min(entry.credit + 1, _MAX_CREDIT)
        if len(self._heads) > _MAX_HEADS:
            for other in self._by_last_use()[:-_MAX_HEADS]:
                self._drop(other.head)

    def _by_last_use(self) -> list[_Head]:
        """Return the heads, first those that were not used for longest."""
        return sorted(self._heads.values(), key=attrgetter("used_at"))

    def is_about_to_have(self, head: bytes | None) -> bool:
        """Return whether no worker for `head` is ready, but one will be sooner than a new process."""
        entry = None if head is None else self._heads.get(head)
        if entry is None or entry.ready or not entry.numbers:
            return False
        return time.monotonic() - entry.released_at < _LONG_SECONDS

    @property
    def ready_count(self) -> int:
        """The number of ready workers."""
        return sum(len(entry.ready) for entry in list(self._heads.values()))

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers of all workers: of ready ones, of leased ones, and of those that are being restored or made."""
        return frozenset(number for entry in list(self._heads.values()) for number in list(entry.numbers))

    @property
    def expected(self) -> int:
        """The number of workers that are being restored or made."""
        return len(self._awaited) + sum(entry.ordered for entry in list(self._heads.values()))

    @property
    def is_used(self) -> bool:
        """Whether there are workers to restore, or are about to be."""
        return any(entry.numbers or entry.ordered for entry in list(self._heads.values()))

    def order_missing(self, wanted: int) -> None:
        """Order a worker for the head that was used last, if there are fewer than `wanted`. Raises ZygoteGoneError.

        One at a time: while it makes one, the zygote does nothing else.
        """
        entry = self._used_last
        if entry is None or entry.programs < _MIN_PROGRAMS or entry.credit <= 0 or len(entry.head) > _MAX_HEAD_BYTES:
            return
        if self.is_making or len(entry.numbers) >= min(max(wanted, 1), _MAX_KEPT):
            return
        self._make_room(entry)
        entry.ordered += 1
        try:
            self._send(KeepWorkers(1, entry.serial))
        except OSError as error:
            self.refuse(entry.serial, str(error))

    @property
    def is_making(self) -> bool:
        """Whether a worker is being made."""
        awaited = list(self._awaited.values())
        return any(order.is_new for order in awaited) or any(entry.ordered for entry in list(self._heads.values()))

    def wake_zygote(self) -> None:
        """Have the zygote reap what has ended."""
        with contextlib.suppress(ZygoteGoneError):
            self._send(KeepWorkers(0, 0))

    def _make_room(self, entry: _Head) -> None:
        """End ready workers for the heads that were not used for longest."""
        for other in self._by_last_use():
            total = sum(len(head.numbers) + head.ordered for head in list(self._heads.values()))
            if other is entry or total < _MAX_KEPT:
                return
            for worker in drain(other.ready):
                self.end(worker)

    def add_new(self, worker: WorkerHandle, serial: int) -> None:
        """Tell a new worker the head with this number; it will be ready when the zygote says so."""
        for entry in list(self._heads.values()):
            if entry.serial == serial:
                entry.ordered = max(entry.ordered - 1, 0)
                entry.numbers.add(worker.number)
                self._await(worker, is_new=True)
                if not worker.prepare(entry.head, prepare_frame(entry.head)):
                    self.finish_restoring(worker.number, "it did not take its limits and tools")
                return
        worker.close()

    def refuse(self, serial: int, reason: str) -> None:
        """Note that a worker could not be made."""
        _log.info("no worker that can be restored was made: %s", reason)
        for entry in list(self._heads.values()):
            if entry.serial == serial:
                entry.ordered = max(entry.ordered - 1, 0)
                entry.credit += _NOT_RESTORED

    def put_back(self, worker: WorkerHandle) -> None:
        """Return an unused worker."""
        entry = self._heads.get(worker.head or b"")
        if entry is None or worker.number not in entry.numbers or not worker.change("ready"):
            self.end(worker)
        else:
            entry.ready.append(worker)
            if self._is_closed or self._heads.get(entry.head) is not entry:
                for late in drain(entry.ready):
                    late.close()

    def note_release(self, worker: WorkerHandle) -> None:
        """Note that the program in a worker has ended, which will be restored."""
        if (entry := self._heads.get(worker.head or b"")) is not None:
            entry.released_at = time.monotonic()

    def restore(self, worker: WorkerHandle) -> None:
        """Have a worker restored, whose program ended cleanly."""
        self._await(worker, is_new=False)
        try:
            self._send(RestoreWorker(worker.number))
        except ZygoteGoneError:
            self.finish_restoring(worker.number, "the zygote has ended")

    def _await(self, worker: WorkerHandle, *, is_new: bool) -> None:
        worker.change("await")
        self._awaited[worker.number] = _Awaited(worker, is_new)
        if self._is_closed:
            self._close_awaited()

    def finish_restoring(self, number: int, reason: str) -> None:
        """Make a worker ready again; end it if there is a reason why it was not restored, or anything is left."""
        awaited = self._awaited.pop(number, None)
        if awaited is None:
            return
        worker, is_new = awaited
        entry = self._heads.get(worker.head or b"")
        if not (reason or worker.is_quiet):
            reason = "something was left in its socket"
        if entry is not None:
            if reason:
                entry.credit += _NOT_RESTORED
            elif not is_new:
                entry.credit = min(entry.credit + _RESTORED, _MAX_CREDIT)
        if reason:
            self.ended.append(reason)
            self.end(worker)
            return
        if not is_new:
            self.restored += 1
        # As in a new worker: its last caller may have waited in it, and the next one may be an event loop.
        worker.socket.settimeout(0)
        self.put_back(worker)

    def end(self, worker: WorkerHandle) -> None:
        """End a worker."""
        entry = self._heads.get(worker.head or b"")
        if entry is not None:
            entry.numbers.discard(worker.number)
        worker.close()

    def _drop(self, head: bytes) -> None:
        entry = self._heads.pop(head, None)
        if entry is not None:
            if self._used_last is entry:
                self._used_last = None
            for worker in drain(entry.ready):
                worker.close()

    def close_ended(self) -> None:
        """Close the ready workers that have ended by themselves."""
        for entry in list(self._heads.values()):
            for worker in [worker for worker in tuple(entry.ready) if worker.ended]:
                # Another thread may have taken it.
                with contextlib.suppress(ValueError):
                    entry.ready.remove(worker)
                    self.end(worker)

    def shrink(self, wanted: int) -> None:
        """End the ready workers in excess of `wanted` for each head."""
        for entry in list(self._heads.values()):
            with contextlib.suppress(IndexError):
                while len(entry.ready) > wanted:
                    self.end(entry.ready.popleft())

    def close(self) -> None:
        """End all workers, and those added later. Closing twice is harmless."""
        self._is_closed = True
        for head in list(self._heads):
            self._drop(head)
        self._close_awaited()

    def _close_awaited(self) -> None:
        with contextlib.suppress(KeyError):
            while True:
                self._awaited.popitem()[1].worker.close()

    def disown(self) -> None:
        """Forget all workers, in a fork of the host: they belong to its parent."""
        for entry in self._heads.values():
            for worker in drain(entry.ready):
                worker.disown()
        for awaited in self._awaited.values():
            awaited.worker.disown()
        self._heads.clear()
        self._used_last = None
        self._awaited.clear()

    def expect_nothing_late(self) -> None:
        """Forget orders that have not been answered for long."""
        for entry in list(self._heads.values()):
            entry.ordered = 0
