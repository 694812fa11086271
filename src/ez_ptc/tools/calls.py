"""The one place where a tool runs, whoever asked for it: check the arguments, ask, call, and say how it ended."""

import inspect
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Final, NoReturn, Protocol, cast

from ez_ptc._sync import run_coroutine, to_thread, within
from ez_ptc.errors import ArgumentsError, ToolError, ToolNotFoundError, ToolTimeoutError
from ez_ptc.messages import ToolResult
from ez_ptc.schema.context import NO_CONTEXT
from ez_ptc.tools.approval import Approve, decided, question, someone_to_ask

__all__ = ["CallSettings", "CallableTool", "arun_call", "error_text", "failure", "returned", "run_call"]

_MESSAGE_WIDTH: Final = 4000

_log = logging.getLogger("ez_ptc.tools")
# A library that nobody configured logging for keeps quiet.
_log.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class CallSettings:
    """What the host adds to a call: the value that its `Context` parameters get, and who approves of it."""

    context: object = NO_CONTEXT
    approve: Approve | None = None


_NO_SETTINGS: Final = CallSettings()
_PLAIN: Final = frozenset({str, int, float, bool, type(None), dict, list, tuple})
"""What most functions return; whether it can be awaited need not be asked."""


class _Bound(Protocol):
    @property
    def args(self) -> tuple[object, ...]: ...
    @property
    def kwargs(self) -> dict[str, object]: ...
    @property
    def mended(self) -> tuple[str, ...]: ...


class CallableTool(Protocol):
    """As much of a tool as running it needs."""

    @property
    def name(self) -> str:
        """What a model calls it."""
        ...

    @property
    def fn(self) -> Callable[..., object]:
        """The function."""
        ...

    @property
    def is_async(self) -> bool:
        """Whether calling the function gives something to await."""
        ...

    @property
    def requires_approval(self) -> bool:
        """Whether a person must say yes to each call."""
        ...

    @property
    def timeout(self) -> float | None:
        """How many seconds a call may take, or None for any time."""
        ...

    @property
    def positional_names(self) -> tuple[str, ...]:
        """The names of the arguments that may be passed by position, in order."""
        ...

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object], *, context: object = NO_CONTEXT) -> _Bound:
        """Check and convert the arguments of a call."""
        ...


def run_call(
    tool: CallableTool,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings = _NO_SETTINGS,
) -> ToolResult:
    """Check a call's arguments, run the tool in this thread, and return how it ended.

    Whatever the tool or its caller did wrong is a result, and is logged. An asynchronous tool is such a mistake here:
    `arun_call` runs those. What a generator yields is returned as a list. A coroutine that a plain function returns, as
    one does that wraps an asynchronous function, runs to its end.
    """
    started = perf_counter()
    try:
        output, bound = _ran(tool, args, kwargs, settings)
    except Exception as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        return failure(tool.name, error, duration_ms=_milliseconds_since(started))
    return ToolResult(success=True, output=output, mended=bound.mended, duration_ms=_milliseconds_since(started))


def returned(tool: CallableTool, kwargs: Mapping[str, object], settings: CallSettings = _NO_SETTINGS) -> object:
    """Do the same as `run_call`, but return what the function returns, and raise what goes wrong once it is logged."""
    try:
        return _ran(tool, (), kwargs, settings)[0]
    except Exception as error:
        failure(tool.name, error)
        raise


def _ran(
    tool: CallableTool, args: Sequence[object], kwargs: Mapping[str, object], settings: CallSettings
) -> tuple[object, _Bound]:
    if tool.is_async:
        _refuse_async(tool.name)
    bound = tool.bind(args, kwargs, context=settings.context)
    if tool.requires_approval:
        approve = someone_to_ask(tool.name, settings.approve)
        answer = approve(question(tool.name, tool.positional_names, args, kwargs))
        bound = _rebound(tool, _blocking(answer, f"the approval of {tool.name}"), bound, settings)
    output = tool.fn(*bound.args, **bound.kwargs) if tool.timeout is None else _in_time(tool, bound, tool.timeout)
    return output if type(output) in _PLAIN else _finished(tool, _collected(output)), bound


def _finished(tool: CallableTool, output: object) -> object:
    # A decorator that is no coroutine function itself hides that the function in it is one.
    return run_coroutine(_awaited_in_time, tool, output) if _must_be_awaited(output) else output


