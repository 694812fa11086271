"""Sessions: programs that share their variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from ez_ptc._sync import run_coroutine
from ez_ptc.schema.annotations.context import NO_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from ez_ptc.sandbox.execution import ExecutionResult, Limits
    from ez_ptc.sandbox.protocols import SandboxSession
    from ez_ptc.toolkit.channel import ToolChannel
    from ez_ptc.tools.approval import Approver

__all__ = ["Session"]


class Session:
    """Programs of a toolkit that share their variables: the next program can use what the last one defined.

    Use it as a context manager or call `close()` to end its process; it also ends, with a ResourceWarning, when the
    session is dropped. A session runs one program at a time. The limits apply to each program, except that the memory
    of the variables counts for all. Variables and imported modules survive a program; threads, executors and event
    loops end with it.

    The variables are lost if a program is killed, as after a timeout. Its result says so, and the next program starts
    with none. If no one got that result, because `aexecute` was cancelled, the next program is not run and its result
    says so instead.
    """

    def __init__(self, toolkit: object, programs: SandboxSession, channel: ToolChannel, limits: Limits) -> None:
        """Use `Toolkit.session` instead."""
        self._toolkit = toolkit  # keeps the shared sandbox open
        self._programs = programs
        self._channel = channel
        self._limits = limits

    def execute(self, code: str, timeout: float | None = None) -> ExecutionResult:
        """Run a program and return its result, as `Toolkit.execute` does.

        Raises:
            IsolationUnavailableError: The kernel lacks a required isolation feature.
            SandboxError: The sandbox failed, not the program; or the session is already running a program, is closed,
                or was closed while the program ran.
        """
        # Asynchronous tools need an event loop, which `aexecute` runs on.
        if self._channel.grants.has_async_tools:
            return run_coroutine(self.aexecute, code, timeout)
        return self._programs.execute(code, self._channel, self._limits.with_timeout(timeout))

    async def aexecute(
        self,
        code: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's time, not the task's
        *,
        context: object = NO_CONTEXT,
        approve: Approver | None = None,
        on_tool_call: Callable[[dict[str, Any]], None] | None = None,
    ) -> ExecutionResult:
        """Same as `execute`, but awaits; cancelling it ends the program and drops the variables.

        `context` and `approve` replace the toolkit's; `on_tool_call` is called in addition to the toolkit's.
        """
        channel = self._channel.with_settings(context, approve, on_tool_call)
        return await self._programs.aexecute(code, channel, self._limits.with_timeout(timeout))

    def close(self) -> None:
        """End the session's process. If a program is still running, its caller gets a SandboxError.

        Closing twice is harmless, in another thread and in a signal handler too.
        """
        self._programs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
