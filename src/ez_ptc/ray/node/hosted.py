"""One running program on an actor: its thread, its messages, and its questions to its caller."""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import itertools
import pickle
import threading
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc._sync import Threads, from_other_threads, start_in_thread
from ez_ptc.errors import NotApprovedError, ToolError
from ez_ptc.journal.recorded.payloads import reply_value
from ez_ptc.ray import wire
from ez_ptc.sandbox.protocol import host_codec
from ez_ptc.sandbox.protocol.events import EventSink
from ez_ptc.sandbox.protocol.records.caller_presence import CALLER, CallerPresence
from ez_ptc.schema.annotations.progress import REPORT, ignore_progress
from ez_ptc.tools.call_lifetime import CallInterrupted
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ez_ptc.messages import PendingCall
    from ez_ptc.ray.programs import LocalTool
    from ez_ptc.sandbox.protocol.events import ProgramEvent

__all__ = ["HostedProgram", "stub_of"]

_CURRENT: Final[contextvars.ContextVar[HostedProgram]] = contextvars.ContextVar("ez_ptc_hosted_program")
_ERROR_FIELDS: Final = 3  # of an error reply, as in `sandbox.protocol.replies`; a refusal has one more
# Messages, and their bytes, beyond which a program waits for its caller.
_MAX_WAITING: Final = 64
_MAX_WAITING_BYTES: Final = 4 << 20


class HostedProgram:
    """A program, its messages, and its questions to its caller."""

    def __init__(self, run: Callable[[HostedProgram], bytes]) -> None:
        """Take the function to run the program; it returns the last message."""
        self._run = run
        self._caller: Final = CallerPresence()
        self._ended: Final = threading.Event()
        self.outbox: Final = _Outbox()
        self._numbers = itertools.count(1)
        self._questions: dict[int, Future[object]] = {}
        # The number of the last report of each question about a tool, and the function for further ones.
        self._reporters: dict[int, tuple[int, Callable[..., None]]] = {}
        self._lock = threading.Lock()

    def start(self, threads: Threads) -> None:
        """Run the program in another thread, for a caller of its messages: no tool of one holds up another."""
        start_in_thread(threads.start, self._main)

    def run(self) -> None:
        """Run the program in this thread, for a caller of its last message alone."""
        contextvars.copy_context().run(self._main)

    def _main(self) -> None:
        _CURRENT.set(self)
        CALLER.set(self._caller)
        try:
            last = self._run(self)
        except BaseException as error:  # noqa: BLE001 - it is sent to the caller, who raises it
            last = wire.pack_error(error)
        self._refuse_questions()
        self.outbox.end(last)
        self._ended.set()

    def end(self, seconds: float) -> bool:
        """End the program, if it runs, and return whether it has ended within so many seconds."""
        self._caller.leave()
        self._refuse_questions()
        self.outbox.give_up()
        return self._ended.wait(seconds)

    def observe(self, program: str) -> EventSink:
        """Return a receiver to turn the program's events into messages."""
        return EventSink(program, program, self.report, self.report, self.outbox.room)

    def report(self, event: ProgramEvent) -> None:
        """Send an event."""
        self.outbox.put(wire.pack_event(event))

    # Questions to the caller ------------------------------------------------------------------------------------------

    def answer(self, number: int, value: object) -> None:
        """Take the caller's answer to a question; a late one is dropped."""
        self._reporters.pop(number, None)
        question = self._questions.pop(number, None)
        if question is not None:
            question.set_result(value)

    def progress(self, number: int, position: int, report: tuple[object, ...]) -> None:
        """Pass on the progress of a caller's tool. Late reports, and those overtaken by others, are dropped."""
        with self._lock:
            last, pass_on = self._reporters.get(number, (position, ignore_progress))
            if position <= last:
                return
            self._reporters[number] = position, pass_on
        pass_on(*report)

    def _ask(self, name: str, **fields: object) -> Future[object]:
        number = next(self._numbers)
        question: Future[object] = Future()
        self._questions[number] = question
        report = REPORT.get() if name == "tool" else None
        if report is not None:
            self._reporters[number] = 0, report
            fields["is_watched"] = True
        if self._caller.has_left:
            self._refuse_questions()
        self.outbox.put(wire.pack("ask", number=number, name=name, **fields))
        return question

    def _refuse_questions(self) -> None:
        # An error would be recorded as the tool's or the approver's answer, which the caller may have begun to make.
        for number in list(self._questions):
            question = self._questions.pop(number, None)
            if question is not None:
                question.set_exception(CallInterrupted())

    def functions(self, names: Collection[str]) -> dict[str, Any]:
        """Return substitutes for the caller's functions."""
        known = {"approve": self.approve, "on_tool_call": self.listen, "repair": self.repair}
        return {name: function for name, function in known.items() if name in names}

    def approve(self, call: PendingCall) -> object:
        """Ask the caller's approver, and wait for it in this thread."""
        return _read_answer(self._ask("approve", pending=wire.pending_fields(call)).result())

    def repair(self, code: str, error: str, done: list[dict[str, Any]]) -> object:
        """Ask the caller for a corrected program, and wait for it in this thread."""
        return _read_answer(self._ask("repair", code=code, error=error, done=wire.plain_records(done)).result())

    def listen(self, record: dict[str, Any]) -> None:
        """Send the record of a call to the caller's listener."""
        self.outbox.put(wire.pack("record", record=wire.plain_records([record])[0]))

    def call(self, tool: str, arguments: dict[str, object]) -> object:
        """Call a tool of the caller, and wait for it in this thread."""
        return _read_reply(self._ask("tool", tool=tool, arguments=arguments).result())

    async def acall(self, tool: str, arguments: dict[str, object]) -> object:
        """Same as `call`, but awaits."""
        from anyio import Event

        answered = Event()
        wake = from_other_threads(answered.set)
        question = self._ask("tool", tool=tool, arguments=arguments)
        question.add_done_callback(lambda _: wake())
        await answered.wait()
        return _read_reply(question.result())