def _in_time(tool: CallableTool, bound: _Bound, seconds: float) -> object:
    """Call the function in another thread, which is left to itself when the time is over."""
    try:
        outcome = within(seconds, partial(_outcome, partial(tool.fn, *bound.args, **bound.kwargs)))
    except TimeoutError:
        raise _left(tool) from None
    return outcome()


async def arun_call(
    tool: CallableTool,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    settings: CallSettings = _NO_SETTINGS,
) -> ToolResult:
    """Do the same as `run_call`, but await asynchronous tools, and run others in a worker thread.

    The thread sees the caller's context variables. When the call is cancelled, the thread is left to itself.
    """
    started = perf_counter()
    try:
        bound = tool.bind(args, kwargs, context=settings.context)
        if tool.requires_approval:
            approve = someone_to_ask(tool.name, settings.approve)
            call = question(tool.name, tool.positional_names, args, kwargs)
            # In a thread, because a person takes their time and the event loop must not wait for them.
            answer = await _awaited((await to_thread(_outcome, partial(approve, call)))())
            bound = _rebound(tool, answer, bound, settings)
        outcome = await _called(tool, partial(tool.fn, *bound.args, **bound.kwargs))
        output = await _awaited_in_time(tool, outcome())
    except Exception as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        return failure(tool.name, error, duration_ms=_milliseconds_since(started))
    except BaseException as error:  # a cancellation is no Exception; all but one of the tool's own is raised again
        if not _is_its_own_cancellation(error):
            raise
        message = f"{tool.name} was cancelled, and not by who called it: try again, or go on without it"
        return failure(tool.name, ToolError(message), duration_ms=_milliseconds_since(started))
    return ToolResult(success=True, output=output, mended=bound.mended, duration_ms=_milliseconds_since(started))


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


async def _called(tool: CallableTool, run: Callable[[], object]) -> Callable[[], object]:
    if tool.is_async:
        return _outcome(run)
    try:
        return await to_thread(_outcome, run, seconds=tool.timeout)
    except TimeoutError:  # the tool's own is in its outcome
        raise _left(tool) from None


async def _awaited_in_time(tool: CallableTool, output: object) -> object:
    if tool.timeout is None:
        return await _awaited(output)
    from anyio import move_on_after

    with move_on_after(tool.timeout):
        return await _awaited(output)
    message = f"{tool.name} took longer than {tool.timeout:g} s and was cancelled: ask for less, or go on without it"
    raise ToolTimeoutError(message)


def _left(tool: CallableTool) -> ToolTimeoutError:
    message = (
        f"{tool.name} took longer than {tool.timeout:g} s and is no longer waited for, though it may still have its "
        f"effect: ask for less, or go on without it"
    )
    return ToolTimeoutError(message)


def failure(tool: str, error: Exception, *, duration_ms: float = 0.0) -> ToolResult:
    """Log what a call ended with, and return it as a result."""
    text = error_text(error)
    if isinstance(error, ArgumentsError | ToolNotFoundError):
        _log.warning("call refused: %s", text)
    else:
        _log.warning("%s failed: %s", tool, text, exc_info=error)
    return ToolResult(success=False, error=text, exception=error, duration_ms=duration_ms)


def error_text(error: BaseException) -> str:
    """Return what a model reads of an exception: its message, never a traceback.

    An exception that has none, or whose message is a key alone, is preceded by its class.
    """
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an exception's own text is foreign code too
        return name
    if len(message) > _MESSAGE_WIDTH:
        message = f"{message[: _MESSAGE_WIDTH - 1]}…"
    if not message.strip():
        return name
    return f"{name}: {message}" if isinstance(error, KeyError) else message


def _rebound(tool: CallableTool, answer: object, bound: _Bound, settings: CallSettings) -> _Bound:
    instead = decided(tool.name, answer)
    return bound if instead is None else tool.bind((), instead, context=settings.context)


def _outcome(run: Callable[[], object]) -> Callable[[], object]:
    """Run foreign code and return how to go on: a way around `StopIteration`, which no future carries."""
    try:
        output = _collected(run())
    except Exception as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        raised = error

        def fail() -> object:
            raise raised

        return fail
    return lambda: output


async def _awaited(output: object) -> object:
    if inspect.isasyncgen(output):
        return [item async for item in cast("AsyncGenerator[object]", output)]
    return await cast("Awaitable[object]", output) if inspect.isawaitable(output) else output


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


def _milliseconds_since(started: float) -> float:
    return (perf_counter() - started) * 1000
