"""The events of a recorded program where there is one thread: replies and timers come in the order of its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...worker.repeating.baton import Baton, Waiter
from ...worker.repeating.replies import OrderedReplies
from ...worker.running.call_paths import running_loop

if TYPE_CHECKING:
    from ...worker.repeating.baton import NanosecondClock
    from ...worker.running.link import Link

__all__ = ["LoneBaton", "LoneReplies"]

_SECOND = 10**9
# Looks for a reply before one is waited for.
_MAX_STEPS = 10_000


class LoneBaton(Baton):
    """Lets one event after the other happen; the only thread always has it."""

    def __init__(self, clock: NanosecondClock, replies: LoneReplies, link: Link) -> None:
        """Use a link for waits."""
        super().__init__(clock, replies)
        self._link = link

    @property
    def is_sequential(self) -> bool:
        """Whether only one thing can happen next."""
        return len(self._replies.waiting) <= 1 and running_loop() is None

    def wait(self, waiter: Waiter, seconds: float | None = None) -> bool:
        """Let events happen until `waiter` is woken, or `seconds` have passed; return whether it was woken."""
        if seconds is not None:
            self._add_timer(waiter, self._clock.now + -int(-seconds * _SECOND // 1))
        while not waiter.is_ready:
            self._rest()
        self._ready.clear()
        return not waiter.is_late

    def pass_event(self, seconds: float | None) -> None:
        """Let one event happen: a reply, or the end of `seconds`."""
        self._steps = 0
        waiter = Waiter()
        if seconds is not None:
            self._add_timer(waiter, self._clock.now + -int(-seconds * _SECOND // 1))
        self._rest()
        waiter.is_void = True
        self._ready.clear()

    def step(self, weight: int = 1) -> None:
        """Count a look for a reply; after many of them, wait for one."""
        self._steps += weight
        if self._steps >= _MAX_STEPS and self._replies.waiting:
            self.pass_event(None)

    def _sleep(self, seconds: float) -> None:
        self._link.has_reply(seconds)


class LoneReplies(OrderedReplies):
    """The replies of such a program."""

    baton: LoneBaton

    def __init__(self, link: Link, clock: NanosecondClock) -> None:
        """Use a link; its calls and replies go this way from now on."""
        super().__init__(link, clock)
        self.baton = LoneBaton(clock, self, link)
