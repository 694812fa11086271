"""The next event of a program at rest: a recorded reply, a timer, or whichever comes first.

Theory of operation. A program is at rest when each of its threads waits: for a reply, a timer, or another thread. Then
several things may happen next, and the path of the program depends on the choice. So each choice is an event, in a list
recorded by the host. A program that runs again gets the list, and makes its choices until it ends. From then on, the
remaining recorded replies come first, in their order, then the first reply or timer.

A program with one thread and no event loop has no choices, so it has no events.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["TIMER", "Schedule"]

TIMER: Final = ""
"""Stands for the path of a call in the event of a timer."""


class Schedule:
    """The recorded events of a program, its new ones, and its recorded replies."""

    def __init__(self, recorded: dict[str, Any] | None = None) -> None:
        """Take the record in a run frame.

        Args:
            recorded: `calls` are the recorded calls, in the order of their replies: the path, and the kind and payload
                of the reply, "" if the host sends it, or None if there is none. `events` are the events, in their
                order: the path of a call, or `TIMER`, and how far the clock was advanced, in microseconds. They are
                None in records of earlier versions.
        """
        recorded = recorded or {"calls": [], "events": []}
        calls: list[tuple[str, str | None]] = recorded["calls"]
        self._positions = {path: position for position, (path, _) in enumerate(calls)}
        self._replies = {path: reply for path, reply in calls if reply is not None}
        self._missing = set(self._positions)
        self._ahead = sum(map(bool, self._replies.values()))
        events: list[tuple[str, int]] | None = recorded["events"]
        self._has_events = events is not None
        self._events = deque(events or [])
        self._added: list[tuple[str, int]] = []

    @property
    def is_repeating(self) -> bool:
        """Whether the program has yet to make a recorded call again."""
        return bool(self._missing)

    @property
    def has_ahead(self) -> bool:
        """Whether a call is yet to be made, and its reply is here."""
        return self._ahead > 0

    def arrive(self, path: str) -> str:
        """Take note of a call, and return the recorded reply to it, or "" if that is not here."""
        self._missing.discard(path)
        return self.take_reply(path)

    def take_reply(self, path: str) -> str:
        """Return the recorded reply to a call, or "" if that is not here; the call has yet to arrive."""
        reply = self._replies.get(path, "")
        if reply:
            self._replies[path] = ""
            self._ahead -= 1
        return reply

    def is_blocked(self, waiting: Collection[str], *, has_timer: bool) -> bool:
        """Return whether the next recorded event cannot happen now."""
        while self._events:
            path = self._events[0][0]
            if path == TIMER:
                return not has_timer
            if path in waiting:
                return False
            if path in self._missing or path not in self._positions:
                return True
            self._events.popleft()  # its call has its reply: earlier versions recorded some events twice
        return False

    def choose(self, waiting: Collection[str], *, has_timer: bool) -> tuple[str, int] | None:
        """Return the next event: the path of one of the `waiting` calls, or `TIMER`. None: whichever comes first."""
        if self.is_blocked(waiting, has_timer=has_timer):
            # It has diverged. The host notices, because a recorded call will be missing.
            self._events.clear()
        if self._events:
            path, advance = self._events.popleft()
            return path, advance
        recorded = [path for path in (*waiting,) if path in self._replies]  # a copy: other threads may make calls
        if recorded:
            return self.add(min(recorded, key=self._positions.__getitem__), 0)
        if has_timer and self._missing and not self._has_events:
            return self.add(TIMER, 0)
        return None

    def add(self, path: str, advance: int) -> tuple[str, int]:
        """Add an event, and return it; the host gets it with the next call."""
        self._added.append((path, advance))
        return path, advance

    def take_added(self) -> list[tuple[str, int]]:
        """Return the events for the host since the last time."""
        added, self._added = self._added, []
        return added
