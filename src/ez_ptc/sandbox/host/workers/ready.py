"""The ready workers of one zygote, some of them prepared for the programs that most callers run.

Theory of operation. A worker is blank until it is told the head of a run frame, which is the limits and the tools of
its program. All blank workers but one are told the head of the last program in advance, off the callers' way: they are
prepared. Programs with other tools must not learn of these, so a prepared worker runs programs with its head only;
callers with another head take the blank one.

That the next program has the same head is a guess, as long as there has been no other head: when one comes, the
prepared workers are ended. From then on, only a head that has come many times in a row has workers prepared, and these
are ended when another one has come as often in a row.

As in the pool, each change is a single operation of a deque: any thread or signal handler may call this. A thread adds
a worker first and then checks for `close`; `close` sets its flag first and then removes the workers. So one of the two
closes that worker.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from ez_ptc.sandbox.host.workers.checkers import Checkers
from ez_ptc.sandbox.protocol.opening import prepare_frame

if TYPE_CHECKING:
    import _socket
    from collections.abc import Iterator, Sequence

    from ez_ptc.sandbox.host.workers.handle import WorkerHandle
    from ez_ptc.sandbox.host.workers.waiting import QueueTicket
    from ez_ptc.sandbox.protocol.both_ends.control import Extended

__all__ = ["ReadyWorkers", "drain"]

# Once there are several heads: ending prepared workers must stay rare beside the programs that they were meant for.
_MIN_IN_A_ROW = 16
# More might not fit into the socket before the worker reads.
_MAX_HEAD_BYTES = 1 << 16


class _Prepared(NamedTuple):
    head: bytes
    workers: deque[WorkerHandle]


class ReadyWorkers:
    """Workers without a program."""

    min_blank = 1
    """How many workers stay blank while one is missing to check programs."""

    def __init__(self, *, can_prepare: bool = True) -> None:
        """Hold no workers yet. Without `can_prepare`, they are told nothing before their programs, and check none."""
        self._can_prepare = can_prepare
        self._blank: deque[WorkerHandle] = deque()
        self._prepared = _Prepared(b"", deque())
        self._last_head = b""
        self._in_a_row = 0
        self._has_several_heads = False
        self._frequent_head = b""
        self._is_closed = False
        self.checkers = Checkers(can_prepare=can_prepare)
        """Workers for the check of programs."""

    def __len__(self) -> int:
        return len(self._blank) + len(self._prepared.workers)

    @property
    def blank(self) -> int:
        """The number of workers for any program."""
        return len(self._blank)

    # What an extension changes: here, each worker runs one program. ------------------------------------------------

    @property
    def expected(self) -> int:
        """The number of workers that will be ready without being ordered."""
        return 0

    def is_about_to_have(self, head: bytes | None) -> bool:
        """Return whether no worker for `head` is ready, but one will be sooner than one can be made."""
        del head
        return False

    def find_head(self, place: QueueTicket) -> bytes | None:
        """Return the head that the worker of a queued program may have, or None for a blank one."""
        del place
        return None

    def count_missing(self, waiting: int, place: QueueTicket) -> int:
        """Return how many new processes a queue needs, of which `place` is served next, if none is ready."""
        del place
        return waiting

    def count_wanted(self, wanted: int) -> int:
        """Return how many new processes should be ready, where `wanted` workers should."""
        return wanted

    def order_more(self, wanted: int) -> None:
        """Order workers that are no plain processes, if there are fewer than `wanted`. Raises ZygoteGoneError."""

    def receive(self, message: Extended, fds: Sequence[int], leash: _socket.socket) -> bool:
        """Take a message of the extension in the zygote, with its descriptors; return whether it was expected.

        With the end of the socket `leash`, the zygote ends.
        """
        del message, fds, leash
        return False

    def expect_nothing_late(self) -> None:
        """Forget orders of the extension that have not been answered for long."""

    def note_release(self, worker: WorkerHandle, *, is_clean: bool) -> None:
        """Note that the program in a worker has ended; one that `is_clean` may serve again."""

    def end(self, worker: WorkerHandle, *, is_clean: bool) -> None:
        """End a leased worker."""
        del is_clean
        worker.close()

    def _note_head(self, head: bytes) -> None:
        """Note that a program with `head` got a worker."""
        if head != self._last_head:
            self._has_several_heads = self._has_several_heads or bool(self._last_head)
            self._in_a_row = 0
        self._in_a_row += 1
        self._last_head = head
        if self._in_a_row >= _MIN_IN_A_ROW:
            self._frequent_head = head

    # ----------------------------------------------------------------------------------------------------------------

    def add(self, worker: WorkerHandle) -> None:
        """Add a new worker, or make it a checker, if one is missing: many callers may leave none blank."""
        if not (self.checkers.is_missing and self.checkers.add(worker)):
            worker.change("ready")
            self._blank.append(worker)
        self._close_late()

    def put_back(self, worker: WorkerHandle) -> None:
        """Return an unused worker."""
        prepared = self._prepared
        if not worker.change("ready"):
            worker.close()
        elif worker.head is None:
            self._blank.appendleft(worker)
        elif worker.head == prepared.head:
            prepared.workers.appendleft(worker)
        else:
            worker.close()
        self._close_late()

    def pop(self, head: bytes | None = None) -> WorkerHandle | None:
        """Return a worker for the caller to close: one prepared for `head`, else a blank one, else None.

        It may have been killed since; the caller notices when it sends a program.
        """
        worker = self._find(head)
        if worker is not None and head is not None:
            self._note_head(head)
        return worker

    def _find(self, head: bytes | None) -> WorkerHandle | None:
        prepared = self._prepared
        if head == prepared.head:
            with contextlib.suppress(IndexError):
                return prepared.workers.popleft()
        try:
            return self._blank.popleft()
        except IndexError:
            return None

    @property
    def _is_varying(self) -> bool:
        """Whether the next program may well have another head than the last one."""
        return self._has_several_heads and self._in_a_row < _MIN_IN_A_ROW

    def end_guesses(self) -> None:
        """End the prepared workers if another head than theirs has come, unless theirs is frequent."""
        if self._is_varying and self._prepared.head not in {self._last_head, self._frequent_head}:
            self._replace(_Prepared(b"", deque()))

    def make_checker(self) -> None:
        """Make a blank worker a checker, if one is missing."""
        if self.checkers.is_missing and len(self._blank) > self.min_blank:
            worker = self._find(None)
            if worker is not None and not self.checkers.add(worker):
                self.put_back(worker)

    def prepare(self) -> None:
        """Tell blank workers, but for one, what the next program is likely to need."""
        head = self._last_head
        if not self._can_prepare or not head or self._is_varying or len(head) > _MAX_HEAD_BYTES:
            return
        if head != self._prepared.head:
            self._replace(_Prepared(head, deque()))
        prepared = self._prepared
        frame = prepare_frame(head)
        while len(self._blank) > 1 and (worker := self._find(None)) is not None:
            if worker.prepare(head, frame):
                prepared.workers.append(worker)
            else:
                worker.close()
        self._close_late()

    def _replace(self, new: _Prepared) -> None:
        """End the prepared workers, and go on with others."""
        old, self._prepared = self._prepared, new
        for worker in drain(old.workers):
            worker.close()

    def close_ended(self) -> None:
        """Close the workers that have ended."""
        for workers in (self._blank, self._prepared.workers):
            for worker in [worker for worker in list(workers) if worker.ended]:
                # Another thread may have taken it.
                with contextlib.suppress(ValueError):
                    workers.remove(worker)
                    worker.close()
        self.checkers.close_ended()

    def shrink(self, wanted: int) -> None:
        """End the workers in excess of `wanted`."""
        for _ in range(len(self) - wanted):
            worker = self._find(self._prepared.head)
            if worker is not None:
                worker.close()

    def close(self) -> None:
        """End all workers, and those added later. Closing twice is harmless."""
        self._is_closed = True
        self.checkers.close()
        self._close_late()

    def _close_late(self) -> None:
        if self._is_closed:
            for worker in self._drain():
                worker.close()

    def disown(self) -> None:
        """Forget all workers, in a fork of the host: they belong to its parent."""
        self.checkers.disown()
        for worker in self._drain():
            worker.disown()

    def _drain(self) -> Iterator[WorkerHandle]:
        yield from drain(self._blank)
        yield from drain(self._prepared.workers)


def drain(workers: deque[WorkerHandle]) -> Iterator[WorkerHandle]:
    """Take all workers of a deque, which other threads may use meanwhile."""
    with contextlib.suppress(IndexError):
        while True:
            yield workers.pop()
