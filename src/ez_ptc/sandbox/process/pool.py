"""The workers of one sandbox: who gets one, who waits for one, and how many are kept ready.

A caller that finds a worker ready takes it and goes. The others stand in one row, threads and tasks alike, and while
there is a row, one thread, the dispatcher, listens to the zygote and serves it from the front. More workers are kept
ready while more are asked for, and fewer again after a while.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from ez_ptc._sync import Threads, from_other_threads
from ez_ptc.errors import Overloaded, SandboxError
from ez_ptc.sandbox.process.zygote import LIMITS_OF_PROCESSES, ZygoteGoneError, ZygoteProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.sandbox.process.handle import WorkerHandle
    from ez_ptc.sandbox.process.room import Room

__all__ = ["Lease", "Pool"]

_MOST_READY = 16
_BOOTS = 3
_PAUSE_SECONDS = 0.02
_MOST_REFUSALS = 50
"""In a row, with pauses between them: whoever waits while nothing runs that could make room waits no longer."""
_CALM_SECONDS = 2.0
"""After so long without a row, half of the workers that were kept ready for it are let go."""


# A named tuple: one is made for each program, and a frozen dataclass takes three times as long to make.
class Lease(NamedTuple):
    """A worker that is somebody's, the zygote that knows how it ends, and the pool that takes it back."""

    pool: Pool
    zygote: ZygoteProcess
    worker: WorkerHandle

    def how_ended(self) -> int | None:
        """Return the exit code of the worker (negative: the signal) after its socket ended; None when nobody knows."""
        return self.pool.how_ended(self)


