"""The bound on what the journal records of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ez_ptc.errors import ToolError
from ez_ptc.journal.chain import event_size
from ez_ptc.sandbox.protocol.execution import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.journal.chain import Event
    from ez_ptc.journal.record import CallState, Record

__all__ = ["RecordedBytes"]


class RecordedBytes:
    """The bytes that the journal has of one run, and may have."""

    def __init__(self, record: Record) -> None:
        self._used = record.size
        self._max: int = record.start.data["limits"].get("recorded", Limits().recorded)

    def add(self, events: Iterable[Event]) -> None:
        """Count events that were written."""
        self._used += sum(map(event_size, events))

    def require(self, state: CallState, size: int) -> None:
        """Raise ToolError if a call of this size would exceed the bound; it is refused then."""
        if self._used + size > self._max:
            state.is_refused = True
            message = (
                f"{state.tool} was not called: the journal records at most {self._max:,} bytes of one run "
                f"(Limits.recorded), and its arguments would exceed them; pass less data"
            )
            raise ToolError(message)