def stub_of(local: LocalTool) -> Tool[..., Any]:
    """Return the substitute, among an actor's tools, for one of the caller."""

    def call(**arguments: object) -> object:
        return _CURRENT.get().call(local.name, arguments)

    async def acall(**arguments: object) -> object:
        return await _CURRENT.get().acall(local.name, arguments)

    function: Callable[..., object] = acall if local.is_async else call
    return Tool.from_schema(local.name, local.description, local.parameters, function, **local.options)


def _read_answer(answer: object) -> object:
    """Return the value of a function of the caller. Raises ToolError with the function's error."""
    has_returned, value = cast("tuple[bool, Any]", answer)
    if not has_returned:
        raise ToolError(str(value))
    return pickle.loads(value)  # noqa: S301 - of the caller, whose code this actor runs in any case


def _read_reply(reply: object) -> object:
    """Return the value of a tool of the caller, as a program gets it, or raise its error."""
    mark, body = cast("tuple[bytes, bytes]", reply)
    if mark != b"e":
        return reply_value(mark, body)
    error = cast("list[Any]", host_codec.loads(body))
    name, base, message = error[:_ERROR_FIELDS]
    if len(error) > _ERROR_FIELDS:
        raise NotApprovedError(message)
    parent = getattr(builtins, base, None)
    raised: Exception = ToolError(message)
    if name != "ToolError" and isinstance(parent, type) and issubclass(parent, Exception):
        cls = parent if name == base else type(name, (parent,), {})
        with contextlib.suppress(TypeError):  # a class whose exceptions need more than a message
            raised = cls(message)
    raise raised


# Messages on their way ------------------------------------------------------------------------------------------------


class _Outbox:
    """Messages between the thread of a program and those of its caller's questions."""

    def __init__(self) -> None:
        self._messages: deque[bytes] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._writers: list[Callable[[], object]] = []
        self._has_ended = False
        self._is_given_up = False

    def put(self, message: bytes) -> None:
        """Add a message; from any thread."""
        with self._changed:
            self._messages.append(message)
            self._bytes += len(message)
            self._changed.notify_all()

    def end(self, last: bytes) -> None:
        """Add the last message."""
        with self._changed:
            self._messages.append(last)
            self._bytes += len(last)
            self._has_ended = True
            self._changed.notify_all()

    @property
    def is_over(self) -> bool:
        """Whether the caller has every message, the last included."""
        return self._has_ended and not self._messages

    async def room(self) -> None:
        """Wait while the caller is behind."""
        from anyio import Event

        while self._is_full():
            freed = Event()
            wake = from_other_threads(freed.set)
            with self._changed:
                if not self._is_full():
                    return
                self._writers.append(wake)
            await freed.wait()

    def give_up(self) -> None:
        """Let the program go on whose messages no one reads."""
        with self._changed:
            self._is_given_up = True
            self._wake_writers()

    def _is_full(self) -> bool:
        if self._is_given_up:
            return False
        return len(self._messages) > _MAX_WAITING or self._bytes > _MAX_WAITING_BYTES

    def take(self, seconds: float) -> list[bytes]:
        """Return the waiting messages, after at most so many seconds; none after the end or the time."""
        with self._changed:
            self._changed.wait_for(lambda: self._messages or self._has_ended, seconds)
            messages = list[bytes]()
            size = 0
            while self._messages and (not messages or size + len(self._messages[0]) <= _MAX_WAITING_BYTES):
                messages.append(self._messages.popleft())
                size += len(messages[-1])
            self._bytes -= size
            self._wake_writers()
        return messages

    def _wake_writers(self) -> None:
        writers, self._writers = self._writers, []
        for wake in writers:
            with contextlib.suppress(RuntimeError):  # the event loop is closed, so no one waits
                wake()
