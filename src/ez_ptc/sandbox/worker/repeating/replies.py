"""The replies to the calls of a program with threads taking turns: each is delivered at its time in the schedule."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from ...protocol.values import codec as values
from ..running.link import Pending, reply_ahead
from ..schedule import TIMER
from .baton import Baton, Waiter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..running.link import Link
    from .baton import NanosecondClock

__all__ = ["OrderedReplies"]


class OrderedReplies:
    """The calls without a reply, and the replies yet to be delivered."""

    def __init__(self, link: Link, clock: NanosecondClock) -> None:
        """Use a link; its calls and replies go this way from now on."""
        self._link = link
        self.baton = Baton(clock, self)
        self.waiting: dict[str, Pending] = {}
        self._bodies: dict[str, bytes] = {}
        self._paths: dict[int, str] = {}
        self._waiters_for_room: deque[Waiter] = deque()
        self._received = 0

    def begin(self) -> None:
        """Begin a program, with the schedule of the link."""
        self.baton.schedule = self._link.schedule
        self.waiting.clear()
        self._bodies.clear()
        self._paths.clear()
        self._received = 0

    def start(self, body: bytes, path: str, attached: Sequence[bytes] = ()) -> Pending:
        """Send a call. Other threads run while too many calls are unanswered."""
        link, schedule = self._link, self.baton.schedule
        while link.outstanding >= link.room:
            waiter = Waiter()
            self._waiters_for_room.append(waiter)
            if link.outstanding < link.room:  # by now, because of a thread beside this one
                self._admit_next()
            self.baton.wait(waiter)
        link.outstanding += 1
        pending = Pending(link)
        # A thread beside this one may send a call as well: the host expects calls and events in their order.
        with link.writing:
            reply = schedule.take_reply(path)
            number = link.next_number()
            if reply:
                self._bodies[path] = reply_ahead(reply)
            else:
                self._paths[number] = path
            # Only now: the holder of the baton may deliver the reply at once.
            self.waiting[path] = pending
            schedule.arrive(path)
            link.holds = bool(reply) and schedule.has_ahead
            events = schedule.take_added()
            added = b'"events":%b,' % values.dumps(events) if events else b""
            link.write(b'{"id":%d,%b%b' % (number, added, body), attached)
        return pending

    def wait(self, pending: Pending) -> None:
        """Return once a call has its reply; meanwhile, other threads run."""
        baton = self.baton
        if baton.is_sequential:
            while pending.reply is None:
                # A call that is sent alone says so itself.
                is_resting = len(self.waiting) > 1 and baton.schedule.is_repeating
                self.deliver(self.first_path(None, is_resting=is_resting))
        elif pending.reply is None:
            waiter = Waiter()
            pending.notify = partial(baton.wake, waiter)
            if pending.reply is not None:  # by now, from a thread beside this one
                baton.wake(waiter)
            baton.wait(waiter)

    def deliver(self, path: str) -> None:
        """Give a call its reply; wait for it if it has not come."""
        while path not in self._bodies:
            self._receive()
        pending = self.waiting.pop(path)
        pending.reply = self._bodies.pop(path)
        self._link.outstanding -= 1
        self._admit_next()
        if pending.notify is not None:
            pending.notify()

    def _admit_next(self) -> None:
        if self._waiters_for_room:
            self.baton.wake(self._waiters_for_room.popleft())

    def has_come(self, seconds: float) -> bool:
        """Wait for a reply for at most so many seconds; return whether one has come."""
        self._link.release()
        return bool(self._bodies) or self._link.has_reply(seconds)

    def first_path(self, seconds: float | None, *, is_resting: bool) -> str:
        """Return the path of the first reply within `seconds`, or `TIMER`.

        If the program `is_resting`, it waits for replies alone, and the host hears of it.
        """
        while not self._bodies:
            if is_resting and self.waiting:
                with self._link.writing:
                    self._link.holds = False
                    events = self.baton.schedule.take_added()
                    self._link.write(values.dumps({"t": "rest", "replies": self._received, "events": events}))
            self._link.release()
            if seconds is not None and not self._link.has_reply(seconds):
                return TIMER
            self._receive()
        return next(iter(self._bodies))

    def _receive(self) -> None:
        """Receive one reply."""
        self._link.release()
        number, body = self._link.receive_reply()
        self._received += 1
        path = self._paths.pop(number, None)
        if path is not None:
            self._bodies[path] = body
