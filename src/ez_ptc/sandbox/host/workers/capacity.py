"""The capacity of a sandbox, and fair shares of it: the owner of a program does not wait for the programs of others.

Theory of operation. An owner, such as a toolkit, may use all of the capacity while no one else needs it. Its programs
cannot be stopped for others. So an owner with few running programs may exceed the capacity: by no more than is left of
the excess afterwards, and one. A part is thus left for the next owner. A freed place goes to the waiting owner with the
fewest running programs, and among its callers to the first.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ez_ptc.sandbox.host.workers.waiting import QueueTicket

__all__ = ["Capacity", "Shares"]

_EXCESS_PART: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The capacity of a sandbox.

    Attributes:
        ready: The minimum number of ready workers.
        running: Programs that may run at a time.
        waiting: Callers that may wait.
        seconds: The maximum time to wait.
    """

    ready: int
    running: int
    waiting: int
    seconds: float

    def __post_init__(self) -> None:
        """Validate the numbers. Raises ValueError."""
        least = {"ready": 0, "running": 1, "waiting": 0}
        for name, number in least.items():
            value: object = getattr(self, name)
            if type(value) is not int or value < number:
                message = f"ProcessSandbox({name}=…): expected an int >= {number}, got {safe_repr(value)}"
                raise ValueError(message)
        if not 0 <= self.seconds <= threading.TIMEOUT_MAX:
            message = f"ProcessSandbox(patience=…): expected seconds >= 0, got {safe_repr(self.seconds)}"
            raise ValueError(message)


class Shares:
    """Decides whose program may run. As in the pool, no code here waits for a lock."""

    def __init__(self, capacity: Capacity) -> None:
        """Share the capacity."""
        self._most = capacity.running
        self._waiting = capacity.waiting
        self._excess = max(1, capacity.running // _EXCESS_PART)

    def fits(self, owners: Collection[object], owner: object, *, more: int) -> bool:
        """Return whether `owner` may run `more` programs, 1 or 0, beside those of `owners`, one entry each."""
        total = len(owners) + more
        if total <= self._most:
            return True
        left = self._most + self._excess - total
        return left >= 0 and sum(other is owner for other in owners) + more <= left + 1

    def find_next(self, queue: Iterable[QueueTicket], owners: Collection[object]) -> QueueTicket | None:
        """Return the place in a queue to serve next, or None if none can be served for now."""
        places = list(queue)
        if not places or len(owners) >= self._most + self._excess:
            return None
        place = places[0]
        if len(places) > 1:
            counts = Counter(map(id, owners))
            # The first of those with the fewest.
            place = min(places, key=lambda place: counts[id(place.owner)])
        return place if self.fits(owners, place.owner, more=1) else None

    def may_wait(self, place: QueueTicket, before: Iterable[QueueTicket]) -> bool:
        """Return whether a caller may wait behind others: in a full queue, the first one of its owner."""
        places = list(before)
        if len(places) < self._waiting:
            return True
        return len(places) < 2 * self._waiting and not any(other.owner is place.owner for other in places)
