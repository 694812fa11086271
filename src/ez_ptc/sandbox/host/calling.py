"""The calls of a running program, as their tools see them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from ez_ptc.schema.annotations.progress import REPORT
from ez_ptc.tools.call_lifetime import CallInterrupted, CallLife
from ez_ptc.tools.decisions import Approve, Deny
from ez_ptc.tools.threads.progress import ProgressReporter

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from ez_ptc.sandbox.protocol.exchange import Exchange
    from ez_ptc.sandbox.protocol.frames import CallFrame
    from ez_ptc.sandbox.protocol.interfaces import Recorder
    from ez_ptc.sandbox.protocol.replies import EncodedResult
    from ez_ptc.schema.annotations.progress import ProgressReport
    from ez_ptc.tools.approval_requests import ApprovalRequest
    from ez_ptc.tools.decisions import Decision

__all__ = ["ProgramCall", "RecordedCall", "program_call"]


class ProgramCall(CallLife):
    """One call of a program: wanted while the program runs. During an approval, the program's clock stands still."""

    __slots__ = ("_call", "_exchange", "_pausing")

    def __init__(
        self, exchange: Exchange, call: CallFrame, pausing: Callable[[], AbstractContextManager[None]]
    ) -> None:
        super().__init__()
        self._exchange = exchange
        self._call = call
        self._pausing = pausing

    @property
    def id(self) -> str:
        """The id of the call: the same in the program's events, if someone reads them."""
        observer = self._exchange.observer
        if observer is not None:
            return observer.call_id(self._call)
        return self._exchange.made.key(self._call.number)

    @property
    def idempotency_key(self) -> str:
        """The key of this call: of an earlier one with an unknown outcome, if it repeats that."""
        return self.repeated_key or self._exchange.made.key(self._call.number)

    @property
    def path(self) -> str:
        """The call's position in the program."""
        return self._call.path

    @property
    def earlier_reply(self) -> EncodedResult | None:
        """The reply to an earlier call that answers this one, or None."""
        return cast("EncodedResult | None", self.reply)

    @property
    def is_wanted(self) -> bool:
        """Whether the program still waits for the result."""
        return self._exchange.wants_calls and not self.is_given_up

    @property
    def approval_seconds(self) -> float:
        """Seconds the approver has to answer."""
        return self._exchange.limits.approval_timeout

    def pausing(self) -> AbstractContextManager[None]:
        """Return a context in which the program's clock stands still."""
        return self._pausing()

    def reporting(self) -> ProgressReporter | None:
        """Return the reporter of the call's progress, if someone reads the program's events."""
        observer = self._exchange.observer
        if observer is None:
            return None
        return ProgressReporter(partial(observer.report_progress, self._call), lambda: self.is_wanted)

    def notify(self, request: ApprovalRequest) -> None:
        """Report that the call needs approval."""
        if self._exchange.observer is not None:
            self._exchange.observer.report_approval(self._call, request.original)

    def recall(self, request: ApprovalRequest) -> Decision | None:
        """Return an approval if the tool's calls were approved for the rest of the program."""
        return Approve() if request.call.tool in self._exchange.remembered else None

    def keep(self, request: ApprovalRequest, decision: Decision) -> Decision:
        """Remember the decision: for the rest of the program, if it says so, and a refusal for its correction."""
        if isinstance(decision, Deny):
            self._exchange.made.denied.add(self._call.number)
        if isinstance(decision, Approve) and decision.remember == "run":
            self._exchange.remembered.add(request.call.tool)
        return decision

    def enqueue(self) -> None:
        """Let the call wait for its thread."""
        self._exchange.made.queued.add(self._call.number)

    def dequeue(self) -> None:
        """End the wait for the thread."""
        self._exchange.made.queued.discard(self._call.number)

    def enter_function(self) -> None:
        """Take note of the function's beginning, for a correction of the program."""
        if self.repeated_key is not None:
            self._exchange.made.repeated_keys[self._call.number] = self.repeated_key
        self._exchange.made.begun.add(self._call.number)

    def abandon(self) -> None:
        """Record that the function is left running, and its result will be lost."""
        self._exchange.made.abandoned.add(self._call.number)
        super().abandon()


