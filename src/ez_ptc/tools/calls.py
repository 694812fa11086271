"""The one place where a tool runs, whoever asked for it.

Theory of operation. A call has one life, in this order and nowhere else: its arguments are checked and converted; where
the tool requires it, a person is asked about exactly what will run; it is looked whether anybody still waits for the
call; the function runs; what it raised or returned is the result. `run_call` goes through it in the caller's thread,
`arun_call` awaits: there, everything that may take long or is somebody else's code runs in a worker thread.

A caller may be gone at any moment: its program's time is over, or its task is cancelled. Its `CallLife` says so, and
what has not begun then does not begin. What has begun goes on in its thread, and counts as one of the `RunningCalls` of
its tool, which are bounded.
"""

import inspect
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar, cast

from ez_ptc._sync import run_coroutine, to_thread, within
from ez_ptc.errors import ToolError, ToolTimeoutError
from ez_ptc.messages import ToolResult
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.arguments.replacement import detached
from ez_ptc.tools.approval import Approve, Question, asking, not_answered, someone_to_ask
from ez_ptc.tools.approved_changes import RawCall
from ez_ptc.tools.call_lifetime import CallLife, to_the_end
from ez_ptc.tools.failures import failure, log_text

if TYPE_CHECKING:
    from ez_ptc.schema.arguments.binder import BoundCall
    from ez_ptc.tools.definitions.definition import Definition

