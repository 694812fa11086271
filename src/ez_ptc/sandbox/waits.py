"""The calls of one program that have no reply yet, and what they wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ez_ptc.sandbox.frames import CallFrame

__all__ = ["UnansweredCalls"]


class UnansweredCalls:
    """The calls without a reply. Several threads add to and discard from the sets."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        """Those without a reply."""
        self._waiting: set[int] = set()
        self._calls: list[CallFrame] = []

    def add(self, call: CallFrame, *, is_recorded: bool) -> None:
        """Add a call; one of a recorded program may have to be answered after a pause."""
        self.numbers.add(call.number)
        if is_recorded:
            self._calls.append(call)

    def remove(self, call: CallFrame) -> None:
        """Remove a call that has its reply."""
        self.numbers.discard(call.number)
        if self._waiting:
            self._waiting.discard(call.number)

    def wait(self, call: CallFrame) -> None:
        """Record that a call waits: for a decision, or its recorded reply for its turn."""
        self._waiting.add(call.number)

    @property
    def has_waiting(self) -> bool:
        """Whether a call waits."""
        return bool(self._waiting)

    @property
    def all_wait(self) -> bool:
        """Whether every call waits, so that the program may be unable to go on."""
        return bool(self._waiting) and self.numbers <= self._waiting

    @property
    def is_alone(self) -> bool:
        """Whether one call waits, beside which nothing of the program runs."""
        return bool(self._calls) and self._calls[-1].alone and self.numbers == {self._calls[-1].number}

    def resume(self) -> tuple[list[CallFrame], list[CallFrame]]:
        """Let no call wait any longer; return the calls with replies, and those without."""
        self._waiting.clear()
        open_calls = [call for call in self._calls if call.number in self.numbers]
        return [call for call in self._calls if call.number not in self.numbers], open_calls
