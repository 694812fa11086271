"""The calls of one program: their records, and those without a reply, in wait for a decision or a recorded reply.

Theory of operation. A program that runs again gets the first recorded replies with its run frame, and reports its calls
without waiting for them. What it was told early it was told before, when it ran the first time. Every call is compared
with the record in the order of arrival. A call without a recorded reply is held until every recorded call has arrived
again, so a program that differs from its record is ended before any further call of it runs, whatever it made of the
replies. The other recorded replies are sent when their calls arrive. The worker decides when the program gets a reply:
see `ez_ptc.sandbox.worker.schedule`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.frames import CallFrame, DoneFrame, OutputFrame
from ez_ptc.sandbox.protocol.pictures import PictureFrame
from ez_ptc.sandbox.protocol.records.call_record import CallRecord, make_record
from ez_ptc.sandbox.protocol.replies import NOT_BEGUN, MadeCalls
from ez_ptc.schema.arguments.replacement import detach
from ez_ptc.schema.bound_call import Repair

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from ez_ptc.errors import ReplayDivergedError
    from ez_ptc.sandbox.protocol.frames import Frame
    from ez_ptc.sandbox.protocol.interfaces import Observer, Recorder
    from ez_ptc.sandbox.protocol.records.grants import Grants
    from ez_ptc.sandbox.protocol.replies import EncodedResult

__all__ = ["CallRecords", "RecordedReplies", "UnansweredCalls"]

_MAX_NOTES: Final = 10
# They take memory of the worker, which counts as the program's.
_MAX_AHEAD_BYTES: Final = 1 << 22


class CallRecords:
    """The records of a program's calls, by number; each has one writer.

    The calls with names in `hidden` read kept results: they are in no listing and no event. Secret arguments are masked
    in records and events, as in journals.
    """

    def __init__(
        self, grants: Grants, observer: Observer | None, hidden: Container[str] = (), *, is_recorded: bool = False
    ) -> None:
        self._grants: Final = grants
        self.observer = observer
        self._hidden = hidden
        self._records: dict[int, dict[str, Any]] = {}
        self._notes: dict[tuple[str, str], str] = {}
        self.made: Final = MadeCalls(is_recorded=is_recorded)

    def __len__(self) -> int:
        return len(self._records)

    def begin(self, call: CallFrame) -> None:
        """Record a call that has no result yet."""
        shown = self._grants.mask_secrets(call)
        self._records[call.number] = {
            "name": call.name,
            # Copies, because the function may change its arguments.
            "args": detach(shown.args),
            "kwargs": detach(shown.kwargs),
            "result": None,
            "error": "the call was still running when the program ended",
            "duration_ms": 0.0,
            "path": call.path,
        }
        self.made.add(call)
        if self.observer is not None and call.name not in self._hidden:
            self.observer.report_call(shown)

    def settle(self, call: CallFrame, encoded: EncodedResult) -> None:
        """Record the result of a call."""
        self.made.settle(call, encoded)
        self.end(call, encoded.outcome())

    def end(self, call: CallFrame, outcome: Mapping[str, object]) -> None:
        """Record the outcome of a call: fields of its record."""
        self.made.queued.discard(call.number)
        record = self._records[call.number]
        record.update(outcome)
        if self.observer is not None and call.name not in self._hidden:
            self.observer.report_end(call, record)

    def note(self, call: CallFrame, repairs: Sequence[str]) -> None:
        """Note the first repair of each kind that changed a call of a tool."""
        for repair in repairs:
            if isinstance(repair, Repair) and len(self._notes) < _MAX_NOTES:
                self._notes.setdefault((call.name, repair.kind), f"[{call.name}: {repair}.]")

    def notes(self) -> list[str]:
        """Return the notes about repaired calls, for a model."""
        return [*self._notes.values()]

    def wait(self, call: CallFrame) -> None:
        """Record that a call waits for a decision."""
        self._records[call.number]["error"] = "the call waits for a decision"

    def find(self, call: CallFrame) -> dict[str, Any] | None:
        """Return the record of a call, or None if it is in no listing."""
        return None if call.name in self._hidden else make_record(self._records[call.number])

    def listing(self) -> list[CallRecord]:
        """Return the records, in the order of arrival."""
        for number in self._records.keys() & self.made.queued:
            self._records[number]["error"] = f"{self._records[number]['name']} {NOT_BEGUN}"
        return [make_record(record) for record in self._records.values() if record["name"] not in self._hidden]


class UnansweredCalls:
    """The calls without a reply. Several threads add to and discard from the sets."""

    def __init__(self) -> None:
        self.numbers: set[int] = set()
        """Those without a reply."""
        self._waiting: set[int] = set()
        # Of a recorded program; answered calls are known by their paths, since their arguments may be large.
        self._calls: dict[int, CallFrame] = {}
        self._answered: list[str] = []
        self._last: CallFrame | None = None

    def add(self, call: CallFrame, *, is_recorded: bool) -> None:
        """Add a call; one of a recorded program may have to be answered after a pause."""
        self.numbers.add(call.number)
        if is_recorded:
            self._calls[call.number] = self._last = call

    def remove(self, call: CallFrame) -> None:
        """Remove a call that has its reply."""
        self.numbers.discard(call.number)
        if self._calls.pop(call.number, None) is not None:
            self._answered.append(call.path)
        if self._waiting:
            self._waiting.discard(call.number)

    def wait(self, call: CallFrame) -> None:
        """Record that a call waits: for a decision, or for the recorded calls."""
        self._waiting.add(call.number)

    def go_on(self, call: CallFrame) -> None:
        """Record that a call waits no longer."""
        self._waiting.discard(call.number)

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
        return self._last is not None and self._last.alone and self.numbers == {self._last.number}

    def resume(self) -> tuple[list[str], list[CallFrame]]:
        """Let no call wait any longer; return the paths of the calls with replies, and the calls without.

        Their events were recorded before the pause: a second time, no later execution could follow the schedule.
        """
        self._waiting.clear()
        return list(self._answered), [call._replace(events=()) for call in self._calls.values()]


class RecordedReplies:
    """The recorded replies to the calls of one program; only the reader of its frames uses them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._ahead: set[str] = set()
        self._replies: dict[int, EncodedResult | None] = {}
        self._held: list[CallFrame] = []

    @property
    def rules(self) -> int:
        """The version of the rules by which the program's source is repaired."""
        return self._recorder.source_rules

    @property
    def is_complete(self) -> bool:
        """Whether every recorded call has arrived again, so that further ones may run."""
        return self._recorder.is_complete

    def divergence(self) -> ReplayDivergedError:
        """Return the error of a program that waits, and will never make its next recorded call again."""
        return self._recorder.divergence()

    @property
    def has_ahead(self) -> bool:
        """Whether the worker has replies to calls that it has not made."""
        return bool(self._ahead)

    def opening(self) -> bytes:
        """Return what the worker gets of the record, as JSON for the run frame; b"" if there is nothing."""
        calls, events = self._recorder.schedule(_MAX_AHEAD_BYTES)
        self._ahead = {path for path, reply in calls if reply}
        return host_codec.dumps({"calls": calls, "events": events}) if calls else b""

    def note(self, frame: Frame) -> None:
        """Take note of output, and of events of the program's schedule that come without a call.

        Raises ProtocolError for values that cannot be recorded, before anything is made of them.
        """
        if isinstance(frame, PictureFrame):
            return
        if isinstance(frame, OutputFrame):
            self._recorder.report_output(frame)
        elif isinstance(frame, CallFrame):
            host_codec.call_tree(frame.args, frame.kwargs)
        else:
            if isinstance(frame, DoneFrame):
                host_codec.recorded_tree(frame.value)
            self._recorder.report_events(frame.events)

    def arrive(self, call: CallFrame) -> EncodedResult | None:
        """Take note of a call, and return the reply that its worker has taken by itself, or None.

        Raises ReplayDivergedError if it is not the recorded call.
        """
        reply = self._recorder.arrive(call)
        if call.path in self._ahead:
            self._ahead.discard(call.path)
            return reply
        self._replies[call.number] = reply
        return None

    def take(self, call: CallFrame) -> tuple[bool, EncodedResult | None]:
        """Return whether a call has to run now, and the recorded reply to send; a call that is held has neither.

        One that was made before a pause arrives now. Raises ReplayDivergedError if it is not the recorded call.
        """
        if call.number not in self._replies:
            self.arrive(call)
        reply = self._replies.pop(call.number)
        if reply is None and not self.is_complete:
            self._held.append(call)
            return False, None
        return reply is None and not self._recorder.is_replay, reply

    def release(self) -> list[CallFrame]:
        """Return the calls that were held until every recorded one had arrived; they have to run now."""
        if not self._held or not self.is_complete:
            return []
        held, self._held = self._held, []
        self._replies |= dict.fromkeys([call.number for call in held])
        return held
