"""The ownership of a run: until the last call under way has ended.

Theory of operation. At its end, an execution is closed: from then on no function begins, and nothing is written about a
call before it runs. Writes under way are waited for, and running functions too, for a moment. A function still running
then is left behind in its thread. Unless it may run twice, the run keeps its owner until the function ends: as long as
it may yet take effect, no one can say it did not.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalError
from ez_ptc.tools.call_lifetime import CallInterrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ez_ptc.sandbox.protocol.frames import CallFrame

__all__ = ["Ownership"]

# Longer than a write may wait for those of other processes.
_MAX_WRITING_SECONDS: Final = 60.0


class Ownership:
    """The ownership of a run by one execution. Any thread may use it; no file is touched under its lock."""

    def __init__(self, run_id: str, require: Callable[[], None]) -> None:
        """Own a run; `require` raises JournalError if this process has lost its lock."""
        self._run_id = run_id
        self._require = require
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._is_closed = False
        self._writers = 0
        # The calls without an intent that wait for the threads their tools name.
        self._queued: dict[str, CallFrame] = {}
        # The calls that have begun and have no reply, and those whose functions run, though perhaps for no one.
        self._begun: set[str] = set()
        self._functions: set[str] = set()
        self._disown: Callable[[], None] | None = None

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
            disown = None
            if not self._functions:
                disown, self._disown = self._disown, None
        if disown is not None:
            disown()

    def close(self, seconds: float) -> None:
        """Let no further call begin, and wait until none is under way, `seconds` at most."""
        with self._lock:
            self._is_closed = True
            self._changed.wait_for(lambda: not self._writers, _MAX_WRITING_SECONDS)
            self._changed.wait_for(lambda: not self._begun, seconds)

    def release(self, disown: Callable[[], None], *, has_ended: bool) -> None:
        """Stop owning the run with `disown`: now or, unless the run has ended, once no function of it runs."""
        with self._lock:
            if self._functions and not has_ended:
                self._disown = disown
                return
        disown()

    def require_lock(self) -> None:
        """Raise CallInterrupted if this process has lost the run, which others may go on with."""
        try:
            self._require()
        except JournalError as error:
            raise CallInterrupted(error) from error

    def _require_open(self, call: CallFrame) -> None:
        if self._is_closed:
            message = f"{call.name} was not run: this execution of run {self._run_id} has ended"
            raise CallInterrupted(JournalError(message))