class RecordedCall(ProgramCall):
    """One call of a program whose calls are recorded: it can wait for a decision that comes later."""

    __slots__ = ("_recorder",)

    can_wait = True
    is_recorded = True

    def __init__(
        self,
        exchange: Exchange,
        call: CallFrame,
        pausing: Callable[[], AbstractContextManager[None]],
        recorder: Recorder,
    ) -> None:
        super().__init__(exchange, call, pausing)
        self._recorder = recorder
        self.repeated_key = recorder.repeated_key(call)

    @property
    def id(self) -> str:
        """The id under which the call waits, in every execution of the program."""
        return self._recorder.call_id(self._call)

    @property
    def idempotency_key(self) -> str:
        """The key of this call, the same in every execution of the program; see `ProgramCall`."""
        return self.repeated_key or self._recorder.idempotency_key(self._call)

    @property
    def verdict(self) -> bool | None:
        """Whether the call needs approval, as recorded."""
        return self._recorder.verdict(self._call)

    def clear(self) -> None:
        """Take note: the call needs no approval."""
        self._recorder.clear(self._call)

    def mark(self, request: ApprovalRequest) -> None:
        """Record the call as waiting for a decision."""
        self._recorder.mark(self._call, request)

    def recall(self, request: ApprovalRequest) -> Decision | None:
        """Return the decision that was made about the call earlier, or None."""
        return self._recorder.recall(self._call, request)

    def keep(self, request: ApprovalRequest, decision: Decision) -> Decision:
        """Record a decision, and return the one that counts."""
        return self._recorder.keep(self._call, request, decision)

    def begin(self, read_arguments: Callable[[], dict[str, object]]) -> None:
        """Record that the function is about to run. Raises CallInterrupted if the caller has left."""
        if self._exchange.has_left:
            raise CallInterrupted
        self._recorder.begin(self._call, read_arguments, self.repeated_key)

    def require_wanted(self, tool: str) -> None:
        """Raise ToolError if the program has ended, and CallInterrupted if the caller has left it."""
        if self._exchange.has_left:
            # The run can be resumed, and that the call was not run this time must not become its reply.
            self._recorder.abandon(self._call)
            raise CallInterrupted
        super().require_wanted(tool)

    def enqueue(self) -> None:
        """Let the call wait for its thread. Raises CallInterrupted if the execution has ended."""
        self._recorder.enqueue(self._call)
        super().enqueue()

    def dequeue(self) -> None:
        """End the wait for the thread. Raises CallInterrupted if the execution has ended."""
        self._recorder.dequeue(self._call)
        super().dequeue()

    def enter_function(self) -> None:
        """Take note of the function's beginning. Raises CallInterrupted if the execution has ended."""
        self._recorder.enter_function(self._call)

    def leave_function(self) -> None:
        """Take note of the function's end."""
        self._recorder.leave_function(self._call)

    def reporting(self) -> ProgressReporter:
        """Return the reporter of the call's progress: to the record, and to those it has without a record."""
        observer, outer = self._exchange.observer, REPORT.get()

        def pass_on(progress: ProgressReport) -> None:
            self._recorder.report_progress(self._call, progress)
            if observer is not None:
                observer.report_progress(self._call, progress)
            elif outer is not None:
                outer(*progress)

        return ProgressReporter(pass_on, lambda: self.is_wanted)

    def abandon(self) -> None:
        """Record that the function is left behind; the program may have to wait for a word about it."""
        self.give_up()
        self._recorder.abandon(self._call)


def program_call(
    exchange: Exchange, call: CallFrame, recorder: Recorder | None, pausing: Callable[[], AbstractContextManager[None]]
) -> ProgramCall:
    """Return the caller's side of a program's call."""
    if recorder is None:
        return ProgramCall(exchange, call, pausing)
    return RecordedCall(exchange, call, pausing, recorder)
