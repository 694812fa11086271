"""The caller's own tools, approver, listener and corrector of a program on a cluster."""

from __future__ import annotations

import inspect
import itertools
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ez_ptc._sync import Threads, from_other_threads, run_coroutine, start_in_thread
from ez_ptc.errors import ProtocolError
from ez_ptc.ray import wire
from ez_ptc.sandbox.protocol.records.caller_presence import CallerPresence
from ez_ptc.sandbox.protocol.replies import encode_call_result
from ez_ptc.tools.call_lifetime import CallInterrupted
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.calls import arun_call, run_call
from ez_ptc.tools.threads.progress import ProgressReporter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from concurrent.futures import Future

    from anyio.from_thread import BlockingPortal

    from ez_ptc.messages import ToolResult
    from ez_ptc.ray.wire import Message
    from ez_ptc.tools.tool import Tool

__all__ = ["Callbacks"]

_MAX_VALUE_BYTES: Final = 16 << 20  # of what a tool returns, as `Limits.frame` has it
_MAX_REPORT_SECONDS: Final = 2.0
_CALL: Final = {"tool": str, "arguments": dict}


@dataclass(frozen=True)
class Callbacks:
    """The caller's functions of one program; each question of the program runs one in a thread.

    `portal` is the event loop of an asynchronous caller, for asynchronous functions. Those of a blocking caller run in
    threads, until `caller` leaves.
    """

    tools: Mapping[str, Tool[..., Any]]
    functions: Mapping[str, Callable[..., Any]]
    context: object
    dumps: Callable[[object], bytes]
    threads: Threads
    portal: BlockingPortal | None = None
    caller: CallerPresence = field(default_factory=CallerPresence)

    @property
    def are_none(self) -> bool:
        """Whether a program never asks for any of them."""
        return not self.tools and not self.functions

    def within(self, portal: BlockingPortal) -> Callbacks:
        """Return the same for an asynchronous caller."""
        return replace(self, portal=portal)

    def listen(self, message: Message) -> None:
        """Pass the record of a call to the listener, in the caller's thread."""
        listener = self.functions.get("on_tool_call")
        if listener is not None:
            listener(wire.record_from(message.get("record")))

    def start(self, message: Message, ask: Callable[..., Future[Any]]) -> None:
        """Begin to answer a question of the program, in another thread. Raises ProtocolError for an unknown one.

        `ask` asks the actor: "answer" with a number and a value, and "progress" with those of a report.
        """
        fields = wire.require(message, {"number": int, "name": str})
        name, number = fields["name"], fields["number"]
        work: Callable[[], object] | None = None
        if name == "tool":
            call = wire.require(message, _CALL)
            if call["tool"] in self.tools:
                work = partial(self._run_tool, self.tools[call["tool"]], call["arguments"])
                if message.get("is_watched") is True:
                    work = partial(_run_watched, work, partial(ask, "progress", number))
        elif name in self.functions:
            work = partial(self._call, name, message)
        if work is None:
            problem = "an actor asked for a function that the caller has not offered"
            raise ProtocolError(problem)
        start_in_thread(self.threads.start, partial(_answer, partial(ask, "answer", number), work))

    def _run_tool(self, tool: Tool[..., Any], arguments: dict[str, object]) -> object:
        """Run a tool and return its reply. The node has decided about its approval."""
        settings = CallSettings(self.context, lambda _: True).over(tool.settings)
        definition = tool.definition
        if definition.is_async:
            result: ToolResult = self._await(partial(arun_call, definition, (), arguments, settings))
        else:
            result = run_call(definition, (), arguments, settings)
        encoded = encode_call_result(tool.name, result, _MAX_VALUE_BYTES)
        return encoded.kind, encoded.body

    def _call(self, name: str, message: Message) -> object:
        try:
            if name == "approve":
                arguments: tuple[object, ...] = (wire.pending_from(message.get("pending")),)
            else:
                fields = wire.require(message, {"code": str, "error": str, "done": list})
                arguments = fields["code"], fields["error"], [wire.record_from(call) for call in fields["done"]]
            value = self.functions[name](*arguments)
            if inspect.isawaitable(value):
                value = self._await(partial(_wait_for, value))
            return True, self.dumps(value)
        except Exception as error:  # noqa: BLE001 - the function is foreign code; the program gets the error
            return False, f"{type(error).__name__}: {error}"

    def _await(self, function: Callable[..., Any]) -> Any:
        if self.portal is not None:
            return self.portal.call(function)
        return run_coroutine(_await_until_left, self.caller, function)


def _answer(answer: Callable[[object], object], work: Callable[[], object]) -> None:
    answer(work())


def _run_watched(work: Callable[[], object], send: Callable[[int, tuple[object, ...]], Future[Any]]) -> object:
    """Run a tool and send its reports to the node, numbered; the answer must not overtake the last of them."""
    sent: list[Future[Any]] = []
    numbers = itertools.count(1)
    with ProgressReporter(lambda report: sent.append(send(next(numbers), tuple(report)))):
        reply = work()
    wait(sent[-1:], _MAX_REPORT_SECONDS)
    return reply


async def _wait_for(value: Any) -> object:
    return await value


async def _await_until_left(caller: CallerPresence, function: Callable[[], Awaitable[object]]) -> object:
    """Await an asynchronous function. Raises CallInterrupted if the caller has left, which cancels the function."""
    from anyio import CancelScope

    with CancelScope() as scope, caller.ending(from_other_threads(scope.cancel)):
        return await function()
    raise CallInterrupted
