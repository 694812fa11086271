"""The turns of recorded replies: the order in which a program that runs again gets them.

Theory of operation. A program that runs again makes the calls that it made the first time, but those of its parallel
parts may arrive in another order. So each recorded reply waits for its turn: until the replies recorded before it were
given, and until as many calls have arrived as had arrived before it the first time.

Both ends count the turns. The host sends the first replies with the program. The worker takes the reply to a call from
there if that is the reply whose turn comes first with the arrival of the call; for any other it waits for the host.
Since both ends see the calls in one order, that of their numbers, the host knows which replies the worker took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["RepliesAhead", "Turns"]


class Turns:
    """The recorded replies whose turn has not come; a reply is named by the path of its call."""

    def __init__(self, replies: Iterable[tuple[str, int]]) -> None:
        """Take the paths of the calls, in the order of their replies, each with the number of calls made by then."""
        self._replies = list(replies)
        self._recorded = {path for path, _ in self._replies}
        self._held: set[str] = set()
        self._flushed: set[str] = set()
        self._next = 0
        self._calls = 0

    @property
    def are_over(self) -> bool:
        """Whether no reply is left."""
        return self._next == len(self._replies)

    def skip(self, calls: int) -> None:
        """Leave out all replies: these calls were made, and answered, earlier."""
        self._calls += calls
        self._next = len(self._replies)

    def arrive(self, path: str) -> list[str]:
        """Count a call, recorded or not. Return the replies whose turn has come, in their order."""
        self._calls += 1
        if path in self._recorded:
            self._held.add(path)
        due: list[str] = []
        while self._next < len(self._replies):
            following, calls = self._replies[self._next]
            if following not in self._flushed:
                if following not in self._held or calls > self._calls:
                    break
                self._held.remove(following)
                due.append(following)
            self._next += 1
        return due

    def flush(self) -> list[str]:
        """Return the replies that are held for their turn, in their order: they are given without it."""
        held, self._held = self._held, set()
        self._flushed |= held
        return [path for path, _ in self._replies if path in held]


class RepliesAhead:
    """The first recorded replies, in the worker; the host checks the calls that take them all the same."""

    def __init__(self, replies: Sequence[tuple[str, int, str]]) -> None:
        """Take, for each reply, its call's path, the number of calls made by then, and its kind and payload."""
        self._turns = Turns((path, calls) for path, calls, _ in replies)
        self._replies = {path: reply for path, _, reply in replies}

    @property
    def is_over(self) -> bool:
        """Whether every reply has had its turn."""
        return self._turns.are_over

    def take(self, path: str) -> bytes | None:
        """Count a call, and return the reply to it, unless it has to come from the host."""
        due = self._turns.arrive(path)
        if not due or due[0] != path:
            return None
        return self._replies[path].encode("utf-8", "surrogatepass")
