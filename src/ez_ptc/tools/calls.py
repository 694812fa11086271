"""Running a tool: every call, of whatever origin, goes through this module, in four steps.

1. Its arguments are checked and converted. If its program corrects a failed one that has made the same call, the
   outcome of that call is the result, and no further step is taken.
2. If the call requires approval, the approver sees exactly what will run, and may refuse or change it.
3. The function runs, unless the caller has given up in the meantime. A caller that keeps records writes that first.
4. What the function returned or raised becomes the result.

`run_call` takes these steps in the caller's thread. `arun_call` awaits them: anything slow or foreign runs in a worker
thread, so that the event loop stays free. A function whose tool names a thread runs on that in both cases.

The caller may disappear at any moment: its program runs out of time, or its task is cancelled. Its `CallLife` records
that, and no further step begins. A function already running continues, as one of its tool's bounded `RunningCalls`. A
call that has to wait for a decision ends with `CallInterrupted`, which is no exception of a tool and passes through.
"""

import inspect
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar, cast

from ez_ptc._sync import call_within, run_coroutine, to_thread
from ez_ptc.errors import ToolError, ToolTimeoutError
from ez_ptc.messages import ToolResult
from ez_ptc.schema.annotations.context import RUNNING_CALL
from ez_ptc.schema.arguments.replacement import detach
from ez_ptc.telemetry.metrics import approval_waiting
from ez_ptc.tools.approval_requests import ApprovalRequest
from ez_ptc.tools.approvals.approval import (
    approval_request,
    arguments_as_json,
    ask,
    conclude,
    late_decision,
    refuse_on_failure,
    require_answerable,
    requires_decision,
)
from ez_ptc.tools.approvals.changes import RawCall
from ez_ptc.tools.call_lifetime import CallInterrupted, CallLife, run_to_completion
from ez_ptc.tools.call_settings import NO_SETTINGS, CallSettings
from ez_ptc.tools.outputs.failures import failure, log_text
from ez_ptc.tools.outputs.lazy_results import PendingOutput, amake_items, make_items
from ez_ptc.tools.threads.running import arun_in_thread, capture, run_in_thread

if TYPE_CHECKING:
    from ez_ptc.schema.bound_call import BoundCall
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["acall_tool", "arun_call", "call_tool", "run_call"]

R = TypeVar("R")


# The types most functions return: never awaitable, never generators.
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
# The libraries whose cancellations, which are no `Exception`, must reach them.
_LOOPS: Final = ("asyncio", "trio")
_Exceptions = tuple[type[BaseException], ...]


# Blocking -------------------------------------------------------------------------------------------------------------


def run_call(
    tool: "Definition",
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings = NO_SETTINGS,
    life: CallLife | None = None,
) -> ToolResult:
    """Check a call's arguments, run the tool in this thread, and return its result.

    Every failure is logged and returned as a result. An asynchronous tool fails: use `arun_call`. A generator's items
    are returned as a list. A coroutine returned by a plain function, such as a wrapper of an asynchronous one, is run.
    """
    started = perf_counter()
    try:
        output, bound = _invoke(tool, args, kwargs, settings, life)
    except settings.reraise:
        raise
    except Exception as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        duration_ms = _milliseconds_since(started)
        return failure(tool.name, error, duration_ms=duration_ms, max_text=settings.text_bound, keeper=settings.keeper)
    return settings.result(output, bound, started)


def call_tool(
    tool: "Definition", args: Sequence[object], kwargs: Mapping[str, object], settings: CallSettings = NO_SETTINGS
) -> object:
    """Same as `run_call`, but return the function's value, and log and raise its errors."""
    try:
        return _invoke(tool, args, kwargs, settings, None)[0]
    except settings.reraise:
        raise
    except Exception as error:  # a tool is foreign code and may raise anything; it is raised again
        failure(tool.name, error)
        raise


def _invoke(
    tool: "Definition",
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings,
    life: CallLife | None,
) -> "tuple[object, BoundCall]":
    if tool.is_async:
        _refuse_async(tool.name)
    if life is None:
        bound = _bind(tool, args, kwargs, settings)
    else:
        bound = run_to_completion(_bind, tool, args, kwargs, settings)
        if settings.earlier is not None:
            answer = settings.earlier.answer(tool, bound, RawCall(args, kwargs, settings.context), life)
            if answer is not None:
                return answer(), bound
    if (tool.requires_approval or life is not None) and requires_decision(tool, bound, life):
        life = life or CallLife()
        bound = _approve(tool, bound, RawCall(args, kwargs, settings.context), settings, life)
    if not tool.has_key and RUNNING_CALL.get() is None:
        return _invoke_bound(tool, bound, settings, life), bound
    life = life or CallLife()
    token = RUNNING_CALL.set(life if tool.has_key else None)
    try:
        return _invoke_bound(tool, bound, settings, life), bound
    finally:
        RUNNING_CALL.reset(token)


