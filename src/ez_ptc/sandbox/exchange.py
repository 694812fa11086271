"""The loop over frames, without any I/O: run → call/reply … → done.

Every backend drives the same :class:`Exchange`: it sends what :meth:`Exchange.opening` and :meth:`Exchange.answer`
return, gives :meth:`Exchange.take` what it receives, runs the calls that come out, and ends with
:meth:`Exchange.result`. All decisions are taken here; a driver owns a socket and a clock.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ez_ptc._lazy import lazy
from ez_ptc.errors import ArgumentsError, ProtocolError, ToolError
from ez_ptc.messages import ImageMessage
from ez_ptc.sandbox import codec
from ez_ptc.sandbox.execution import CallRecord, ExecutionResult
from ez_ptc.sandbox.frames import CallFrame, DoneFrame, FrameReader, OutputFrame, pack, reply
from ez_ptc.sandbox.output_text import encodable, shortened
from ez_ptc.sandbox.replies import payload
from ez_ptc.schema.arguments.replacement import detached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ez_ptc.messages import ToolResult
    from ez_ptc.sandbox.execution import Channel, Limits
    from ez_ptc.sandbox.frames import Frame

__all__ = ["ZYGOTE_GONE", "Earlier", "Encoded", "Exchange", "rejected"]

ZYGOTE_GONE = "the program's process is gone, and the sandbox's with it: run it again"
_CORES = os.cpu_count() or 1
_TOO_LATE = "something came after the last frame"
_SPARE_FRAMES = 64
_OUTPUT_BLOCK = 4096
_PATIENCE = 50e-6
"""About what it costs to wake a core up: who looks for that long has lost no more than once as much."""
_PATIENT = b',"patience":%g,"code":' % _PATIENCE
_IMPATIENT = b',"patience":0.0,"code":'


def rejected(message: str) -> ExecutionResult:
    """Return the result of a program that was not started."""
    return ExecutionResult(success=False, status="failed", error=message, error_output=message + "\n")


def _most_frames(limits: Limits) -> int:
    # A call, and with it what was printed on either stream; what is printed between calls; the end.
    return 3 * limits.calls + limits.output // _OUTPUT_BLOCK + _SPARE_FRAMES


def _timeout_message(limits: Limits) -> str:
    return f"the program timed out after {limits.timeout:g} s"


def _run_head(limits: Limits, tools: bytes) -> bytes:
    """Return the beginning of a run frame, the same for all programs with these limits and tools."""
    numbers = {
        "memory": limits.memory,
        "output": limits.output,
        "frame": limits.frame,
        "images": limits.images,
        "elements": limits.elements,
        "outstanding": limits.outstanding,
        "calls": limits.calls,
        # Also without a limit: its time stands still while a person is asked, and what it computes does not.
        "cpu": math.ceil(limits.cpu_time or (limits.timeout + limits.grace) * _CORES),
    }
    if limits.seed is not None:
        numbers["seed"] = limits.seed
    messages = {
        "timeout": _timeout_message(limits),
        "cpu": f"the program used up its {numbers['cpu']} s of CPU time",
    }
    head = codec.dumps({"t": "run", "limits": numbers, "messages": messages})
    return b'%b,"tools":%b' % (head[:-1], tools)


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the programs before have left in a session: how many calls they made, and the limits of the last one."""

    calls: int = 0
    limits: Limits | None = None


class Encoded(NamedTuple):
    """A call's end, as the program is told of it (`kind` and `body` of the reply) and as the record has it."""

    kind: bytes
    body: bytes
    result: object
    error: str | None


