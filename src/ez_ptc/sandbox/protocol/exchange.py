"""The host's side of one program's conversation with its worker, without I/O: run → call/reply … → done.

Theory of operation. A driver owns a socket and a clock; `Exchange` makes all decisions:

1. The driver sends `opening()`, the run frame.
2. It passes received bytes to `receive`, which returns the calls to run.
3. It runs each call, unless `refusal` gives a reason not to, or `replay` has a recorded reply. It passes the result to
   `encode` (in any thread, since this runs the tool's code) and `answer`, sends the reply frame, then calls
   `report_call` and `mark_sent`. A call whose recorded reply the worker has already is checked by `receive`, and not
   returned.
4. Once the program `is_over`, or its worker is lost, it reads `result()`.

States. `program_state` has their table, and the one method that changes them: the first ending counts, because an
approved call must not run for a program whose time is up. The caller is there, or has left: then no call begins, and no
record changes. `consider_pause` and `pause_if_all_wait` decide for every driver whether and when a program pauses.

Everything from the worker is hostile. A call must have the next number, a granted tool, and a path of its own; the
numbers of frames, calls, unanswered calls and characters are limited. A violation ends the worker; the calls before it
stay in the record. Several threads answer calls: each call's record has one writer; sets are only added to and cut.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Literal

from ez_ptc._lazy import lazy
from ez_ptc.errors import ProtocolError, ReplayDivergedError
from ez_ptc.messages import ImageMessage
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.both_ends.limits import limit_error
from ez_ptc.sandbox.protocol.both_ends.source_repairs import SOURCE_RULES
from ez_ptc.sandbox.protocol.execution import ExecutionResult, add_ending, error_and_trace
from ez_ptc.sandbox.protocol.frames import CallFrame, FrameReader, OutputFrame, RestFrame, reply
from ez_ptc.sandbox.protocol.opening import SPIN_SECONDS, OfferedFunctions, max_frames, run_frame, timeout_message
from ez_ptc.sandbox.protocol.pictures import PictureFrame, ReceivedPictures
from ez_ptc.sandbox.protocol.records.program_state import ProgramLife, ProgramState
from ez_ptc.sandbox.protocol.replies import encode_call_result
from ez_ptc.sandbox.protocol.unanswered_calls import CallRecords, RecordedReplies, UnansweredCalls

if TYPE_CHECKING:
    from ez_ptc.messages import ToolResult
    from ez_ptc.sandbox.protocol.execution import Limits
    from ez_ptc.sandbox.protocol.frames import Received
    from ez_ptc.sandbox.protocol.interfaces import Channel, Observer
    from ez_ptc.sandbox.protocol.opening import SessionState
from ez_ptc.sandbox.protocol.replies import EncodedResult

__all__ = ["ZYGOTE_GONE", "Exchange"]

ZYGOTE_GONE = "the program's process is gone, and the sandbox's with it: run it again"
_TOO_LATE = "data after the last frame"


class Exchange(ProgramLife):
    """The exchange of frames between one program and the host; the module describes its states."""

    may_spin = False
    """Whether both sides poll for a frame for a moment before they sleep."""
    is_prepared = False
    """Whether the worker was told the limits and the tools in advance."""
    is_checked = False  # by another worker than its own
    _is_watched = False
    _replies_at_rest = -1
    divergence: ReplayDivergedError | None = None
    """Why the program was ended, if it does not make the calls of its record; the caller raises it."""

    def __init__(self, code: str, channel: Channel, limits: Limits, *, session: SessionState | None = None) -> None:
        self.limits = limits
        self.session = session
        self._code = code
        self._channel = channel
        self._replies = None if channel.recorder is None else RecordedReplies(channel.recorder)
        self.offer = OfferedFunctions(code, channel, in_session=session is not None)
        self.started = time.perf_counter()
        self._calls_before = session.calls if session else 0
        self._output: tuple[list[str], list[str]] = ([], [])
        self._output_left = limits.output
        self._pictures: Final = ReceivedPictures(limits.images)
        self._has_denial = False
        self.frames_left = max_frames(limits)
        is_recorded = self._replies is not None
        self._records: Final = CallRecords(
            channel.grants, channel.observer, self.offer.readers, is_recorded=is_recorded
        )
        self.made: Final = self._records.made
        self._paths: set[str] = set()
        self.unanswered: Final = UnansweredCalls()
        self._unsent: set[int] = set()
        self._replies_made = 0
        self.waiting_calls: list[CallFrame] = []
        """The calls that a resumed program starts with; none for any other."""
        self.remembered: set[str] = set()
        """The tools whose further calls are approved."""

    @lazy
    def reader(self) -> FrameReader:
        """The parser of the worker's bytes."""
        return FrameReader(self.limits.frame, self.limits.elements)

    @property
    def observer(self) -> Observer | None:
        """The receiver of the program's events."""
        return self._records.observer

    @property
    def calls_made(self) -> int:
        """The number of calls of the program, with those to read kept results."""
        return len(self._records)

    @property
    def spin_seconds(self) -> float:
        """How long both sides poll for a frame before they sleep, in seconds."""
        return SPIN_SECONDS if self.may_spin else 0.0

    def opening(self) -> bytes:
        """Return the run frame, without limits and tools that the worker knows already."""
        session = self.session
        knows_limits = self.is_prepared or (session is not None and session.limits is self.limits)
        more = b',"checked":true' if self.is_checked else b""
        if self._replies is not None and (recorded := self._replies.opening()):
            more += b',"recorded":%b' % recorded
        if self._replies is not None and self._replies.rules != SOURCE_RULES:
            more += b',"rules":%d' % self._replies.rules
        more += self.offer.fields()
        channel, spin = None if knows_limits else self._channel, self.spin_seconds
        return run_frame(self._code, channel, self.limits, spin_seconds=spin, in_session=bool(session), more=more)

    def receive(self, data: bytes) -> list[CallFrame]:
        """Take bytes from the worker and return the calls to run; none after a violation of the protocol.

        Nothing after the done frame is read. Frames before a violation still count.
        """
        return self.receive_frames(self.reader.read(data))

    def receive_frames(self, received: Received) -> list[CallFrame]:
        """Same as `receive`, for frames that `reader` has read."""
        try:
            return self._admit_all(received)
        except ProtocolError as error:
            self.end(f"the program broke the sandbox's protocol and was ended: {error}")
        except ReplayDivergedError as error:
            self.divergence = error
            self.end(str(error))
        return []

    def _admit_all(self, received: Received) -> list[CallFrame]:
        if self.is_finished:
            self.end(_TOO_LATE)
            return []
        calls: list[CallFrame] = []
        for frame in received.frames:
            self.frames_left -= 1
            if self.frames_left < 0:
                message = "more frames than its limits allow"
                raise ProtocolError(message)
            if self._replies is not None:
                self._replies.note(frame)
            if isinstance(frame, CallFrame):
                calls += self._admit_call(frame)
            elif isinstance(frame, OutputFrame | PictureFrame):
                self._admit_output(frame)
            elif isinstance(frame, RestFrame):
                self._admit_rest(frame)
            else:
                self.change("finish", done=frame)
                if self.reader.unread_bytes:
                    self.end(_TOO_LATE)
        if received.violation is not None:
            raise received.violation
        return calls

    def _admit_output(self, frame: OutputFrame | PictureFrame) -> None:
        if isinstance(frame, PictureFrame):
            self._pictures.add(frame)
            return
        self._output_left -= len(frame.text) if frame.text.isascii() else len(frame.text.encode())
        if self._output_left < 0:
            message = "more output than its limits allow"
            raise ProtocolError(message)
        self._output[frame.stream - 1].append(frame.text)
        if self.observer is not None:
            self.observer.report_output(frame)

    def _admit_call(self, call: CallFrame) -> list[CallFrame]:
        """Take note of a call; return the calls that have to run now, which may have waited for it."""
        problem = None
        if call.number != self._calls_before + len(self._records) + 1:
            problem = "a call out of order"
        elif call.name not in self._channel.grants.by_name and call.name not in self.offer.readers:
            problem = "a call to a tool that was not granted"
        elif call.path in self._paths:
            problem = "two calls with the same path"
        elif len(self.unanswered.numbers) >= self.limits.outstanding:
            problem = limit_error("outstanding")
        if problem:
            raise ProtocolError(problem)
        self._paths.add(call.path)
        self.unanswered.add(call, is_recorded=self._channel.recorder is not None)
        self._unsent.add(call.number)
        self._records.begin(call)
        if self._replies is None:
            return [call]
        calls: list[CallFrame] = []
        taken = self._replies.arrive(call)
        if taken is None:
            calls.append(call)
        else:  # the worker has its reply already
            self._settle(call, taken)
            self._unsent.discard(call.number)
        for held in self._replies.release():
            self.unanswered.go_on(held)
            calls.append(held)
        return calls

    def refusal(self, call: CallFrame) -> str | None:
        """Return the reason why `call` must not run, or None."""
        if self.is_late:
            return timeout_message(self.limits)
        if call.number > self._calls_before + self.limits.calls:
            return limit_error("calls", limit=self.limits.calls)
        return None

    def _admit_rest(self, frame: RestFrame) -> None:
        """Take note of a program that waits, and pause it if all its calls wait as well."""
        # Otherwise a reply is under way to it.
        if frame.replies == self._replies_made:
            self._replies_at_rest = frame.replies
            self.pause_if_all_wait()

    def replay(self, call: CallFrame) -> tuple[bool, bytes]:
        """Return whether `call` has to run now, and the frame of its recorded reply, or b""."""
        if self._replies is None:
            return True, b""
        must_run, reply = self._replies.take(call)
        if reply is not None:
            return False, self.answer(call, reply)
        if not (must_run or self._replies.is_complete):
            self.unanswered.wait(call)
        return must_run, b""

    def encode(self, call: CallFrame, result: ToolResult, earlier: EncodedResult | None = None) -> EncodedResult:
        """Encode a result, if there is no `earlier` one, and record it, or raise CallInterrupted; in any thread."""
        recorder = self._channel.recorder
        # A recorded reply is JSON: another version of Python may read it.
        encoded = earlier or encode_call_result(
            call.name, result, self.limits.frame, self.limits.elements, may_marshal=recorder is None
        )
        self._records.note(call, result.repairs)
        if recorder is not None:
            recorder.end(call, encoded)
        return encoded

    def answer(self, call: CallFrame, encoded: EncodedResult) -> bytes:
        """Put the result of `call` into its record, and return the reply frame; `report_call` comes next."""
        self._settle(call, encoded)
        self._replies_made += 1
        return reply(call.number, encoded.kind, encoded.body)

    def _settle(self, call: CallFrame, encoded: EncodedResult) -> None:
        self._has_denial = self._has_denial or encoded.is_denial
        self._records.settle(call, encoded)
        self.unanswered.remove(call)

    def wait_for_decision(self, call: CallFrame) -> None:
        """Record that `call` waits for a decision that comes later."""
        self._records.wait(call)
        self.unanswered.wait(call)

    def pause(self) -> bool:
        """Leave the program, to be continued after a decision; from now on no call runs. Return whether that is so.

        A program whose time is up, or that has ended, does not pause: its first ending counts. Nor does one that has
        not made its recorded calls again: if it waits for nothing else, it has diverged, and is ended.
        """
        if self._replies is None or self._replies.is_complete:
            return self.change("pause")
        if self.unanswered.is_alone or self.is_resting:
            self.divergence = self._replies.divergence()
            self.end(str(self.divergence))
        return self.is_over

    def pause_if_all_wait(self) -> bool:
        """Pause the program if all its calls wait. Return whether that is so."""
        return self.unanswered.all_wait and self.pause()

    def consider_pause(self, call: CallFrame) -> Literal["pause", "watch"] | None:
        """Return what to do about a call that waits for a decision, or for recorded calls; None is nothing.

        "pause" has been done. "watch" has the driver pause the program once it is silent, and is said once.
        """
        if call.alone or self.is_resting:
            return "pause" if self.pause_if_all_wait() else None
        if self._is_watched or not self.unanswered.has_waiting:
            return None
        self._is_watched = True
        return "watch"

    def resume(self, channel: Channel) -> None:
        """Continue a parked program with another channel; the driver starts with `waiting_calls`.

        Raises ValueError if it has not paused.
        """
        if not self.change("resume"):
            message = f"expected a paused program, got one that is {self.state.value}"
            raise ValueError(message)
        self._channel, self._records.observer = channel, channel.observer
        self.has_left = self._is_watched = False
        self.started = time.perf_counter()
        answered, self.waiting_calls = self.unanswered.resume()
        if channel.recorder is not None:
            self._replies = RecordedReplies(channel.recorder)
            channel.recorder.adopt(answered)
            for stream, texts in enumerate(self._output, 1):
                channel.recorder.report_output(OutputFrame(stream, "".join(texts)))

    @property
    def is_resting(self) -> bool:
        """Whether the program waits for replies alone, and none is under way to it."""
        return self._replies_at_rest == self._replies_made

    @property
    def can_be_parked(self) -> bool:
        """Whether the program has paused in one call, beside which nothing of it runs, so that its worker can wait."""
        has_ahead = self._replies is not None and self._replies.has_ahead
        return self.state is ProgramState.PAUSED and self.unanswered.is_alone and not has_ahead

    @property
    def has_unsent(self) -> bool:
        """Whether a reply may still be sent."""
        return bool(self._unsent)

    @property
    def is_reusable(self) -> bool:
        """Whether the worker can run another program: this one has ended by itself, and nothing of it is left."""
        return self.state is ProgramState.FINISHED and not self._unsent

    @property
    def has_begun(self) -> bool:
        """Whether a frame came from the program."""
        return self.frames_left != max_frames(self.limits)

    @property
    def is_orphaned(self) -> bool:
        """Whether the worker is gone, and the zygote with it."""
        return self._ending.reason == ZYGOTE_GONE

    @property
    def is_repeatable(self) -> bool:
        """Whether the worker is gone without any effect of the program, so that it can be run again.

        It did not reach the worker, or the zygote is gone too and it had called no tool.
        """
        return self.is_undelivered or (self.is_orphaned and not len(self._records))

    def report_call(self, call: CallFrame) -> None:
        """Pass the record of `call` to the listeners: foreign code, never to be run under a lock."""
        if self._channel.has_listeners and (record := self._records.find(call)) is not None:
            self._channel.report_call(record)

    def mark_sent(self, call: CallFrame) -> None:
        """Record that the reply to `call` was sent; nothing more will be sent for it."""
        self._unsent.discard(call.number)

    def refuse(self, call: CallFrame, reason: str) -> bytes:
        """Record that `call` was refused, and return the reply frame."""
        self._records.end(call, {"error": reason})
        self.unanswered.remove(call)
        self._unsent.discard(call.number)
        self._replies_made += 1
        return reply(call.number, b"e", host_codec.dumps(("RuntimeError", "RuntimeError", reason)))

    def result(self) -> ExecutionResult:
        """Return the program's result."""
        state, done, reason = self._ending
        late = timeout_message(self.limits) if self.is_late else None
        error, trace = error_and_trace(done, reason, self.limits, late=late)
        status: Literal["done", "failed", "paused"] = "done" if error is None else "failed"
        if state is ProgramState.PAUSED:
            status, error, trace = "paused", "the program is paused: calls wait for a decision", ""
        result = ExecutionResult(
            output="".join(self._output[0]),
            error_output="".join(self._output[1]) + trace,
            tool_calls=self._records.listing(),
            success=error is None,
            error=error,
            status=status,
            images=[*map(ImageMessage, self._pictures.files)],
            duration_ms=(time.perf_counter() - self.started) * 1e3,
            max_text=self.limits.text,
            keeper=None if self._channel.results is None else self._channel.results.keeper(),
        )
        if status == "failed":
            result.progress = tuple(self.made.outcomes())
        if done is not None:
            add_ending(result, done, self._records.notes(), "" if late else self._code)
            # The worker's word is not enough: it may say anything.
            result.is_denied = status == "failed" and late is None and done.kind == "denied" and self._has_denial
        return result
