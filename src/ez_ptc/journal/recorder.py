"""Recording the calls of one execution, and answering those that an earlier one has made.

Theory of operation
-------------------
A program that is run again from its journal makes the same calls, at the same paths: its clocks, random numbers and
hash seeds are those of the first time. `arrive` is told of each call and decides:

- A call with a recorded reply is not run: the program gets the same bytes. When it gets them, compared with other
  replies and with its timers, is the program's `schedule`. The worker follows it, and adds to it: what it has added is
  written with the next event, since no recorded call depends on it before.
- A call that differs from the recorded one at its path ends the execution with ReplayDivergedError.
- Any other call runs, once every recorded call has arrived. Before its function does, `begin` writes an intent; after
  it, `end` writes the reply, which is on disk before the program gets it. Tools declared read-only need no intent,
  because running them again is harmless.

A call with an intent but no reply has an unknown outcome, unless its tool is idempotent: the process died in between,
or the function was left behind in its thread. It is never run again without a person's word.

Several threads call these methods. `_lock` guards the state in memory, and no file is touched under it.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ez_ptc.errors import JournalError, ReplayDivergedError
from ez_ptc.journal.arguments.sealing import RecordedBytes
from ez_ptc.journal.chain import Event, event_size
from ez_ptc.journal.ownership import Ownership, own_row
from ez_ptc.journal.record import CallState, decision_data, decision_of, find_changed_secrets, is_ruling, pending_id
from ez_ptc.journal.recorded.output_digest import OutputDigest
from ez_ptc.journal.recorded.payloads import read_reply
from ez_ptc.journal.recorded.progress import ProgressWriter
from ez_ptc.journal.results import call_bytes, reply_event
from ez_ptc.journal.rows import append, read_events
from ez_ptc.messages import ToolResult
from ez_ptc.sandbox.protocol.execution import Limits
from ez_ptc.sandbox.protocol.replies import NOT_BEGUN, EncodedResult, encode_call_result
from ez_ptc.tools.call_lifetime import CallInterrupted
from ez_ptc.tools.decisions import Approve, Deny, Pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ez_ptc.journal.arguments.sealing import CallRules
    from ez_ptc.journal.record import RunRecord
    from ez_ptc.journal.rows import RunRow
    from ez_ptc.journal.stores.protocol import RunRows, RunStore
    from ez_ptc.sandbox.protocol.frames import CallFrame, OutputFrame
    from ez_ptc.schema.annotations.progress import ProgressReport
    from ez_ptc.tools.approval_requests import ApprovalRequest
    from ez_ptc.tools.decisions import Decision

__all__ = ["RunRecorder"]


class RunRecorder:
    """The recorder of one execution of a run, by its owner."""

    def __init__(
        self,
        store: RunStore,
        row: RunRow,
        record: RunRecord,
        rules: CallRules,
        *,
        is_replay: bool = False,
        upgrade: Mapping[str, str] | None = None,
    ) -> None:
        """Record the calls of a run; with `is_replay`, refuse any without a record.

        `upgrade` are the present versions of the library and the interpreter, if they are not those of the record: then
        the output before each recorded call must be the same, too.
        """
        self.is_replay, self._upgrade = is_replay, upgrade
        self._store, self._row = store, row
        self.run_id, self.run_key = row.id, (store.name, row.number, row.created)
        # The hash of the last event, as long as only this execution adds any.
        self._head = row.head
        self._record = record
        self.source_rules = record.source_rules
        self.called = {state.tool for state in record.calls.values()}
        self._policies, self._seal = rules
        self._lock = threading.Lock()
        self._ownership = Ownership(row.id, partial(store.locks.require, row.number))
        self._progress = ProgressWriter(self._write_progress)
        self._schedule, self._scheduled = [*record.schedule], len(record.schedule)  # how many of them are written
        self._output = OutputDigest()  # of the whole program, also before it paused
        self._bytes = RecordedBytes(record)
        self._missing = dict.fromkeys(record.calls)  # the calls not made again yet, in the order of the record

    @property
    def execution(self) -> int:
        """Which execution of the run this is, from 1."""
        return self._row.epoch

    def adopt(self, paths: Iterable[str]) -> None:
        """Take note of calls that were made before the program paused, and have their replies."""
        with self._lock:
            for path in paths:
                self._missing.pop(path, None)
                if path in self._record.calls:
                    self._record.calls[path].release()

    @property
    def clock_ns(self) -> int | None:
        """The time at which the program's clock starts, in nanoseconds since 1970; None for the fixed one."""
        return self._record.start.data["clock_ns"]

    # Replaying --------------------------------------------------------------------------------------------------------

    def schedule(self, max_bytes: int) -> tuple[list[tuple[str, str | None]], list[tuple[str, int]] | None]:
        """Return the recorded calls, in the order of their replies, and the events of the schedule, if it has any.

        A call has the kind and payload of its reply, up to `max_bytes` in all, then "", or None without a reply.
        """
        with self._lock:  # the program may have begun before, in a worker that was lost before any call
            del self._schedule[self._scheduled :]
            self._output = OutputDigest()
        is_scheduled = self._record.start.data.get("scheduled")
        return self._record.replies(max_bytes), self._schedule if is_scheduled else None

    def arrive(self, call: CallFrame) -> EncodedResult | None:
        """Take note of a call, and return the recorded reply to it, if there is one.

        Raises ReplayDivergedError if it is not the recorded call, ProtocolError for too many events with it.
        """
        self.report_events(call.events)
        with self._lock:
            state = self._record.calls.get(call.path)
            if state is None:
                if self.is_replay:
                    message = f"the program differs from its record, which has no call at {call.path}"
                    raise ReplayDivergedError(message)
                self._record.calls[call.path] = CallState(call.name, call.path, output=self._output.text)
                return None
            self._missing.pop(call.path, None)
            if call.name != state.tool or (state.call is not None and state.call != call_bytes(self._seal.apply(call))):
                message = (
                    f"the program differs from its record: at {call.path} it called {call.name} where it had called "
                    f"{state.tool}, or with other arguments; nothing was run"
                )
                raise ReplayDivergedError(message)
            if self._upgrade and state.output and state.output != self._output.text:
                message = (
                    f"the program differs from its record: its output before its call at {call.path} ({call.name}) is "
                    f"another with {self._upgrade['interpreter']}; nothing was run"
                )
                raise ReplayDivergedError(message)
            reply = state.reply
            state.release()
        if reply is None:
            return None
        return EncodedResult(*reply[:2], read_reply(*reply[:2], self._row.id), reply.error, reply.duration_ms)

    def report_output(self, frame: OutputFrame) -> None:
        """Take note of output, before the call that follows it arrives."""
        self._output.add(frame)

    def report_events(self, events: Sequence[tuple[str, int]]) -> None:
        """Take note of events of the schedule, recorded with what comes next. Raises ProtocolError for too many."""
        self._bytes.add_steps(events)
        with self._lock:
            self._schedule += events

    @property
    def is_complete(self) -> bool:
        """Whether the program has made every recorded call again."""
        return not self._missing

    def divergence(self, reason: str = "it waits for something else") -> ReplayDivergedError:
        """Return the error of a program that never makes its next recorded call again, for a reason."""
        path = next(iter(self._missing))
        return ReplayDivergedError(
            f"the program differs from its record: it has not made its call at {path} "
            f"({self._record.calls[path].tool}) again, but {reason}; nothing was run"
        )

    def check_complete(self, ending: str) -> None:
        """Raise ReplayDivergedError if the program, which ended as `ending` says, has not made every recorded call."""
        if self._missing:
            reason = f"ended ({ending})"
            raise self.divergence(reason)

    def call_id(self, call: CallFrame) -> str:
        """Return the id under which a call waits, the same in every execution of the run."""
        return pending_id(self._row.id, call.path)

    def idempotency_key(self, call: CallFrame) -> str:
        """Return the key of a call, the same in every execution of the run."""
        return self._record.key_of(call.path)

    def repeated_key(self, call: CallFrame) -> str | None:
        """Return the key of the earlier call that a call began to repeat, or None."""
        return self._record.calls[call.path].repeated_key

    def verdict(self, call: CallFrame) -> bool | None:
        """Return whether a call needs approval, as recorded; None if its tool's rule has to be asked."""
        return self._record.calls[call.path].verdict

    def clear(self, call: CallFrame) -> None:
        """Take note that a call needs no approval; its intent says so."""
        self._record.calls[call.path].cleared = "not_needed"

    def mark(self, call: CallFrame, request: ApprovalRequest) -> None:
        """Record a call as waiting for a decision, once.

        Raises ToolError if the run would record more than it may, and CallInterrupted if it cannot be recorded, or if
        the execution has ended.
        """
        state = self._record.calls[call.path]
        if state.is_pending:
            return
        data, payload = self._seal.record(call, request.original)
        data |= {"tool": call.name, "schema": request.schema}
        if state.output:
            data["output"] = state.output
        event = Event("pending", call.path, data, payload)
        # With room for the intent: an approved call should run.
        self._bytes.require(state, 2 * event_size(event))

        def write(rows: RunRows) -> None:
            if not state.is_pending:  # another thread may have marked the call meanwhile
                self._append(rows, own_row(rows, self._row), [event])
                self._record.add(event)

        with self._ownership.writing(call):
            self._write(write)

    def recall(self, call: CallFrame, request: ApprovalRequest) -> Decision | None:
        """Return the decision made about a call, or None.

        An approval of the tool for the rest of the run covers its further calls. A waiting call has been shown to
        someone, so it needs an answer of its own.
        """
        state = self._record.calls[call.path]
        decision = state.decision
        if decision is None and not state.is_pending and request.call.tool in self._record.remembered:
            state.cleared = "remembered"
            return Approve()
        if isinstance(decision, Approve) and decision.arguments is None:
            # What was shown is what runs, even if a default is computed again.
            masked = {name: request.original[name] for name in request.secrets if name in state.arguments}
            return replace(decision, arguments={**state.arguments, **masked})
        return decision

    def keep(self, call: CallFrame, request: ApprovalRequest, decision: Decision) -> Decision:
        """Record a decision about a waiting call; return the first one.

        Raises CallInterrupted if it cannot be recorded, or if the execution has ended.
        """
        state = self._record.calls[call.path]
        if state.decision is not None or state.cleared is not None or state.is_refused:
            return decision
        for name in find_changed_secrets(request.secrets, request.original, decision):
            decision = Deny(f"its approver has changed {name}, a secret argument, which would be recorded")
        self.mark(call, request)
        with self._ownership.writing(call):
            return self._write(lambda rows: self._decide(rows, call, decision), self._store.transact)

    def _decide(self, rows: RunRows, call: CallFrame, decision: Decision) -> Decision:
        """Write a decision, unless another was recorded meanwhile; return the one that counts."""
        row = own_row(rows, self._row)
        if row.head != self._head:
            for event in read_events(rows, row):
                if event.path == call.path and is_ruling(event):
                    self._record.add(event)
                    return decision_of(event.data)
        if not isinstance(decision, Pause):
            event = Event("decision", call.path, {"tool": call.name, **decision_data(decision)})
            self._append(rows, row, [event])
            self._record.add(event)
        return decision

    def begin(self, call: CallFrame, read_arguments: Callable[[], dict[str, object]], repeated_key: str | None) -> None:
        """Record that a call's function is about to run, perhaps with the key of an earlier call.

        Raises ToolError if the run would record more than it may, and CallInterrupted if it cannot be recorded, or if
        the execution has ended.
        """
        policy = self._policies[call.name]
        state = self._record.calls[call.path]
        state.arguments, state.repeated_key = read_arguments(), repeated_key
        intent = None if state.is_open else self._intent(call, state, is_repeatable=policy == "idempotent")
        if intent is not None:
            self._bytes.require(state, event_size(intent))
        with self._ownership.writing(call):
            self._ownership.begin(call)
            try:
                if policy != "reader" and intent is not None:
                    self._write_events(intent)
            except BaseException:
                self._ownership.end(call)
                raise

    def enqueue(self, call: CallFrame) -> None:
        """Let a call wait for its thread. Raises CallInterrupted if the execution has ended."""
        self._ownership.enqueue(call)

    def dequeue(self, call: CallFrame) -> None:
        """End the wait of a call for its thread. Raises CallInterrupted if the execution has ended."""
        self._ownership.dequeue(call)

    def refuse_queued(self) -> Iterator[Event]:
        """Yield events about the calls in wait for a thread, which did not run; the last event comes next."""
        for call in self._ownership.clear_queue():
            refused = ToolResult(success=False, error=f"{call.name} {NOT_BEGUN}")
            intent = self._intent(call, self._record.calls[call.path], is_repeatable=True)
            yield from (intent, reply_event(call, encode_call_result(call.name, refused, Limits().frame)))

    def enter_function(self, call: CallFrame) -> None:
        """Take note that a call's function begins. Raises CallInterrupted if the execution has ended."""
        self._ownership.enter_function(call, is_repeatable=self._policies[call.name] != "once")

    def leave_function(self, call: CallFrame) -> None:
        """Take note that a call's function has ended, perhaps long after its execution."""
        self._ownership.leave_function(call)

    def report_progress(self, call: CallFrame, progress: ProgressReport) -> None:
        """Take note of how far a call is."""
        self._progress.report(call, progress)

    def end(self, call: CallFrame, encoded: EncodedResult) -> None:
        """Record a call's reply. Raises CallInterrupted if it cannot be recorded."""
        self._progress.forget(call)
        state = self._record.calls[call.path]
        events = [reply_event(call, encoded)]
        if not state.is_open:
            events.insert(0, self._intent(call, state, is_repeatable=True))
        try:
            self._write_events(*events)
        finally:
            self._ownership.end(call)
        self._ownership.require_lock()

    def abandon(self, call: CallFrame) -> None:
        """Record that a call's function is left behind. Raises CallInterrupted if that makes its outcome unknown."""
        self._ownership.end(call)
        if self._record.calls[call.path].is_unknown:
            raise CallInterrupted

    def close(self, seconds: float) -> None:
        """Let no further call begin, and wait until none is under way, `seconds` at most."""
        self._progress.close()
        self._ownership.close(seconds)

    def release(self, disown: Callable[[], None], *, has_ended: bool) -> None:
        """Stop owning the run with `disown`: now or, unless the run has ended, once no function of it runs."""
        self._ownership.release(disown, has_ended=has_ended)

    def _intent(self, call: CallFrame, state: CallState, *, is_repeatable: bool) -> Event:
        data, payload = self._seal.record(call, {} if state.is_refused else state.arguments)
        data |= {"tool": call.name, "repeatable": is_repeatable, "cleared": state.cleared}
        if state.output:
            data["output"] = state.output
        if self._upgrade and self._record.versions != self._upgrade:
            data["versions"] = dict(self._upgrade)
        if state.repeated_key is not None:
            data["repeated_key"] = state.repeated_key
        return Event("intent", call.path, data, None if state.is_refused else payload)

    def _write_events(self, *events: Event) -> None:
        self._write(lambda rows: self._append(rows, own_row(rows, self._row), events))
        with self._lock:
            for event in events:
                self._record.add(event)
                self._record.calls[event.path].release()

    def _write_progress(self, event: Event) -> None:
        self._store.append(lambda rows: self._append(rows, own_row(rows, self._row), [event]))

    def _write(self, job: Callable[[RunRows], Any], submit: Callable[..., Any] | None = None) -> Any:  # noqa: ANN401 - what the job returns
        try:
            return (submit or self._store.append)(job)
        except JournalError as error:
            raise CallInterrupted(error) from error

    def _append(self, rows: RunRows, row: RunRow, events: Iterable[Event]) -> None:
        is_known = row.head == self._head
        first, *others = events = [*events]
        self._bytes.add(events)
        if first.kind != "progress":  # which no one needs for a replay
            events = [self.with_schedule(first), *others]
        written = append(rows, row, events, "record")
        if is_known:  # else others have recorded decisions, which are looked for when they matter
            self._head = written.head

    def with_schedule(self, event: Event) -> Event:
        """Return an event, to be written now, with what was added to the schedule.

        Jobs of one store run one after another. If their transaction fails, so does this execution.
        """
        with self._lock:
            added = self._schedule[self._scheduled :]
            self._scheduled += len(added)
        return event._replace(data={**event.data, "schedule": added}) if added else event