def _invoke_bound(tool: "Definition", bound: "BoundCall", settings: CallSettings, life: CallLife | None) -> object:
    if life is None and tool.timeout is None and tool.thread is None:
        output = _call_function(tool, bound, settings)
    else:
        life = life or CallLife()
        record = partial(life.begin, partial(arguments_as_json, tool, bound))
        if tool.thread is None and life.is_recorded:
            record()
        if tool.timeout is None and tool.thread is None:
            output = _begin(tool, bound, settings, life)
        else:
            output = run_in_thread(tool, partial(_begin, tool, bound, settings, life), life, record)()
    if type(output) in _PLAIN:
        return output
    if type(output) is PendingOutput:
        # A sync decorator can hide an async function.
        output = run_coroutine(_await_with_timeout, tool, output, settings.reraise)
    return output


def _approve(
    tool: "Definition", bound: "BoundCall", raw: RawCall, settings: CallSettings, life: CallLife
) -> "BoundCall":
    require_answerable(tool.name, settings.approve, life)
    seconds = life.approval_seconds
    question = partial(capture, partial(ask, tool, bound, settings.approve, life))
    with life.pausing(), approval_waiting(tool.name):
        if seconds is None:
            outcome = question()
        else:
            try:
                outcome = call_within(seconds, question)
            except TimeoutError:
                late = _decide_late(tool, bound, life)
                outcome = capture(lambda: late)
    with refuse_on_failure(tool.name, settings.reraise):
        request, answer = outcome()
    if inspect.isawaitable(answer):
        if isinstance(answer, Coroutine):
            answer.close()
        _refuse_async(f"the approval of {tool.name}")
    arguments = request.changed_arguments(conclude(request, answer, life))
    return bound if arguments is None else raw.rebind(tool, bound, request, arguments)


# Awaited --------------------------------------------------------------------------------------------------------------


async def arun_call(
    tool: "Definition",
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings = NO_SETTINGS,
    life: CallLife | None = None,
) -> ToolResult:
    """Same as `run_call`, but await asynchronous tools, and run others in a worker thread.

    The thread sees the caller's context variables. If the call is cancelled, the thread is abandoned.
    """
    started = perf_counter()
    try:
        outcome, bound = await _ainvoke(tool, args, kwargs, settings, life or CallLife())
        output = outcome()
    except settings.reraise:
        raise
    except Exception as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        duration_ms = _milliseconds_since(started)
        return failure(tool.name, error, duration_ms=duration_ms, max_text=settings.text_bound, keeper=settings.keeper)
    return settings.result(output, bound, started)


async def acall_tool(
    tool: "Definition", args: Sequence[object], kwargs: Mapping[str, object], settings: CallSettings = NO_SETTINGS
) -> object:
    """Same as `arun_call`, but return the function's value, and log and raise its errors."""
    try:
        return (await _ainvoke(tool, args, kwargs, settings, CallLife()))[0]()
    except settings.reraise:
        raise
    except Exception as error:  # a tool is foreign code and may raise anything; it is raised again
        failure(tool.name, error)
        raise


async def _ainvoke(
    tool: "Definition", args: Sequence[object], kwargs: Mapping[str, object], settings: CallSettings, life: CallLife
) -> "tuple[Callable[[], object], BoundCall]":
    # A thread costs more than most checks, but a slow check must not hold up the event loop.
    bind = partial(_bind, tool, args, kwargs, settings)
    bound = bind() if tool.binder.is_quick(args, kwargs) else await _run_check_in_thread(bind)
    if settings.earlier is not None:
        raw = RawCall(args, kwargs, settings.context)
        answer = await to_thread(settings.earlier.answer, tool, bound, raw, life)
        if answer is not None:
            return answer, bound
    is_quick = life.verdict is not None or isinstance(tool.requires_approval, bool)
    # A predicate is foreign code, which must not hold up the event loop.
    decide = partial(requires_decision, tool, bound, life)
    if decide() if is_quick else await to_thread(decide):
        bound = await _aapprove(tool, bound, RawCall(args, kwargs, settings.context), settings, life)
    RUNNING_CALL.set(life if tool.has_key else None)  # in this task only, or in that of a caller who awaits a tool
    record = partial(life.begin, partial(arguments_as_json, tool, bound))
    if life.is_recorded and tool.thread is None:
        (await to_thread(partial(capture, record)))()
    begin = partial(_begin, tool, bound, settings, life)
    try:
        outcome = capture(begin) if tool.is_async else await arun_in_thread(tool, begin, life, record)
        try:
            output = await _await_with_timeout(tool, outcome(), settings.reraise)
        except StopIteration:
            # A coroutine cannot raise it, so the caller of this one does.
            return outcome, bound
        return (lambda: output), bound
    except BaseException as error:
        life.give_up()
        if _is_foreign_cancellation(error):
            message = f"{tool.name} was cancelled, but not by its caller: try again, or continue without it"
            raise ToolError(message) from error
        raise


