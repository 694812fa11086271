"""Worker allocation, queueing and pre-forking.

Theory of operation
-------------------
A caller takes a ready worker and goes. If there is none, it joins the queue, whether it is a thread or a task. While
there is a queue, one thread, the dispatcher, listens to the zygote and serves the queue from its front.

No code in this module waits for a lock that another frame of the same thread may hold. A signal handler that
interrupts this module may run a program or close the sandbox, and a finalizer may release the worker of a dropped
session between any two lines; a lock would make either wait for the frame below it. Instead, each change of shared
state is a single operation of a deque or a dict, which happens completely or not at all. `list` reads one in one step;
`tuple` may collect garbage meanwhile in Python 3.11, and let others change it.

- A worker is ready in its zygote, leased in `_running`, to be killed in `_released`, or in a local variable of some
  frame; when that frame goes, `WorkerHandle.__del__` or `Lease.__del__` ends the worker. `len(_running)` is the number
  of running programs. A frame that finds too many after adding its own worker puts that worker back. A frame that is
  interrupted before it hands its worker over counts as a running program until it goes on.
- A caller joins the queue first and then checks that there is a dispatcher. The dispatcher gives up its role first
  and then checks that the queue is empty. So one of the two always sees the other.
- A place in the queue works the same way: its giver sets `given` and then looks whether the caller has left, and a
  leaving caller says so and then looks at `given`. Both may release the lease; the second release does nothing.
- Two threads that order workers at the same time order too many, which costs memory for a while. Ordering too few
  would cost a caller its turn, so the dispatcher forgets orders that have not been answered for two seconds.
- A released worker, to which no one listens, is killed in the background, and its successor ordered.
- Zygotes boot in threads of ours, which no signal handler interrupts; `_booting` is the one lock that is waited for,
  there.
- If the zygote is lost, a caller gets ZygoteGoneError at its next message, and `_forget` lets the dispatcher boot
  another.
- A worker kept for a paused program gives way to a caller. The caller joins the queue first and then looks for such
  workers, and who keeps one looks for callers afterwards.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING

from ez_ptc._sync import Threads, call_within, from_other_threads
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.host.boot.maker import RunningProgram
from ez_ptc.sandbox.host.ready_stock import Closing, Stock
from ez_ptc.sandbox.host.workers.background import Background
from ez_ptc.sandbox.host.workers.capacity import Shares
from ez_ptc.sandbox.host.workers.lease import Lease
from ez_ptc.sandbox.host.workers.orders import LIMITS_OF_PROCESSES, ZygoteGoneError
from ez_ptc.sandbox.host.workers.released_workers import ReleasedWorkers
from ez_ptc.sandbox.host.workers.waiting import QueueTicket, too_late_error, too_many_error
from ez_ptc.sandbox.protocol.records.caller_presence import answer_seconds, ending_with_caller

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.host.boot.maker import WorkerMaker
    from ez_ptc.sandbox.host.workers.capacity import Capacity
    from ez_ptc.sandbox.host.workers.handle import WorkerHandle

    Boot = Callable[[], WorkerMaker]
    Spare = Callable[["Pool | None"], bool]

__all__ = ["Boot", "Lease", "Pool"]

_PAUSE_SECONDS = 0.02
# Consecutive fork failures, with pauses between, after which queued callers get an error if nothing is running.
_MAX_REFUSALS = 50


class Pool:
    """Allocates workers to callers in any thread and event loop."""

    def __init__(
        self, capacity: Capacity, boot: Boot, threads: Threads, require: Callable[[], None], spare: Spare
    ) -> None:
        """Create a pool without processes, within the limits of `capacity`.

        `boot` boots a zygote if there is none, `require` raises SandboxError if none can be booted, and `threads` run
        the dispatcher. `spare` ends a worker that is only kept, of one pool or of any, and returns whether it did.
        """
        self._capacity = capacity
        self._boot = boot
        self._require = require
        self._threads = threads
        self._spare = spare
        self.closed = ""
        self.generation = 0
        self._zygote: WorkerMaker | None = None
        self._running: dict[WorkerHandle, RunningProgram] = {}
        self._shares = Shares(capacity)
        self._released = ReleasedWorkers()
        self._begin()

    def _begin(self) -> None:
        self._queue: deque[QueueTicket] = deque()
        self._dispatching = threading.Lock()
        self._booting = threading.Lock()
        self._closing = Closing()
        self._background = Background(self._follow_up)
        self._stock = Stock(self._capacity.ready, self._threads, self._closing)

    def after_fork(self) -> None:
        """Drop the parent's zygote, workers and queue, in a fork of the host."""
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.disown()
        for worker in self._running:
            worker.disown()
        self._running.clear()
        self._released.disown()
        self.generation += 1
        self._begin()

    # Taking and releasing -----------------------------------------------------------------------------------------

    def take_ready(self, owner: object, head: bytes | None = None) -> Lease | None:
        """Return a ready worker if there is one and no caller is queued."""
        zygote = self._zygote
        if zygote is None or self._queue:
            return None
        try:
            return self._lease(zygote, owner, head)
        except ZygoteGoneError:
            return None

    def take(self, owner: object, head: bytes | None = None, *, is_again: bool = False) -> Lease:
        """Return a worker for a program of `owner`, after waiting for one if necessary; first, if it had one before.

        Raises:
            Overloaded: The queue is full, or the wait took too long.
            SandboxError: The pool is closed, or no zygote can be started.
        """
        ready = self.take_ready(owner, head)
        if ready is not None:
            return ready
        turn = threading.Lock()
        turn.acquire()
        position = self._enqueue(QueueTicket(turn.release, head, owner), is_again=is_again)
        try:
            with ending_with_caller(position.dismiss):
                turn.acquire(timeout=self._capacity.seconds)
            return self._take_given(position)
        except BaseException:
            self._leave(position)
            raise

    async def atake(self, owner: object, head: bytes | None = None, *, is_again: bool = False) -> Lease:
        """Same as `take`, but awaits; a cancelled caller takes nothing."""
        ready = self.take_ready(owner, head)
        if ready is not None:
            return ready
        import anyio

        turn = anyio.Event()
        position = self._enqueue(QueueTicket(from_other_threads(turn.set), head, owner), is_again=is_again)
        try:
            with ending_with_caller(position.dismiss), anyio.move_on_after(self._capacity.seconds):
                await turn.wait()
            return self._take_given(position)
        except BaseException:
            self._leave(position)
            raise

    def release(self, worker: WorkerHandle, *, is_clean: bool) -> bool:
        """End a leased worker soon, or have it serve again, and order others. Return whether it was still leased."""
        entry = self._running.pop(worker, None)
        if entry is None:
            return False
        self._released.add(worker, entry.zygote.ready, is_clean=is_clean)
        if self._queue or self.closed:
            self._follow_up()
        else:
            self._background.request(after=answer_seconds())
        return True

    def _follow_up(self) -> None:
        """End the released workers, or have them serve again, and give others their turn."""
        self._released.end_all()
        self.order_ready()

    def _lease(self, zygote: WorkerMaker, owner: object, head: bytes | None = None) -> Lease | None:
        """Return a ready worker if another program of `owner` may run, or None. Raises ZygoteGoneError."""
        if not self._shares.fits(self._owners, owner, more=1):
            return None
        if zygote.ready.is_about_to_have(head) or (worker := zygote.ready.pop(head)) is None:
            self._released.end_all()
            zygote.receive()
            if zygote.ready.is_about_to_have(head) or (worker := zygote.ready.pop(head)) is None:
                return None
        lease = Lease(self, worker, zygote.ready.checkers)
        self._running[worker] = RunningProgram(zygote, owner)
        if not self._shares.fits(self._owners, owner, more=0):
            self._put_back(lease)
            return None
        return lease

    @property
    def _next(self) -> QueueTicket | None:
        """The caller to serve next; None if no one waits, or no further program may run."""
        return self._shares.find_next(self._queue, self._owners)

    @property
    def _owners(self) -> list[object]:
        return [entry.owner for entry in list(self._running.values())]

    def _put_back(self, lease: Lease) -> None:
        """Return an unused worker to the ready ones."""
        lease.forget()
        if (entry := self._running.pop(lease.worker, None)) is not None:
            entry.zygote.ready.put_back(lease.worker)

    def _enqueue(self, position: QueueTicket, *, is_again: bool) -> QueueTicket:
        if self._find_living() is None:
            self._require()
        if is_again:
            self._queue.appendleft(position)
        else:
            self._queue.append(position)
            queue = list(self._queue)
            with contextlib.suppress(ValueError):  # it has been served already
                before = queue[: queue.index(position)]
                if not self._shares.may_wait(position, before):
                    self._leave(position)
                    raise too_many_error(len(self._running), len(before))
        if (zygote := self._zygote) is None or not zygote.ready.is_about_to_have(position.head):
            self._stock.grow(len(self._queue), lambda: self._zygote)
        self.order_ready()
        return position

    def _take_given(self, place: QueueTicket) -> Lease:
        zygote = self._zygote
        refusal = zygote.refusal if zygote is not None and zygote.refusals else ""
        return place.take(too_late_error(len(self._running), self._capacity.seconds, refusal))

    def _leave(self, place: QueueTicket) -> None:
        """Leave the queue, and release a lease that arrives too late."""
        with contextlib.suppress(ValueError):
            self._queue.remove(place)
        place.leave()

    def _serve_queue(self, zygote: WorkerMaker) -> None:
        """Lease ready workers to the queued callers, and order the missing ones. Raises ZygoteGoneError."""
        while (place := self._next) is not None:
            lease = self._lease(zygote, place.owner, zygote.ready.find_head(place))
            if lease is None:
                self._order_missing(zygote, place)
                return
            try:
                self._queue.remove(place)
            except ValueError:
                # It has left, or another thread has served it in the meantime.
                self._put_back(lease)
            else:
                place.give(lease)

    def _order_missing(self, zygote: WorkerMaker, place: QueueTicket) -> None:
        if zygote.refusals >= _MAX_REFUSALS and not self._running:
            zygote.refusals = 0
            self._refuse(SandboxError(f"no worker can be made ({zygote.refusal}): {LIMITS_OF_PROCESSES}"))
            return
        zygote.expect_nothing_late()
        zygote.ready.order_more(self._capacity.ready)
        missing = zygote.ready.count_missing(len(self._queue), place) - zygote.ready.blank - zygote.ordered
        missing = min(missing, max(1, self._capacity.running - len(self._running)))
        if missing > 0:
            zygote.order(missing)

    def _refuse(self, error: Exception) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._queue.popleft().give(error)

    # The dispatcher -----------------------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        """Make sure that a dispatcher serves the queue."""
        if not self._dispatching.locked() and self._next is not None:
            try:
                self._threads.start(self._serve)
            except RuntimeError as error:
                self._refuse(SandboxError(f"{error}: {LIMITS_OF_PROCESSES}"))

    def _serve(self) -> None:
        """Act as the dispatcher, unless there is one, until the queue is empty or no further program may run."""
        turn = self._dispatching
        while self._next is not None and turn.acquire(blocking=False):
            try:
                self._serve_all()
            except Exception as error:  # noqa: BLE001 - queued callers get the error, whatever it is
                self._refuse(error)
            finally:
                turn.release()

    def _serve_all(self) -> None:
        while self._queue:
            zygote = self._boot_once()
            try:
                self._serve_queue(zygote)
                if self._next is None:
                    # The release of a worker calls this again.
                    return
                zygote.wait()
                if zygote.refusals:
                    self._spare(None)
                    # Not at once: the lack may be temporary, and each attempt takes time from running programs.
                    self._closing.wait(_PAUSE_SECONDS)
            except ZygoteGoneError:
                self._forget(zygote)

    # The zygote ---------------------------------------------------------------------------------------------------

    def zygote(self) -> WorkerMaker:
        """Return the zygote, after booting one if necessary. Raises as `boot` does, and SandboxError after `close`."""
        living = self._find_living()
        if living is None:
            self._require()
            # Not in this thread: a signal handler that interrupts it may need the zygote too.
            living = call_within(threading.TIMEOUT_MAX, self._boot_once)
        return living

    @property
    def has_processes(self) -> bool:
        """Whether there is a zygote."""
        return self._zygote is not None

    def _boot_once(self) -> WorkerMaker:
        """Return the zygote, after booting one if necessary. Called in the pool's own threads only."""
        with self._booting:
            if (living := self._find_living()) is not None:
                return living
            self._zygote = living = self._boot()
        if self.closed:
            self._forget(living)
        return self._find_living() or living

    def _find_living(self) -> WorkerMaker | None:
        if self.closed:
            message = "the sandbox is closed"
            raise SandboxError(message)
        return self._zygote

    def _forget(self, zygote: WorkerMaker) -> None:
        """Drop a zygote that has ended, so that the next caller boots another."""
        if self._zygote is zygote:
            self._zygote = None
        zygote.close()

    def exit_reason(self, worker: WorkerHandle) -> str | None:
        """Return why a worker ended, after its socket ended, or None if unknown."""
        if (entry := self._running.get(worker)) is None:
            return None
        zygote = entry.zygote
        try:
            zygote.ask(worker)
            # The cause of this worker's end may have ended others too.
            zygote.ready.close_ended()
            while (reason := zygote.exit_reason(worker)) is None:
                zygote.wait()
        except ZygoteGoneError:
            self._forget(zygote)
            return None
        return reason

    def close(self) -> None:
        """End every process; no worker can be taken afterwards."""
        self.closed = "the sandbox was closed"
        zygote, self._zygote = self._zygote, None
        self._refuse(SandboxError("the sandbox was closed before this program could start"))
        self._closing.set()
        self._background.close()
        if zygote is not None:
            zygote.close()
        self._released.end_all()

    # How many are kept ready --------------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Order the workers that should be ready, without waiting for them."""
        self._stock.refill(self.zygote())

    def order_ready(self) -> None:
        """Serve the queue, also in place of kept programs, and order and prepare the workers that should be ready."""
        while self._queue and self._next is None and self._spare(self):
            continue
        # If the zygote is gone, the next caller that needs a worker notices.
        with contextlib.suppress(ZygoteGoneError):
            if (zygote := self._zygote) is not None:
                zygote.receive()
                self._serve_queue(zygote)
                if not self._queue:
                    self._stock.refill(zygote)
        # The dispatcher may have found no place free while this thread had a worker that it has put back.
        self._dispatch()

    def cool_down(self) -> None:
        """End the workers in excess of `ready`; return when that many are ready and none is on its way."""
        self._released.end_all()
        zygote = self._zygote
        if zygote is not None:
            with contextlib.suppress(ZygoteGoneError):
                self._stock.cool_down(zygote)