class _Place:
    """One caller's place in the row."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self.given: Lease | Exception | None = None
        self._wake = wake

    def give(self, what: Lease | Exception) -> None:
        self.given = what
        # The event loop of one who waited may be closed by now; its lease is given back when the place is left.
        with contextlib.suppress(RuntimeError):
            self._wake()


class Pool:
    """Gives out workers. Any thread and any event loop may ask."""

    def __init__(self, room: Room, boot: Callable[[], ZygoteProcess], threads: Threads) -> None:
        """Start nothing yet.

        Args:
            room: How much it may hold.
            boot: Makes a zygote; called when there is none.
            threads: Where the dispatcher runs.
        """
        self._room = room
        self._boot = boot
        self._threads = threads
        self._closed = False
        self.start_anew()

    def start_anew(self) -> None:
        """Leave everything to the parent, in a fork of the host: its zygote, who holds the lock and who waits."""
        zygote: ZygoteProcess | None = getattr(self, "_zygote", None)
        if zygote is not None:
            zygote.disown()
        self._lock = threading.Lock()
        self._booting = threading.Lock()
        self._calm = threading.Event()
        self._zygote: ZygoteProcess | None = None
        for worker in getattr(self, "_killed", ()):
            worker.disown()
        self._killed: list[WorkerHandle] = []
        self._row: deque[_Place] = deque()
        self._running = 0
        self._wanted = self._room.ready
        self._busy_at = 0.0
        self._dispatching = False
        self._shrinking = False

    # Taking and giving back ---------------------------------------------------------------------------------------

    def take_ready(self) -> Lease | None:
        """Return a worker if one is ready and nobody was here before."""
        with self._lock:
            zygote = self._zygote
            if zygote is None or self._row or self._running >= self._room.running:
                return None
            try:
                worker = zygote.pop() or self._newly_made(zygote)
            except ZygoteGoneError:
                return None
            if worker is None:
                return None
            self._running += 1
            return Lease(self, zygote, worker)

    def take(self) -> Lease:
        """Return a worker; wait for one if need be.

        Raises:
            Overloaded: Too many wait, or it took too long.
            SandboxError: There can be none: the pool is closed, or no zygote can be had.
        """
        found = self.take_ready()
        if found is not None:
            return found
        turn = threading.Lock()
        turn.acquire()
        place = self._stand(turn.release)
        try:
            turn.acquire(timeout=self._room.seconds)
            return self._served(place)
        except BaseException:
            self._leave(place)
            raise

    async def atake(self) -> Lease:
        """Do the same as `take`, but await; a cancelled caller takes nothing."""
        found = self.take_ready()
        if found is not None:
            return found
        import anyio

        turn = anyio.Event()
        place = self._stand(from_other_threads(turn.set))
        try:
            with anyio.move_on_after(self._room.seconds):
                await turn.wait()
            return self._served(place)
        except BaseException:
            self._leave(place)
            raise

    def give_back(self, lease: Lease) -> None:
        """End the worker of ``lease``, and order another for whoever comes next."""
        lease.worker.kill()
        with self._lock:
            self._running -= 1
            self._killed.append(lease.worker)
            if lease.zygote is self._zygote:
                self._serve_or_refill(lease.zygote)
            if self._row:
                self._dispatch()
            if self._zygote is None or len(self._killed) + self._zygote.ready > self._room.ready:
                self._close_killed()

    def _newly_made(self, zygote: ZygoteProcess) -> WorkerHandle | None:
        """Take in those that the zygote has made, and return one; called with the lock."""
        self._close_killed()
        zygote.take_in()
        return zygote.pop()

    def _close_killed(self) -> None:
        """Close what is left of killed workers: several at one go take little longer than one; called with the lock."""
        while self._killed:
            self._killed.pop().disown()

    def _serve_or_refill(self, zygote: ZygoteProcess) -> None:
        """Serve the row or, where there is none, order what should be ready; called with the lock."""
        try:
            if self._row:
                self._serve_row(zygote)
            if not self._row:
                self._refill(zygote)
        except ZygoteGoneError:
            # Whoever needs a worker finds out.
            return

    def _stand(self, wake: Callable[[], object]) -> _Place:
        with self._lock:
            if len(self._row) >= self._room.waiting:
                message = (
                    f"{self._running} programs run and {len(self._row)} wait, the most that this sandbox takes: run "
                    "fewer at a time, or make it larger, as in ProcessSandbox(running=…, waiting=…)"
                )
                raise Overloaded(message)
            place = _Place(wake)
            self._row.append(place)
            self._grow()
            if self._zygote is not None:
                with contextlib.suppress(ZygoteGoneError):
                    self._serve_row(self._zygote)
            self._dispatch()
            return place

    def _served(self, place: _Place) -> Lease:
        with self._lock:
            given, zygote = place.given, self._zygote
        if given is None:
            refusal = zygote.refusal if zygote is not None and zygote.refusals else ""
            message = (
                f"no worker became free within {self._room.seconds:g} s, {self._running} programs run"
                + (f", and no further one can be made ({refusal})" if refusal else "")
                + ": run fewer at a time, give them less time, or let more run, as in ProcessSandbox(running=…)"
            )
            raise Overloaded(message)
        if isinstance(given, Exception):
            raise given
        return given

    def _leave(self, place: _Place) -> None:
        """Give up a place in the row, and what came too late for whoever stood there."""
        with self._lock:
            given = place.given
            if given is None:
                with contextlib.suppress(ValueError):
                    self._row.remove(place)
        if isinstance(given, Lease):
            self.give_back(given)

    # The dispatcher -----------------------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        """See that somebody serves the row; called with the lock."""
        if not self._dispatching:
            self._dispatching = True
            try:
                self._threads.start(self._serve)
            except RuntimeError as error:
                self._dispatching = False
                self._refuse(SandboxError(f"{error}: {LIMITS_OF_PROCESSES}"))

    def _serve(self) -> None:
        while True:
            try:
                zygote = self.zygote()
            except Exception as error:  # noqa: BLE001 - whoever waits is told, whatever it is
                with self._lock:
                    self._dispatching = False
                    self._refuse(error)
                return
            try:
                with self._lock:
                    self._serve_row(zygote)
                    if not self._row or self._running >= self._room.running:
                        # Whoever comes next, or gives a worker back, calls again.
                        self._dispatching = False
                        return
                zygote.wait()
                if zygote.refusals:
                    # Not at once again: what is lacking may come with time, and asking takes time from what runs.
                    self._calm.wait(_PAUSE_SECONDS)
            except ZygoteGoneError:
                self.forget(zygote)

    def _serve_row(self, zygote: ZygoteProcess) -> None:
        """Give those in front the workers that are there, and order what is missing; called with the lock."""
        while self._row and self._running < self._room.running:
            worker = zygote.pop() or self._newly_made(zygote)
            if worker is None:
                missing = min(len(self._row), self._room.running - self._running) - zygote.coming
                if zygote.refusals >= _MOST_REFUSALS and not self._running:
                    zygote.refusals = 0
                    self._refuse(SandboxError(f"no worker can be made ({zygote.refusal}): {LIMITS_OF_PROCESSES}"))
                elif missing > 0:
                    zygote.order(missing, hurry=True)
                return
            self._running += 1
            self._row.popleft().give(Lease(self, zygote, worker))

    def _refuse(self, error: Exception) -> None:
        while self._row:
            self._row.popleft().give(error)

    # The zygote ---------------------------------------------------------------------------------------------------

    def zygote(self) -> ZygoteProcess:
        """Return the zygote; boot one if there is none. Raises what `boot` raises, and SandboxError after `close`."""
        with self._booting:
            with self._lock:
                found = self._living()
            if found is not None:
                return found
            made = self._booted()
            with self._lock:
                if not self._closed:
                    self._zygote = made
                    return made
            made.close()
            return self._living() or made

    def _booted(self) -> ZygoteProcess:
        """Boot a zygote; try again when it is killed before it is there."""
        for _ in range(_BOOTS - 1):
            with contextlib.suppress(ZygoteGoneError):
                return self._boot()
        return self._boot()

    def _living(self) -> ZygoteProcess | None:
        if self._closed:
            message = "the sandbox is closed"
            raise SandboxError(message)
        return self._zygote

    def forget(self, zygote: ZygoteProcess) -> None:
        """Let the next caller boot a new zygote instead of this one, which has ended."""
        with self._lock:
            if self._zygote is zygote:
                self._zygote = None
        zygote.close()

    def refill(self) -> None:
        """Order as many workers as should be ready; does not wait for them."""
        zygote = self.zygote()
        with self._lock:
            self._refill(zygote)

    def how_ended(self, lease: Lease) -> int | None:
        """Return the exit code of a worker (negative: the signal) whose socket has ended; None when nobody knows."""
        try:
            with self._lock:
                lease.zygote.ask(lease.worker)
                # What has ended one that nobody asked to end may have ended others.
                for worker in lease.zygote.take_ended():
                    worker.close()
            while True:
                with self._lock:
                    code = lease.zygote.told(lease.worker)
                if code is not None:
                    return code
                lease.zygote.wait()
        except ZygoteGoneError:
            self.forget(lease.zygote)
            return None

    def close(self) -> None:
        """End every process; nothing can be taken any more."""
        with self._lock:
            self._closed = True
            zygote, self._zygote = self._zygote, None
            message = "the sandbox was closed before this program could start"
            self._refuse(SandboxError(message))
            self._calm.set()
            self._close_killed()
        if zygote is not None:
            zygote.close()

    # How many are kept ready --------------------------------------------------------------------------------------

    def _grow(self) -> None:
        self._busy_at = time.monotonic()
        self._wanted = min(max(self._wanted, len(self._row) + self._room.ready), max(_MOST_READY, self._room.ready))
        if self._wanted > self._room.ready and not self._shrinking:
            with contextlib.suppress(RuntimeError):
                # Where no thread can be started, they stay.
                self._threads.start(self._shrink)
                self._shrinking = True

    def _refill(self, zygote: ZygoteProcess) -> None:
        missing = self._wanted - zygote.coming
        # Several at one go: the zygote is woken up less often.
        if missing > self._wanted // 4 and not self._row:
            # Few left: they are needed sooner than a rehearsal takes.
            zygote.order(missing, hurry=2 * missing > self._wanted)

    def _shrink(self) -> None:
        calm = self._calm
        while not calm.wait(_CALM_SECONDS):
            with self._lock:
                if time.monotonic() - self._busy_at < _CALM_SECONDS:
                    continue
                self._wanted = max(self._room.ready, self._wanted // 2)
                spare = [] if self._zygote is None else self._zygote.spare(self._wanted)
                self._shrinking = self._wanted > self._room.ready
            for worker in spare:
                worker.close()
            if not self._shrinking:
                return