async def _aapprove(
    tool: "Definition", bound: "BoundCall", raw: RawCall, settings: CallSettings, life: CallLife
) -> "BoundCall":
    from anyio import move_on_after

    require_answerable(tool.name, settings.approve, life)
    # In a thread, because people are slow and the event loop must not wait for them.
    question = partial(capture, partial(ask, tool, bound, settings.approve, life))
    answered: tuple[ApprovalRequest, object] | None = None
    with (
        life.pausing(),
        approval_waiting(tool.name),
        move_on_after(life.approval_seconds),
        refuse_on_failure(tool.name, settings.reraise),
    ):
        request, answer = (await to_thread(question))()
        answered = request, await _await_output(tool.name, make_items(tool.name, answer), settings.reraise)
    request, answer = answered or await to_thread(_decide_late, tool, bound, life)
    if life.is_recorded:
        decision = (await to_thread(partial(capture, partial(conclude, request, answer, life))))()
    else:
        decision = conclude(request, answer, life)
    arguments = request.changed_arguments(decision)
    if arguments is None:
        return bound
    return await _run_check_in_thread(partial(raw.rebind, tool, bound, request, arguments))


async def _run_check_in_thread(check: Callable[[], R]) -> R:
    return (await to_thread(partial(run_to_completion, partial(capture, check))))()


async def _await_with_timeout(tool: "Definition", output: object, reraise: _Exceptions) -> object:
    if tool.timeout is None or type(output) is not PendingOutput:
        return await _await_output(tool.name, output, reraise)
    from anyio import move_on_after

    with move_on_after(tool.timeout):
        return await _await_output(tool.name, output, reraise)
    message = f"{tool.name} took longer than {tool.timeout:g} s and was cancelled: ask for less, or continue without it"
    raise ToolTimeoutError(message)


async def _await_output(tool: str, output: object, reraise: _Exceptions) -> object:
    try:
        return await amake_items(tool, output)
    except (Exception, *reraise):
        raise
    except BaseException as error:
        if _is_of_caller(error):
            raise
        raise _exit_error(tool, error) from error


def _is_of_caller(error: BaseException) -> bool:
    """Return whether an exception that is no `Exception` ends a task from outside, or a part of a group does."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_of_caller, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    is_cancellation = any(cls.__module__.partition(".")[0] in _LOOPS for cls in type(error).__mro__)
    return is_cancellation or isinstance(error, (KeyboardInterrupt, GeneratorExit, CallInterrupted))


def _is_foreign_cancellation(error: BaseException) -> bool:
    """Return whether a tool met a cancellation of something it awaited, such as a future, not of its own task."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # another library's loop runs here
        return False
    return task is not None and not task.cancelling()


# Both -----------------------------------------------------------------------------------------------------------------


def _bind(
    tool: "Definition", args: Sequence[object], kwargs: Mapping[str, object], settings: CallSettings
) -> "BoundCall":
    tool.running.check(tool.name)  # before it costs a thread or bothers an approver
    if tool.requires_approval:
        # What the approver sees must not change afterwards, even if others hold references to it.
        args, kwargs = detach(args), detach(kwargs)
    return tool.binder.bind(args, kwargs, context=settings.context)


def _decide_late(tool: "Definition", bound: "BoundCall", life: CallLife) -> tuple[ApprovalRequest, object]:
    """Return the question and the answer of no one, or the decision made earlier: a busy machine is late as well."""
    request = approval_request(tool, bound, life)
    return request, life.recall(request) or late_decision(tool.name, life)


def _begin(tool: "Definition", bound: "BoundCall", settings: CallSettings, life: CallLife) -> object:
    """Call the function, counted as running, unless the caller has given up."""
    tool.running.begin(tool.name, life)
    try:
        return _call_function(tool, bound, settings)
    finally:
        tool.running.end(life)


def _call_function(tool: "Definition", bound: "BoundCall", settings: CallSettings) -> object:
    """Call the function. An attempt to end the interpreter or the task is a failure of the tool."""
    try:
        output = tool.function(*bound.args, **bound.kwargs)
        return output if type(output) in _PLAIN else make_items(tool.name, output)
    except (Exception, KeyboardInterrupt, CallInterrupted, *settings.reraise):
        raise
    except BaseException as error:
        raise _exit_error(tool.name, error) from error


def _refuse_async(subject: str) -> NoReturn:
    message = f"{subject} is asynchronous and cannot run in a blocking call: await it instead"
    raise ToolError(message)


def _exit_error(tool: str, error: BaseException) -> ToolError:
    return ToolError(f"{tool} tried to end the host's process ({type(error).__name__}: {log_text(error)})")


def _milliseconds_since(started: float) -> float:
    return (perf_counter() - started) * 1000
