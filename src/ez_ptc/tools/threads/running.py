"""Running a tool's function in another thread than the caller's, for as long as it may take."""

import inspect
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ez_ptc._sync import call_within, from_other_threads, start_in_thread, to_thread
from ez_ptc.errors import ToolError, ToolTimeoutError
from ez_ptc.tools.call_lifetime import CallLife
from ez_ptc.tools.outputs.lazy_results import PendingOutput
from ez_ptc.tools.threads.named_threads import PROCESS_THREADS, QueuedCall

if TYPE_CHECKING:
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["arun_in_thread", "capture", "run_in_thread"]

R = TypeVar("R")

_Outcome = Callable[[], object]


def capture(run: Callable[[], R]) -> Callable[[], R]:
    """Run foreign code and return its outcome as a function: no future can carry `StopIteration`."""
    try:
        output = run()
    except BaseException as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        raised = error

        def fail() -> R:
            raise raised

        return fail
    return lambda: output


def run_in_thread(
    tool: "Definition", begin: Callable[[], object], life: CallLife, record: Callable[[], None]
) -> _Outcome:
    """Run `begin` on the thread that the tool names, or else in a new one for its timeout, and return its outcome.

    On a named thread, `record` is called before, once that is free.

    Raises ToolTimeoutError if it takes longer than the tool's timeout, and ToolError if it would wait for itself.
    """
    name, seconds, queued = tool.thread, tool.timeout, None
    try:
        if name is None:
            return capture(begin) if seconds is None else call_within(seconds, partial(capture, begin))
        if PROCESS_THREADS.is_inside(name):
            record()
            return capture(partial(_begin_plain, tool, begin))
        begun = threading.Event()
        queued = QueuedCall(life, seconds, begun.set, record)
        outcome = start_in_thread(partial(_submit, tool, queued), queued.run, partial(_capture_plain, tool, begin))
        try:
            begun.wait()  # for the calls before it, which are no part of its own time
            return outcome.result(timeout=seconds)
        finally:
            outcome.cancel()
            PROCESS_THREADS.leave(name, queued)
    except TimeoutError:
        raise _time_out(tool, queued, life) from None
    except BaseException:  # whatever a signal handler raises
        life.give_up()
        raise


async def arun_in_thread(
    tool: "Definition", begin: Callable[[], object], life: CallLife, record: Callable[[], None]
) -> _Outcome:
    """Same as `run_in_thread`, but await the outcome, of a worker thread if the tool names none."""
    from anyio import Event, fail_after

    name, seconds, queued = tool.thread, tool.timeout, None
    try:
        if name is None:
            return await to_thread(capture, begin, seconds=seconds)
        if PROCESS_THREADS.is_inside(name):
            record()
            return capture(partial(_begin_plain, tool, begin))
        begun, ended = Event(), Event()
        queued = QueuedCall(life, seconds, from_other_threads(begun.set), record)
        # Without anyio's limit for threads: the calls that wait here would use it up for all other tools.
        outcome = start_in_thread(
            partial(_submit, tool, queued),
            queued.run,
            partial(_capture_plain, tool, begin),
            and_then=from_other_threads(ended.set),
        )
        try:
            await begun.wait()
            with fail_after(seconds):
                await ended.wait()
            return outcome.result()
        finally:
            outcome.cancel()
            PROCESS_THREADS.leave(name, queued)
    except TimeoutError:
        raise _time_out(tool, queued, life) from None


def _submit(tool: "Definition", call: QueuedCall, job: Callable[[], None]) -> None:
    call.life.enqueue()
    if not PROCESS_THREADS.submit(str(tool.thread), call, job):
        message = (
            f"{tool.name} was not run: the call that runs on its thread {tool.thread!r} waits for it; call it from the "
            "function itself, or let one of the two tools run on another thread"
        )
        raise ToolError(message)


def _capture_plain(tool: "Definition", begin: Callable[[], object]) -> _Outcome:
    return capture(partial(_begin_plain, tool, begin))


def _begin_plain(tool: "Definition", begin: Callable[[], object]) -> object:
    output = begin()
    if type(output) is PendingOutput:
        for coroutine in filter(inspect.iscoroutine, output.parts):
            coroutine.close()
        returned = type(output.parts[0]).__name__
        message = (
            f"{tool.name} returned {returned}, which would run on an event loop, not on its thread {tool.thread!r}: "
            "return what it results in, or remove the option thread"
        )
        raise ToolError(message)
    return output


def _time_out(tool: "Definition", queued: QueuedCall | None, life: CallLife) -> ToolTimeoutError:
    """Abandon a call, and return its error."""
    life.abandon()
    effect = "it may still take effect"
    if queued is not None and (PROCESS_THREADS.replace(str(tool.thread), queued) or queued.is_replaced):
        effect += f", and a new thread {tool.thread!r} replaces the one it runs on"
    message = (
        f"{tool.name} took longer than {tool.timeout:g} s and was abandoned; {effect}: ask for less, or continue "
        "without it"
    )
    return ToolTimeoutError(message)
