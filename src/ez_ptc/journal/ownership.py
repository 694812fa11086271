"""The ownership of a run: until the last call under way has ended.

Theory of operation. At its end, an execution is closed: from then on no function begins, and nothing is written about a
call before it runs. Writes under way are waited for, and running functions too, for a moment. A function still running
then is left behind in its thread. Unless it may run twice, the run keeps its owner until the function ends: as long as
it may yet take effect, no one can say it did not. The state of an ownership is changed under its lock, as this table
says, and what the table does not have is refused:

    state   | close   | linger  | leave
    OPEN    | CLOSED  | LEAVING | OVER
    CLOSED  | CLOSED  | LEAVING | OVER
    LEAVING | LEAVING |         | OVER
    OVER    | OVER    |         | OVER

- OPEN: calls begin, and are written about.
- CLOSED: no further call begins; the execution waits for those under way, and records its end.
- LEAVING: the execution has gone, and functions of it run (linger). The last of them to end gives the run up.
- OVER: the run was given up (leave). An interruption may have come before its lock was released: so an execution
  gives up again when it is dropped. That is harmless, since a holder gives up nothing but its own.
"""

from __future__ import annotations

import contextlib
import threading
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ez_ptc.errors import JournalError
from ez_ptc.journal.rows import find_run
from ez_ptc.journal.stores.protocol import require_owner
from ez_ptc.tools.call_lifetime import CallInterrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from ez_ptc.journal.stores.protocol import RunRow, RunRows
    from ez_ptc.sandbox.protocol.frames import CallFrame

__all__ = ["CHANGES", "Ownership", "OwnershipChange", "OwnershipState", "own_row"]

# Longer than a write may wait for those of other processes.
_MAX_WRITING_SECONDS: Final = 60.0


OwnershipChange: TypeAlias = Literal["close", "linger", "leave"]


class OwnershipState(StrEnum):
    """A state of an ownership; the module describes each."""

    OPEN = "open"
    CLOSED = "closed"
    LEAVING = "leaving"
    OVER = "over"


CHANGES: Final[Mapping[OwnershipState, Mapping[OwnershipChange, OwnershipState]]] = {
    OwnershipState.OPEN: {
        "close": OwnershipState.CLOSED,
        "linger": OwnershipState.LEAVING,
        "leave": OwnershipState.OVER,
    },
    OwnershipState.CLOSED: {
        "close": OwnershipState.CLOSED,
        "linger": OwnershipState.LEAVING,
        "leave": OwnershipState.OVER,
    },
    OwnershipState.LEAVING: {"close": OwnershipState.LEAVING, "leave": OwnershipState.OVER},
    OwnershipState.OVER: {"close": OwnershipState.OVER, "leave": OwnershipState.OVER},
}


class Ownership:
    """The ownership of a run by one execution. Any thread may use it; no file is touched under its lock."""

    def __init__(self, run_id: str, require: Callable[[], None]) -> None:
        """Own a run; `require` raises JournalError if this process has lost its lock."""
        self._run_id = run_id
        self._require = require
        # Reentrant: what a finalizer releases may be what the code that it interrupts is about.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self.state = OwnershipState.OPEN
        self._writers = 0
        # The calls without an intent that wait for the threads their tools name.
        self._queued: dict[str, CallFrame] = {}
        # The calls that have begun and have no reply, and those whose functions run, though perhaps for no one.
        self._begun: set[str] = set()
        self._functions: set[str] = set()
        self._disown: Callable[[], None] | None = None

    def _change(self, change: OwnershipChange) -> bool:
        """Change the state, if the table has this change; return whether it does. Called under the lock."""
        state = CHANGES[self.state].get(change)
        if state is None:
            return False
        self.state = state
        return True

    @contextlib.contextmanager
    def writing(self, call: CallFrame) -> Generator[None]:
        """Return a context for writing about a call before it runs. Raises CallInterrupted if it is too late."""
        self.require_lock()
        with self._lock:
            self._require_open(call)
            self._writers += 1
        try:
            yield
        finally:
            with self._lock:
                self._writers -= 1
                self._changed.notify_all()

    def enqueue(self, call: CallFrame) -> None:
        """Let a call wait for its thread. Raises CallInterrupted if it is too late."""
        with self._lock:
            self._require_open(call)
            self._queued[call.path] = call

    def dequeue(self, call: CallFrame) -> None:
        """End the wait of a call for its thread. Raises CallInterrupted if it is too late."""
        with self._lock:
            self._require_open(call)
            self._queued.pop(call.path, None)

    def clear_queue(self) -> list[CallFrame]:
        """Return the calls still in wait for their threads, which never begin."""
        with self._lock:
            queued, self._queued = self._queued, {}
        return [*queued.values()]

    def begin(self, call: CallFrame) -> None:
        """Take note of the beginning of a call."""
        with self._lock:
            self._begun.add(call.path)

    def end(self, call: CallFrame) -> None:
        """Take note of a call's reply, or of a function left behind."""
        with self._lock:
            self._begun.discard(call.path)
            self._queued.pop(call.path, None)
            self._changed.notify_all()

    def enter_function(self, call: CallFrame, *, is_repeatable: bool) -> None:
        """Take note that a call's function begins. Raises CallInterrupted if it is too late."""
        self.require_lock()
        with self._lock:
            self._require_open(call)
            if not is_repeatable:
                self._functions.add(call.path)

    def leave_function(self, call: CallFrame) -> None:
        """Take note that a call's function has ended; the last one ends the ownership."""
        with self._lock:
            self._functions.discard(call.path)
            disown, is_last = self._disown, not self._functions
            is_left = is_last and self.state is OwnershipState.LEAVING and self._change("leave")
        if is_left and disown is not None:
            disown()

    def close(self, seconds: float) -> None:
        """Let no further call begin, and wait until none is under way, `seconds` at most."""
        with self._lock:
            self._change("close")
            self._changed.wait_for(lambda: not self._writers, _MAX_WRITING_SECONDS)
            self._changed.wait_for(lambda: not self._begun, seconds)

    def release(self, disown: Callable[[], None], *, has_ended: bool) -> None:
        """Stop owning the run with `disown`: now or, unless the run has ended, once no function of it runs."""
        with self._lock:
            if self._functions and not has_ended:
                self._disown = disown
                self._change("linger")
                return
            is_left = self._change("leave")
        if is_left:
            disown()

    def require_lock(self) -> None:
        """Raise CallInterrupted if this process has lost the run, which others may go on with."""
        try:
            self._require()
        except JournalError as error:
            raise CallInterrupted(error) from error

    def _require_open(self, call: CallFrame) -> None:
        if self.state is not OwnershipState.OPEN:
            message = f"{call.name} was not run: this execution of run {self._run_id} has ended"
            raise CallInterrupted(JournalError(message))


def own_row(rows: RunRows, row: RunRow) -> RunRow:
    """Return the row of a run that this process executes, as it is by now.

    Raises JournalError if another process has become its owner, or if the run has ended.
    """
    current = rows.latest(row) or find_run(rows, row.id)
    require_owner(row, current)
    return current
