"""The one place where a tool runs, whoever asked for it: check the arguments, call, and say how it ended."""

import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from time import perf_counter
from typing import Final, Protocol, cast

from ez_ptc._sync import to_thread
from ez_ptc.errors import ArgumentsError, ToolError
from ez_ptc.messages import ToolResult

__all__ = ["CallableTool", "arun_call", "error_text", "run_call"]

_MESSAGE_WIDTH: Final = 4000

_log = logging.getLogger("ez_ptc.tools")
# A library that nobody configured logging for keeps quiet.
_log.addHandler(logging.NullHandler())


class _Bound(Protocol):
    @property
    def args(self) -> tuple[object, ...]: ...
    @property
    def kwargs(self) -> dict[str, object]: ...


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

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> _Bound:
        """Check and convert the arguments of a call."""
        ...


def run_call(tool: CallableTool, args: Sequence[object], kwargs: Mapping[str, object]) -> ToolResult:
    """Check a call's arguments, run the tool in this thread, and return how it ended.

    Whatever the tool or its caller did wrong is a result, and is logged. An asynchronous tool is such a mistake here:
    `arun_call` runs those. What a generator yields is returned as a list.
    """
    started = perf_counter()
    try:
        if tool.is_async:
            _refuse_async(tool)
        bound = tool.bind(args, kwargs)
        output = _collected(tool.fn(*bound.args, **bound.kwargs))
        if inspect.isawaitable(output) or inspect.isasyncgen(output):
            _discard(output)
            _refuse_async(tool)
    except Exception as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        return _failed(tool, error, started)
    return ToolResult(success=True, output=output, duration_ms=_milliseconds_since(started))


async def arun_call(tool: CallableTool, args: Sequence[object], kwargs: Mapping[str, object]) -> ToolResult:
    """Do the same as `run_call`, but await asynchronous tools, and run others in a worker thread.

    The thread sees the caller's context variables. When the call is cancelled, the thread is left to itself.
    """
    started = perf_counter()
    try:
        bound = tool.bind(args, kwargs)
        outcome = _outcome(tool, bound) if tool.is_async else await to_thread(_outcome, tool, bound)
        output = await _awaited(outcome())
    except Exception as error:  # noqa: BLE001 - a tool is foreign code and may raise anything
        return _failed(tool, error, started)
    return ToolResult(success=True, output=output, duration_ms=_milliseconds_since(started))


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


def _outcome(tool: CallableTool, bound: _Bound) -> Callable[[], object]:
    """Run a tool and return how to go on: a way around `StopIteration`, which no future carries."""
    try:
        output = _collected(tool.fn(*bound.args, **bound.kwargs))
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


def _discard(output: object) -> None:
    if isinstance(output, Coroutine):
        output.close()


def _refuse_async(tool: CallableTool) -> None:
    message = f"{tool.name} is asynchronous and cannot run in a blocking call: await it instead"
    raise ToolError(message)


def _failed(tool: CallableTool, error: Exception, started: float) -> ToolResult:
    text = error_text(error)
    if isinstance(error, ArgumentsError):
        _log.warning("call refused: %s", text)
    else:
        _log.warning("%s failed: %s", tool.name, text, exc_info=error)
    return ToolResult(success=False, error=text, exception=error, duration_ms=_milliseconds_since(started))


def _milliseconds_since(started: float) -> float:
    return (perf_counter() - started) * 1000