class Exchange:
    """One program and its host, from the run frame to the result."""

    is_patient = False
    """Whether either side looks for a frame for a moment before it sleeps."""
    undelivered = False
    """Whether the worker was gone before it had all of the program."""
    finished = False
    closed = False
    """Whether the caller has gone on: no call is wanted any more, and no record changes."""
    _done: DoneFrame | None = None
    _ended_because = ""
    _stopping = False

    def __init__(self, code: str, channel: Channel, limits: Limits, *, earlier: Earlier | None = None) -> None:
        """Begin with a program; `earlier` is what came before it in its session, None where it has no session."""
        self.limits = limits
        self._earlier = earlier
        self._code = code
        self._channel = channel
        self.started = time.perf_counter()
        self._calls_before = earlier.calls if earlier else 0
        self._output: tuple[list[str], list[str]] = ([], [])
        self._output_left = limits.output
        self._frames_left = _most_frames(limits)
        self._records: dict[int, dict[str, Any]] = {}
        self._paths: set[str] = set()
        # Sets, because several threads add to them and take from them.
        self._unanswered: set[int] = set()
        self._unsent: set[int] = set()

    @lazy
    def reader(self) -> FrameReader:
        """Make frames of the bytes that the worker sends."""
        return FrameReader(self.limits.frame, self.limits.elements)

    @property
    def patience(self) -> float:
        """How many seconds either side looks for a frame before it sleeps."""
        return _PATIENCE if self.is_patient else 0.0

    @property
    def deadline(self) -> float:
        """When its time is over, on the clock of `time.perf_counter`."""
        return self.started + self.limits.timeout

    @property
    def in_session(self) -> bool:
        """Whether it is one of a session's."""
        return self._earlier is not None

    @property
    def timeout_message(self) -> str:
        """What a program that takes too long is told."""
        return _timeout_message(self.limits)

    def opening(self) -> bytes:
        """Return the run frame; what a session's worker knows already is not in it."""
        earlier = self._earlier
        if earlier is not None and earlier.limits is self.limits:
            head = b'{"t":"run"'
        else:
            head = self._channel.grants.once_for(self.limits, _run_head)
        middle = _PATIENT if self.is_patient else _IMPATIENT
        tail = b"}" if earlier is None else b',"session":true}'
        return pack(b"".join((head, middle, encode_basestring_ascii(self._code).encode(), tail)))

    def take(self, data: bytes) -> list[CallFrame]:
        """Take bytes from the worker; return the calls to run now, and none where the worker broke the rules.

        What comes after the last frame is not read, whether it comes with it or later. Where the rules were broken,
        what came before still counts.
        """
        return self.admit(lambda: self.reader.feed(data))

    def admit(self, read: Callable[[], Iterable[Frame]]) -> list[CallFrame]:
        """Do the same as `take`, with what reads the frames, which may raise ProtocolError at any of them."""
        try:
            return self._admit_all(read)
        except ProtocolError as error:
            self.end(f"the program broke the sandbox's protocol and was ended: {error}")
            return []

    def _admit_all(self, read: Callable[[], Iterable[Frame]]) -> list[CallFrame]:
        if self.finished:
            self.end(_TOO_LATE)
            return []
        calls: list[CallFrame] = []
        for frame in read():
            self._frames_left -= 1
            if self._frames_left < 0:
                message = "more frames than its limits allow"
                raise ProtocolError(message)
            if isinstance(frame, CallFrame):
                self._admit(frame)
                calls.append(frame)
            elif isinstance(frame, OutputFrame):
                self._print(frame)
            else:
                self._done = frame
                self.finished = True
                if self.reader.waiting:
                    self.end(_TOO_LATE)
                break
        return calls

    def _admit(self, call: CallFrame) -> None:
        problem = ""
        if call.number != self._calls_before + len(self._records) + 1:
            problem = "a call out of order"
        elif call.name not in self._channel.grants.by_name:
            problem = "a call of a tool that was not granted"
        elif call.path in self._paths:
            problem = "two calls from one place"
        elif len(self._unanswered) >= self.limits.outstanding:
            problem = "more unanswered calls than its limits allow"
        if problem:
            raise ProtocolError(problem)
        self._paths.add(call.path)
        self._unanswered.add(call.number)
        self._unsent.add(call.number)
        self._records[call.number] = {
            "name": call.name,
            # What the function does with its arguments is not what was passed to it.
            "args": detached(call.args),
            "kwargs": detached(call.kwargs),
            "result": None,
            "error": "it had not ended when the program did",
            "duration_ms": 0.0,
            "path": call.path,
        }

    def _print(self, frame: OutputFrame) -> None:
        self._output_left -= len(frame.text)
        if self._output_left < 0:
            message = "more output than its limits allow"
            raise ProtocolError(message)
        self._output[frame.stream - 1].append(frame.text)

    def refusal(self, call: CallFrame) -> str | None:
        """Return why ``call`` must not run, or None."""
        if self._stopping:
            return self.timeout_message
        if call.number > self._calls_before + self.limits.calls:
            return f"the program made more than {self.limits.calls:,} tool calls"
        return None

    def encode(self, call: CallFrame, result: ToolResult) -> Encoded:
        """Return what the program is told of a call that has ended. It runs the tool's code: call it in any thread."""
        if not result.success:
            error = _error_triple(result)
            return Encoded(b"e", codec.dumps(error), None, encodable(result.error or error[2]))
        kind, body, problem = payload(call.name, result.output, self.limits.frame, self.limits.elements)
        # What cannot cross may contain itself.
        return Encoded(kind, body, result.output if problem else detached(result.output), problem)

    def answer(self, call: CallFrame, result: ToolResult, encoded: Encoded) -> bytes:
        """Record how ``call`` ended, and return the reply frame; `tell` and `sent` come next."""
        self._records[call.number].update(result=encoded.result, error=encoded.error, duration_ms=result.duration_ms)
        self._unanswered.discard(call.number)
        return reply(call.number, encoded.kind, encoded.body)

    def tell(self, call: CallFrame) -> None:
        """Tell who listens how ``call`` has ended: somebody else's code, and never to be run under a lock."""
        if self._channel.is_heard:
            self._channel.ended(CallRecord(self._records[call.number]))

    def sent(self, call: CallFrame) -> None:
        """Note that the worker has the reply to ``call``: nothing more will be sent to it."""
        self._unsent.discard(call.number)

    def refuse(self, call: CallFrame, reason: str) -> bytes:
        """Return the reply to a call that was not run."""
        self._records[call.number]["error"] = reason
        self._unanswered.discard(call.number)
        self._unsent.discard(call.number)
        return reply(call.number, b"e", codec.dumps(("RuntimeError", "RuntimeError", reason)))

    def stop(self) -> None:
        """Note that the program's time is over; from now on no call runs."""
        self._stopping = True

    @property
    def wants_calls(self) -> bool:
        """Whether calls of the program may begin."""
        return not (self._stopping or self.finished or self._ended_because or self.closed)

    @property
    def over(self) -> bool:
        """Whether nothing more of the program may be read."""
        return self.finished or bool(self._ended_because)

    @property
    def lost(self) -> bool:
        """Whether the worker is gone and nobody has said why."""
        return not (self.finished or self._stopping or self._ended_because)

    @property
    def has_unsent(self) -> bool:
        """Whether a reply may still be sent."""
        return bool(self._unsent)

    @property
    def reusable(self) -> bool:
        """Whether the worker waits for another program: this one has ended by itself, and nothing of it goes on."""
        return self.finished and not (self._stopping or self._ended_because or self._unsent)

    @property
    def begun(self) -> bool:
        """Whether anything was heard of the program."""
        return self._frames_left != _most_frames(self.limits)

    @property
    def orphaned(self) -> bool:
        """Whether the worker is gone, and the zygote with it."""
        return self._ended_because == ZYGOTE_GONE

    @property
    def untouched(self) -> bool:
        """Whether the worker is gone as if nothing had been: the program can be run again.

        It did not reach the worker, or the zygote is gone too and it had called no tool.
        """
        return self.undelivered or (self.orphaned and not self._records)

    def end(self, because: str) -> None:
        """Note why the worker's end came before the program's."""
        self._ended_because = self._ended_because or because

    def result(self) -> ExecutionResult:
        """Return how the program ended."""
        done = self._done
        error: str | None = None
        trace = ""
        if self._stopping:
            error = f"TimeoutError: {self.timeout_message}"
            trace = shortened(done.trace, self.limits.max_text) if done and done.error else error + "\n"
        elif done is None:
            error = self._ended_because
            trace = error + "\n"
        elif done.error is not None:
            most = self.limits.max_text
            error, trace = shortened(done.error, most), shortened(done.trace, most)
            if done.kind == "memory":
                error += f" (the program may use {self.limits.memory >> 20} MiB)"
        missing = {"output": done.dropped, "images": done.images_left} if done else {}
        return ExecutionResult(
            output="".join(self._output[0]),
            error_output="".join(self._output[1]) + trace,
            return_value=done.value if done and error is None else None,
            described=done.described if done and error is None else "",
            tool_calls=[CallRecord(record) for record in self._records.values()],
            success=error is None,
            error=error,
            status="done" if error is None else "failed",
            duration_ms=(time.perf_counter() - self.started) * 1e3,
            images=[ImageMessage(data) for data in done.images] if done else [],
            truncated={name: count for name, count in missing.items() if count},
            max_text=self.limits.max_text,
        )


def _error_triple(result: ToolResult) -> tuple[str, str, str]:
    """Return the class name, the nearest built-in exception and the message that the program shall see."""
    kind = type(result.exception) if result.exception is not None else ToolError
    # A result's text names the class where the message says nothing without it; a program sees the class anyway.
    message = (result.error or "the tool failed").removeprefix(kind.__name__).removeprefix(": ")
    if issubclass(kind, ArgumentsError):
        return "TypeError", "TypeError", message
    bases = cast("list[type]", kind.__mro__)
    base = next(base.__name__ for base in bases if base.__module__ == "builtins")
    return kind.__name__, base, message