__all__ = ["NO_SETTINGS", "CallSettings", "areturned", "arun_call", "returned", "run_call"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class CallSettings:
    """What the host adds to a call.

    `context` is the value of `Context` parameters, `approve` the approver, and exceptions of the kinds in `reraise` are
    raised to the caller instead of being a failure of the tool: a framework stops or goes on by them.
    """

    context: object = NO_CONTEXT
    approve: Approve | None = None
    reraise: tuple[type[BaseException], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether they add nothing."""
        return self.context is NO_CONTEXT and self.approve is None and not self.reraise

    def over(self, other: "CallSettings") -> "CallSettings":
        """Return these settings, and those of another where these say nothing."""
        return CallSettings(
            other.context if self.context is NO_CONTEXT else self.context,
            self.approve or other.approve,
            self.reraise or other.reraise,
        )

    def for_call(self, context: object, approve: Approve | None) -> "CallSettings":
        """Return these settings with those of one call, which go before."""
        return self if context is NO_CONTEXT and approve is None else CallSettings(context, approve).over(self)


NO_SETTINGS: Final = CallSettings()
_PLAIN: Final = frozenset({str, int, float, bool, type(None), dict, list, tuple})
"""What most functions return; whether it can be awaited need not be asked."""


# Blocking -------------------------------------------------------------------------------------------------------------


def run_call(
    tool: "Definition",
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings = NO_SETTINGS,
    life: CallLife | None = None,
) -> ToolResult:
    """Check a call's arguments, run the tool in this thread, and return how it ended.

    Whatever the tool or its caller did wrong is a result, and is logged. An asynchronous tool is such a mistake here:
    `arun_call` runs those. What a generator yields is returned as a list. A coroutine that a plain function returns, as
    one does that wraps an asynchronous function, runs to its end.
    """
    started = perf_counter()
    try:
        output, bound = _run(tool, args, kwargs, settings, life)
    except settings.reraise:
        raise
    except Exception as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        return failure(tool.name, error, duration_ms=_milliseconds_since(started))
    return ToolResult(success=True, output=output, repairs=bound.repairs, duration_ms=_milliseconds_since(started))


def returned(
    tool: "Definition",
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings = NO_SETTINGS,
) -> object:
    """Do the same as `run_call`, but return what the function returns, and raise what goes wrong once it is logged."""
    try:
        return _run(tool, args, kwargs, settings, None)[0]
    except settings.reraise:
        raise
    except Exception as error:  # a tool is foreign code and may raise anything; it is raised again
        failure(tool.name, error)
        raise


def _run(
    tool: "Definition",
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings,
    life: CallLife | None,
) -> "tuple[object, BoundCall]":
    if tool.is_async:
        _refuse_async(tool.name)
    check = (tool, args, kwargs, settings)
    bound = _bound(*check) if life is None else to_the_end(_bound, *check)
    if tool.requires_approval:
        bound = _approved(tool, bound, RawCall(args, kwargs, settings.context), settings, life or CallLife())
    run = partial(tool.function, *bound.args, **bound.kwargs)
    if life is None and tool.timeout is None:
        output = _own(tool.name, settings, run)
    else:
        output = _run_in_time(tool, run, settings, life or CallLife())
    return output if type(output) in _PLAIN else _finished(tool, _collected(output)), bound


def _run_in_time(tool: "Definition", run: Callable[[], object], settings: CallSettings, life: CallLife) -> object:
    """Call the function as long as it is wanted; where it has a timeout, in another thread, which is left to itself."""
    if tool.timeout is None:
        return _begun(tool, run, settings, life)
    try:
        outcome = within(tool.timeout, partial(_outcome, partial(_begun, tool, run, settings, life)))
    except TimeoutError:
        life.give_up()
        raise _left(tool) from None
    return outcome()


def _finished(tool: "Definition", output: object) -> object:
    # A decorator that is no coroutine function itself hides that the function in it is one.
    return run_coroutine(_awaited_in_time, tool, output) if _must_be_awaited(output) else output


def _approved(
    tool: "Definition", bound: "BoundCall", raw: RawCall, settings: CallSettings, life: CallLife
) -> "BoundCall":
    ask = partial(_ask, tool, bound, someone_to_ask(tool.name, settings.approve))
    with life.pausing():
        if life.approval_seconds is None:
            outcome = _outcome(ask)
        else:
            try:
                outcome = within(life.approval_seconds, partial(_outcome, ask))
            except TimeoutError:
                raise not_answered(tool.name, life.approval_seconds) from None
    with asking(tool.name, settings.reraise):
        question, answer = outcome()
    instead = question.decided(_blocking(answer, f"the approval of {tool.name}"))
    return bound if instead is None else raw.changed(tool, bound, question, instead)


# Awaited --------------------------------------------------------------------------------------------------------------


async def arun_call(
    tool: "Definition",
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings = NO_SETTINGS,
    life: CallLife | None = None,
) -> ToolResult:
    """Do the same as `run_call`, but await asynchronous tools, and run others in a worker thread.

    The thread sees the caller's context variables. When the call is cancelled, the thread is left to itself.
    """
    started = perf_counter()
    try:
        outcome, bound = await _arun(tool, args, kwargs, settings, life or CallLife())
        output = outcome()
    except settings.reraise:
        raise
    except Exception as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        return failure(tool.name, error, duration_ms=_milliseconds_since(started))
    return ToolResult(success=True, output=output, repairs=bound.repairs, duration_ms=_milliseconds_since(started))


async def areturned(
    tool: "Definition",
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings = NO_SETTINGS,
) -> object:
    """Do the same as `arun_call`, but return what the function returns, and raise what goes wrong once it is logged."""
    try:
        return (await _arun(tool, args, kwargs, settings, CallLife()))[0]()
    except settings.reraise:
        raise
    except Exception as error:  # a tool is foreign code and may raise anything; it is raised again
        failure(tool.name, error)
        raise


async def _arun(
    tool: "Definition",
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings,
    life: CallLife,
) -> "tuple[Callable[[], object], BoundCall]":
    bound = await _abound(tool, args, kwargs, settings)
    if tool.requires_approval:
        bound = await _aapproved(tool, bound, RawCall(args, kwargs, settings.context), settings, life)
    run = partial(tool.function, *bound.args, **bound.kwargs)
    try:
        outcome = await _called(tool, partial(_begun, tool, run, settings, life), life)
        try:
            output = await _awaited_in_time(tool, outcome())
        except StopIteration:
            # No coroutine can raise it: whoever called this one does.
            return outcome, bound
        return (lambda: output), bound
    except BaseException as error:
        life.give_up()
        if _is_its_own_cancellation(error):
            message = f"{tool.name} was cancelled, and not by its caller: try again, or go on without it"
            raise ToolError(message) from error
        raise


async def _called(tool: "Definition", begun: Callable[[], object], life: CallLife) -> Callable[[], object]:
    if tool.is_async:
        return _outcome(begun)
    try:
        return await to_thread(_outcome, begun, seconds=tool.timeout)
    except TimeoutError:  # the tool's own is in its outcome
        life.give_up()
        raise _left(tool) from None


async def _aapproved(
    tool: "Definition", bound: "BoundCall", raw: RawCall, settings: CallSettings, life: CallLife
) -> "BoundCall":
    from anyio import move_on_after

    # In a thread, because a person takes their time and the event loop must not wait for them.
    ask = partial(_outcome, partial(_ask, tool, bound, someone_to_ask(tool.name, settings.approve)))
    answered: tuple[Question, object] | None = None
    with life.pausing(), move_on_after(life.approval_seconds), asking(tool.name, settings.reraise):
        question, answer = (await to_thread(ask))()
        answered = question, await _awaited(tool.name, answer)
    if answered is None:
        raise not_answered(tool.name, life.approval_seconds)
    question, answer = answered
    instead = question.decided(answer)
    if instead is None:
        return bound
    bind = partial(raw.changed, tool, bound, question, instead)
    return (await to_thread(partial(to_the_end, partial(_outcome, bind))))()


async def _abound(
    tool: "Definition", args: Sequence[object], kwargs: Mapping[str, object], settings: CallSettings
) -> "BoundCall":
    bind = partial(_bound, tool, args, kwargs, settings)
    if tool.binder.is_quick(args, kwargs):
        return bind()
    return (await to_thread(partial(to_the_end, partial(_outcome, bind))))()


async def _awaited_in_time(tool: "Definition", output: object) -> object:
    if tool.timeout is None or not _must_be_awaited(output):
        return await _awaited(tool.name, output)
    from anyio import move_on_after

    with move_on_after(tool.timeout):
        return await _awaited(tool.name, output)
    message = f"{tool.name} took longer than {tool.timeout:g} s and was cancelled: ask for less, or go on without it"
    raise ToolTimeoutError(message)


async def _awaited(tool: str, output: object) -> object:
    try:
        if inspect.isasyncgen(output):
            return [item async for item in cast("AsyncGenerator[object]", output)]
        return await cast("Awaitable[object]", output) if inspect.isawaitable(output) else output
    except SystemExit as error:
        raise _no_end(tool, error) from error


def _is_its_own_cancellation(error: BaseException) -> bool:
    """Say whether a tool met a cancellation that is not of the task that runs it, as of a future that it waited for."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # another library's loop runs here
        return False
    return task is not None and not task.cancelling()


# Both -----------------------------------------------------------------------------------------------------------------


def _bound(
    tool: "Definition", args: Sequence[object], kwargs: Mapping[str, object], settings: CallSettings
) -> "BoundCall":
    tool.running.check(tool.name)  # before a thread is started for it, or a person asked
    if tool.requires_approval:
        # What a person is asked about must not change afterwards, whoever else has it.
        args, kwargs = detached(args), detached(kwargs)
    return tool.binder.bind(args, kwargs, context=settings.context)


def _ask(tool: "Definition", bound: "BoundCall", approve: Approve) -> tuple[Question, object]:
    question = Question.about(tool, bound)
    return question, approve(question.call)


def _begun(tool: "Definition", run: Callable[[], object], settings: CallSettings, life: CallLife) -> object:
    """Call the function if the call is still wanted."""
    tool.running.begin(tool.name, life)
    try:
        return _own(tool.name, settings, run)
    finally:
        tool.running.end(life)


def _own(tool: str, settings: CallSettings, run: Callable[[], object]) -> object:
    """Call the function; where it wants to end the interpreter or the task, it has failed."""
    try:
        output = run()
        return output if type(output) in _PLAIN else _collected(output)
    except (Exception, KeyboardInterrupt, *settings.reraise):
        raise
    except BaseException as error:
        raise _no_end(tool, error) from error


def _no_end(tool: str, error: BaseException) -> ToolError:
    name = type(error).__name__
    return ToolError(f"{tool} tried to end the program that it runs in ({name}: {log_text(error)})")


def _outcome(run: Callable[[], R]) -> Callable[[], R]:
    """Run foreign code and return how to go on: a way around `StopIteration`, which no future carries."""
    try:
        output = run()
    except BaseException as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        raised = error

        def fail() -> R:
            raise raised

        return fail
    return lambda: output


def _collected(output: object) -> object:
    return list(cast("Generator[object]", output)) if inspect.isgenerator(output) else output


def _blocking(output: object, subject: str) -> object:
    if not _must_be_awaited(output):
        return output
    if isinstance(output, Coroutine):
        output.close()
    return _refuse_async(subject)


def _must_be_awaited(output: object) -> bool:
    return inspect.isawaitable(output) or inspect.isasyncgen(output)


def _refuse_async(subject: str) -> NoReturn:
    message = f"{subject} is asynchronous and cannot run in a blocking call: await it instead"
    raise ToolError(message)


def _left(tool: "Definition") -> ToolTimeoutError:
    message = (
        f"{tool.name} took longer than {tool.timeout:g} s and is no longer waited for, though it may still have its "
        f"effect: ask for less, or go on without it"
    )
    return ToolTimeoutError(message)


def _milliseconds_since(started: float) -> float:
    return (perf_counter() - started) * 1000
