"""The actors of one toolkit: each program, and each session, has one for as long as it needs it.

An actor is asked for whenever a program finds none that is free, so the cluster's scheduler and its autoscaler see what
is needed. The program takes the first that is free: the new one, or one whose program has ended. Actors that still
wait for room on a node when nothing needs them any more are forgotten.

A free actor keeps its cores from everyone else on the cluster, so it is ended after some idle seconds. The one released
last is taken first: as many as are needed stay in use, and the others become idle.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, deque
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._sync import Threads
from ez_ptc.errors import ClusterError, EzPtcError, SandboxError
from ez_ptc.ray import wire
from ez_ptc.ray.links import ActorLostError
from ez_ptc.ray.programs import NodeFacts, own_facts, require_equal

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.ray.links import ActorLink, Cluster

__all__ = ["ActorPool", "LeasedActor", "PoolSettings"]

_MAX_STARTS: Final = 3
# The seconds for the correction of a failed program that an actor alone remembers.
_CORRECTION_SECONDS: Final = 600.0
_MIN_LOOK_SECONDS: Final = 0.1
_FACTS: Final = {
    "version": str,
    "interpreter": str,
    "allow_imports": list,
    "tools": list,
    "node": str,
    "has_journal": bool,
}


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """How many actors there are, and for how long.

    Attributes:
        allow_imports: The packages each of them has to allow, or None for any.
        programs: The programs of an actor at a time.
        most: The most actors, or None.
        idle_timeout: The seconds after which a free actor is ended, or None.
    """

    allow_imports: tuple[str, ...] | None
    programs: int
    most: int | None
    idle_timeout: float | None


class LeasedActor:
    """An actor, when it was last heard of, and until when it is kept in any case."""

    def __init__(self, link: ActorLink) -> None:
        self.link: Final = link
        self.node = "unknown"
        self.heard = monotonic()
        self.kept_until = 0.0
        self.is_lost = False

    def keep(self) -> None:
        """Keep it for the correction of a program no one else remembers."""
        self.kept_until = monotonic() + _CORRECTION_SECONDS


class ActorPool:
    """The actors of one toolkit. Any thread may use it."""

    def __init__(self, connect: Callable[[], Cluster], settings: PoolSettings) -> None:
        """Take a function for the cluster, and the settings."""
        self._connect = connect
        self._expected: Final = own_facts(settings.allow_imports)
        self._programs: Final = settings.programs
        self._most: Final = settings.most
        self._idle_timeout: Final = settings.idle_timeout
        self._lock = threading.RLock()
        self._free: deque[LeasedActor] = deque()
        self._waiting: deque[Future[LeasedActor]] = deque()
        self._starting: set[LeasedActor] = set()
        self._actors: set[LeasedActor] = set()
        self._requested = 0
        self._failed_starts = 0
        self._timer: threading.Timer | None = None
        self._is_closed = False
        self._threads = Threads()
        self.facts: NodeFacts | None = None

    def lease(self) -> Future[LeasedActor]:
        """Return the future of an actor with room for one program. It raises the reason if none can start."""
        lease: Future[LeasedActor] = Future()
        with self._lock:
            if self._is_closed:
                message = "this toolkit is closed: make a new one"
                raise SandboxError(message)
            if self._free:
                lease.set_result(self._free.pop())
                return lease
            self._waiting.append(lease)
        self._start_if_needed()
        return lease

    def any_actor(self) -> LeasedActor | None:
        """Return an actor, busy or not, for a question beside its programs."""
        with self._lock:
            return next((actor for actor in self._actors if not actor.is_lost), None)

    def forget(self, lease: Future[LeasedActor]) -> None:
        """Take back the lease of a caller who has left."""
        with self._lock:
            if lease in self._waiting:
                self._waiting.remove(lease)
                self._drop_surplus()
                return
        if lease.done() and lease.exception() is None:
            self.release(lease.result())

    def release(self, actor: LeasedActor) -> None:
        """Take an actor back whose program has ended."""
        with self._lock:
            if not actor.is_lost and not self._is_closed:
                actor.heard = monotonic()
                self._offer(actor)
            self._drop_surplus()

    def discard(self, actor: LeasedActor) -> None:
        """End a lost or unusable actor, and forget it."""
        with self._lock:
            actor.is_lost = True
            self._actors.discard(actor)
            self._starting.discard(actor)
            self._free = deque(free for free in self._free if free is not actor)
        actor.link.kill()
        # In another thread: this one may be Ray's.
        self._threads.start(self._start_if_needed)

    def close(self) -> None:
        """End every actor. Waiting callers get a SandboxError."""
        with self._lock:
            self._is_closed = True
            actors, waiting = [*self._actors, *self._starting], [*self._waiting]
            for collection in (self._actors, self._starting, self._free, self._waiting):
                collection.clear()
            if self._timer is not None:
                self._timer.cancel()
        for actor in actors:
            actor.is_lost = True
            actor.link.kill()
        _refuse(waiting, SandboxError("this toolkit was closed while the program waited for an actor"))

    def _offer(self, actor: LeasedActor) -> None:
        while self._waiting:
            with contextlib.suppress(InvalidStateError):
                self._waiting.popleft().set_result(actor)
                return
        self._free.append(actor)
        if self._timer is None and self._idle_timeout is not None:
            self._look_later(self._idle_timeout)

    def _drop_surplus(self) -> None:
        while len(self._starting) * self._programs >= len(self._waiting) + self._programs:
            self._starting.pop().link.kill()

    # Idle actors ------------------------------------------------------------------------------------------------------

    def _look_later(self, seconds: float) -> None:
        self._timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._end_idle)
        self._timer.daemon = True
        self._timer.start()

    def _end_idle(self) -> None:
        """End the actors free for long enough, and look again when it is time for the next."""
        with self._lock:
            self._timer = None
            if self._is_closed or self._idle_timeout is None:
                return
            slots, now = Counter(self._free), monotonic()
            ends = {
                actor: max(actor.heard + self._idle_timeout, actor.kept_until)
                for actor, count in slots.items()
                if count == self._programs
            }
            idle = [actor for actor, end in ends.items() if end <= now]
            for actor in idle:
                actor.is_lost = True
                self._actors.discard(actor)
            self._free = deque(actor for actor in self._free if not actor.is_lost)
            later = [end - now for end in ends.values() if end > now]
            if later:  # by then, others may have become free
                self._look_later(min(*later, max(self._idle_timeout, _MIN_LOOK_SECONDS)))
        for actor in idle:
            actor.link.kill()

    # Starting ---------------------------------------------------------------------------------------------------------

    def _start_if_needed(self) -> None:
        """Ask for another actor if more programs wait than actors are on their way. Never under the lock.

        Ray answers on a separate thread, perhaps waiting for the lock.
        """
        with self._lock:
            coming = len(self._starting) + self._requested
            is_full = self._most is not None and len(self._actors) + coming >= self._most
            if len(self._waiting) <= coming * self._programs or is_full or self._is_closed:
                return
            self._requested += 1
        try:
            actor = LeasedActor(self._connect().start_actor())
        except EzPtcError as error:
            with self._lock:
                self._requested -= 1
                waiting = [*self._waiting]
                self._waiting.clear()
            _refuse(waiting, error)
            return
        with self._lock:
            self._requested -= 1
            self._starting.add(actor)
        actor.link.ask("describe").add_done_callback(lambda answer: self._admit(actor, answer))
        if self._is_closed:
            self.discard(actor)

    def _admit(self, actor: LeasedActor, answer: Future[Any]) -> None:
        """Take a new actor, or refuse it, by the answer of its `describe`."""
        with self._lock:
            if actor not in self._starting:
                return  # forgotten, and killed
            self._starting.discard(actor)
            try:
                self._check(actor, answer)
            except ActorLostError as error:
                self._failed_starts += 1
                if self._failed_starts < _MAX_STARTS:
                    refusal = None
                else:
                    refusal = self._no_start(error)
            except (EzPtcError, TypeError, ValueError) as error:
                refusal = error
            else:
                self._failed_starts = 0
                self._actors.add(actor)
                for _ in range(self._programs):
                    self._offer(actor)
                self._drop_surplus()
                return
            if refusal is not None and self._waiting:
                _refuse([self._waiting.popleft()], refusal)
        self.discard(actor)

    def _no_start(self, error: ActorLostError) -> ClusterError:
        here = self._expected
        return ClusterError(
            f"{_MAX_STARTS} actors have died at their start: this process has {here.interpreter} and ez-ptc "
            f"{here.version}, and the nodes need the same; the last of them: {error}; nothing was run"
        )

    def _check(self, actor: LeasedActor, answer: Future[Any]) -> None:
        """Compare an actor with this process, and with the first one. Raises ClusterError if they differ."""
        message = wire.unpack(answer.result())
        actor.node = str(message.get("node", "unknown"))
        if message["is"] == "error":
            raise wire.error_from(message, actor.node)
        fields = wire.require(message, _FACTS)
        for name in ("allow_imports", "tools"):
            fields[name] = tuple(str(item) for item in fields[name])
        facts = NodeFacts(**fields)
        require_equal(facts, self._expected)
        if self.facts is not None:
            require_equal(facts, self.facts)
        self.facts = facts
        actor.heard = monotonic()


def _refuse(waiting: list[Future[LeasedActor]], error: Exception) -> None:
    for lease in waiting:
        with contextlib.suppress(InvalidStateError):
            lease.set_exception(error)
