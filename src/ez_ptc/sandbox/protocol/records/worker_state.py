"""The states of a worker, of any backend.

Theory of operation. A worker is in one place at a time: among those of its zygote, leased to a program, or in a local
variable of some frame. The frame that has taken it out of its place changes its state, as this table says; a change
that the table does not have is refused. Any thread may close a worker at any moment, and a closed one stays closed.

    state    | ready | check    | lend | release  | await   | close
    MADE     | READY | CHECKING |      |          | AWAITED | CLOSED
    READY    | READY | CHECKING | LENT |          |         | CLOSED
    LENT     | READY |          |      | RELEASED |         | CLOSED
    RELEASED |       |          |      |          | AWAITED | CLOSED
    AWAITED  | READY |          |      |          |         | CLOSED
    CHECKING |       |          |      |          |         | CLOSED
    CLOSED   |       |          |      |          |         | CLOSED

- MADE: its process has started.
- READY: it waits for a program, whether it is told the head in advance or not, or is put back without one.
- LENT: it runs a program, or the programs of a session, or is kept for a paused one.
- RELEASED: its program is over, and it will be ended or restored.
- AWAITED: it is being restored, or made to be restored; the zygote says when it is ready.
- CHECKING: it checks the programs of others, until it is closed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHANGES", "WorkerChange", "WorkerLife", "WorkerState"]

WorkerChange: TypeAlias = Literal["ready", "check", "lend", "release", "await", "close"]


class WorkerState(StrEnum):
    """A state of a worker; the module describes each."""

    MADE = "made"
    READY = "ready"
    LENT = "lent"
    RELEASED = "released"
    AWAITED = "awaited"
    CHECKING = "checking"
    CLOSED = "closed"


CHANGES: Final[Mapping[WorkerState, Mapping[WorkerChange, WorkerState]]] = {
    WorkerState.MADE: {
        "ready": WorkerState.READY,
        "check": WorkerState.CHECKING,
        "await": WorkerState.AWAITED,
        "close": WorkerState.CLOSED,
    },
    WorkerState.READY: {
        "ready": WorkerState.READY,
        "check": WorkerState.CHECKING,
        "lend": WorkerState.LENT,
        "close": WorkerState.CLOSED,
    },
    WorkerState.LENT: {"ready": WorkerState.READY, "release": WorkerState.RELEASED, "close": WorkerState.CLOSED},
    WorkerState.RELEASED: {"await": WorkerState.AWAITED, "close": WorkerState.CLOSED},
    WorkerState.AWAITED: {"ready": WorkerState.READY, "close": WorkerState.CLOSED},
    WorkerState.CHECKING: {"close": WorkerState.CLOSED},
    WorkerState.CLOSED: {"close": WorkerState.CLOSED},
}


class WorkerLife:
    """The life of a worker, of any kind."""

    __slots__ = ("_is_closed", "state")

    def __init__(self) -> None:
        """Begin with a worker that was made."""
        self._is_closed = False
        self.state = WorkerState.MADE

    def change(self, change: WorkerChange) -> bool:
        """Change the state, if the table has this change; return whether it does."""
        state = CHANGES[self.state].get(change)
        if state is None:
            return False
        if state is WorkerState.CLOSED:
            self._is_closed = True
        self.state = state
        # Another thread may have closed it since the look at its state: one of the two sees the other.
        if self._is_closed:
            self.state = WorkerState.CLOSED
        return self.state is state
