"""Programs and their calls as OpenTelemetry spans and metrics, and as log records.

Neither has code, arguments, output or error messages, except for spans if content is asked for. If no one reads them,
`watched` returns the sandbox itself, so that programs and calls cost nothing more.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from ez_ptc.messages import ToolCall, ToolResult
from ez_ptc.telemetry.metrics import current_metrics, error_label
from ez_ptc.telemetry.tracing import Notes, current_call, is_tracing
from ez_ptc.tools.call_spans import add_result, call_span

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from ez_ptc.sandbox.protocol.execution import ExecutionResult, Grants, Limits
    from ez_ptc.sandbox.protocol.interfaces import Channel, KeptResults, Observer, Recorder
    from ez_ptc.telemetry.settings import Attributes
    from ez_ptc.toolkit.execution.channel import ToolChannel
    from ez_ptc.tools.call_lifetime import CallLife

__all__ = ["ProgramSandbox", "watched"]

_PROGRAM_TOOL: Final = "execute_tools"

_log = logging.getLogger("ez_ptc.toolkit")
# Without it, Python would print warnings to stderr when the application has not configured logging.
_log.addHandler(logging.NullHandler())


class ProgramSandbox(Protocol):
    """A sandbox or a session of one."""

    def execute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Run a program to completion."""
        ...

    async def aexecute(self, code: str, channel: Channel, limits: Limits) -> ExecutionResult:
        """Same as `execute`, but awaits."""
        ...


S = TypeVar("S", bound=ProgramSandbox)


def watched(sandbox: S) -> S | _WatchedSandbox:
    """Return a sandbox whose programs and calls become spans, metrics and log records, if anyone reads them."""
    if _log.isEnabledFor(logging.INFO) or is_tracing() or current_metrics() is not None:
        return _WatchedSandbox(sandbox)
    return sandbox


@dataclass(frozen=True, slots=True)
class _WatchedSandbox:
    sandbox: ProgramSandbox

    def execute(self, code: str, channel: ToolChannel, limits: Limits) -> ExecutionResult:
        with _measured(), _program_span(code) as notes:
            result = self.sandbox.execute(code, _WatchedChannel(channel), limits)
            _report_end(notes, result, channel.recorder)
            return result

    async def aexecute(self, code: str, channel: ToolChannel, limits: Limits) -> ExecutionResult:
        with _measured(), _program_span(code) as notes:
            result = await self.sandbox.aexecute(code, _WatchedChannel(channel), limits)
            _report_end(notes, result, channel.recorder)
            return result


@dataclass(frozen=True, slots=True)
class _WatchedChannel:
    """A channel whose calls are watched; `Channel` documents the methods."""

    channel: ToolChannel

    @property
    def recorder(self) -> Recorder | None:
        return self.channel.recorder

    @property
    def observer(self) -> Observer | None:
        return self.channel.observer

    @property
    def grants(self) -> Grants:
        return self.channel.grants

    @property
    def results(self) -> KeptResults | None:
        return self.channel.results

    @property
    def finders(self) -> Grants | None:
        return self.channel.finders

    @property
    def has_listeners(self) -> bool:
        return self.channel.has_listeners

    def call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        with call_span(ToolCall("", name, self.channel.named_arguments(name, args, kwargs))) as notes:
            result = self.channel.call(name, args, kwargs, life)
            _report_call(notes, name, result)
            return result

    async def acall(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        with call_span(ToolCall("", name, self.channel.named_arguments(name, args, kwargs))) as notes:
            result = await self.channel.acall(name, args, kwargs, life)
            _report_call(notes, name, result)
            return result

    def report_call(self, record: dict[str, Any]) -> None:
        self.channel.report_call(record)


def _program_span(code: str) -> AbstractContextManager[Notes]:
    """Record a program as a call of `execute_tools`, in its span if there is one."""
    notes = current_call(_PROGRAM_TOOL)
    if notes is not None:
        return nullcontext(notes)
    return call_span(ToolCall("", _PROGRAM_TOOL, {"code": code}))


@contextmanager
def _measured() -> Generator[None]:
    """Measure a program without a result: it was cancelled, or its sandbox has failed."""
    started = perf_counter()
    try:
        yield
    except BaseException as error:
        metrics = current_metrics()
        if metrics is not None:
            metrics.record_program("aborted", perf_counter() - started, error_label(type(error).__name__))
        raise


def _report_end(notes: Notes, result: ExecutionResult, recorder: Recorder | None) -> None:
    attributes: Attributes = {"ez_ptc.program.status": result.status, "ez_ptc.program.calls": len(result.tool_calls)}
    if recorder is not None:
        attributes["ez_ptc.run.id"] = recorder.run_id
    notes.add(attributes)
    if notes.wants_content:
        notes.add({"gen_ai.tool.call.result": result.to_string()})
    ending: str = result.status
    error_type = None
    if result.status == "failed":
        # A class of the program could be named after a secret, a built-in one is not.
        error_type = error_label((result.error or "").partition(":")[0])
        notes.fail(error_type)
        ending = f"failed ({error_type})"
    metrics = current_metrics()
    if metrics is not None:
        metrics.record_program(result.status, result.duration_ms / 1000, error_type)
    run = "" if recorder is None else f" of run {recorder.run_id}"
    _log.info("program%s %s in %.1f ms, calls: %d", run, ending, result.duration_ms, len(result.tool_calls))


def _report_call(notes: Notes, name: str, result: ToolResult) -> None:
    add_result(notes, result)
    ending = "done" if result.success else f"failed ({type(result.exception).__name__})"
    _log.debug("%s %s in %.1f ms", name, ending, result.duration_ms)
