"""The states of a program, as the host sees them.

Theory of operation. A program has one `Ending`: its state with what is known about it, in one attribute, so any thread
reads a whole one. One method changes it, as this table says, and refuses what the table does not have: the first ending
counts.

    state       | stop     | pause  | miss        | finish   | end         | resume
    RUNNING     | STOPPING | PAUSED | UNDELIVERED | FINISHED | ENDED       |
    STOPPING    | STOPPING |        |             | LATE     | LATE        |
    PAUSED      |          | PAUSED |             |          |             | RUNNING
    FINISHED    |          |        |             |          | SPOILED     |
    SPOILED     |          |        |             |          | SPOILED     |
    LATE        | LATE     |        |             |          | LATE        |
    UNDELIVERED |          |        |             |          | UNDELIVERED |
    ENDED       |          |        |             |          | ENDED       |

- RUNNING: its frames are read, and its calls run. If its worker ends now, it is lost until someone says why (`end`).
- STOPPING: its time is up. Its frames are read for the grace period, and its calls are refused.
- PAUSED: its calls wait for decisions. Nothing more is read, and no call runs until it is resumed.
- FINISHED: its last frame came.
- SPOILED: its last frame came, and more after it. Its result counts, but its worker is not used again.
- LATE: it was over only after its time was up, whether by its last frame or by the end of its worker.
- UNDELIVERED: its worker ended before it had the whole program.
- ENDED: its worker was ended, or died, before its last frame.

Changes come from one thread at a time: under the driver's lock, in its event loop, or once no thread reads on. The
caller may leave at any time, in any thread: what it does then has a flag of its own, which is only set.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.sandbox.protocol.frames import DoneFrame

__all__ = ["CHANGES", "Change", "Ending", "ProgramLife", "ProgramState"]

Change: TypeAlias = Literal["stop", "pause", "miss", "finish", "end", "resume"]


class ProgramState(StrEnum):
    """A state of a program; the module describes each."""

    RUNNING = "running"
    STOPPING = "stopping"
    PAUSED = "paused"
    FINISHED = "finished"
    SPOILED = "spoiled"
    LATE = "late"
    UNDELIVERED = "undelivered"
    ENDED = "ended"


class Ending(NamedTuple):
    """A program's state, with its last frame and the reason for its worker's end, if there are such."""

    state: ProgramState
    done: DoneFrame | None = None
    reason: str | None = None


CHANGES: Final[Mapping[ProgramState, Mapping[Change, ProgramState]]] = {
    ProgramState.RUNNING: {
        "stop": ProgramState.STOPPING,
        "pause": ProgramState.PAUSED,
        "miss": ProgramState.UNDELIVERED,
        "finish": ProgramState.FINISHED,
        "end": ProgramState.ENDED,
    },
    ProgramState.STOPPING: {"stop": ProgramState.STOPPING, "finish": ProgramState.LATE, "end": ProgramState.LATE},
    ProgramState.PAUSED: {"pause": ProgramState.PAUSED, "resume": ProgramState.RUNNING},
    ProgramState.FINISHED: {"end": ProgramState.SPOILED},
    ProgramState.SPOILED: {"end": ProgramState.SPOILED},
    ProgramState.LATE: {"stop": ProgramState.LATE, "end": ProgramState.LATE},
    ProgramState.UNDELIVERED: {"end": ProgramState.UNDELIVERED},
    ProgramState.ENDED: {"end": ProgramState.ENDED},
}

_READ: Final = (ProgramState.RUNNING, ProgramState.STOPPING)
_LATE: Final = (ProgramState.STOPPING, ProgramState.LATE)
_UNEXPLAINED: Final = (ProgramState.RUNNING, ProgramState.UNDELIVERED)


class ProgramLife:
    """The life of one program: its state, and whether its caller is there."""

    has_left = False
    """Whether the caller has left: no call may begin, and no record changes."""
    _ending = Ending(ProgramState.RUNNING)

    def change(self, change: Change, *, done: DoneFrame | None = None, reason: str | None = None) -> bool:
        """Change the state, if the table has this change; return whether it does. The first reason is kept."""
        before = self._ending
        state = CHANGES[before.state].get(change)
        if state is None:
            return False
        self._ending = Ending(state, before.done or done, before.reason or reason)
        return True

    def stop(self) -> bool:
        """Record that the program's time is up; from now on no call runs. Return False if it ended or paused before."""
        return self.change("stop")

    def end(self, reason: str) -> None:
        """Record why the worker ended before the program did; the first reason counts."""
        self.change("end", reason=reason)

    def leave(self) -> None:
        """Record that the caller has left, in any thread."""
        self.has_left = True

    @property
    def state(self) -> ProgramState:
        """What the program is doing."""
        return self._ending.state

    @property
    def wants_calls(self) -> bool:
        """Whether calls of the program may begin."""
        return self._ending.state is ProgramState.RUNNING and not self.has_left

    @property
    def is_late(self) -> bool:
        """Whether the program's time was up before it was over."""
        return self._ending.state in _LATE

    @property
    def is_over(self) -> bool:
        """Whether nothing more may be read from the worker."""
        return self._ending.state not in _READ

    @property
    def is_finished(self) -> bool:
        """Whether the program has sent its last frame."""
        return self._ending.done is not None

    @property
    def is_lost(self) -> bool:
        """Whether the worker, if it has ended, has done so for no known reason."""
        return self._ending.state in _UNEXPLAINED and self._ending.reason is None

    @property
    def is_undelivered(self) -> bool:
        """Whether the worker ended before it had the whole program."""
        return self._ending.state is ProgramState.UNDELIVERED
