"""Programs that share their names, one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from ez_ptc._sync import run_coroutine
from ez_ptc.schema.annotations.context import NO_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from ez_ptc.sandbox.execution import ExecutionResult, Limits, SandboxSession
    from ez_ptc.toolkit.channel import ToolChannel
    from ez_ptc.tools.approval import Approve

__all__ = ["Session"]


class Session:
    """A toolkit's programs that share their names: what one defines, the next one uses.

    Use it as a context manager, or call `close()`, to end its process. It also ends, with a ResourceWarning, when the
    session is dropped. It runs one program at a time. Each program has the toolkit's limits to itself, but what the
    names hold counts as memory of all. Threads, executors and event loops end with the program that started them;
    names, imported modules and what was printed before stay as they are.

    Where a program has to be killed, as after its timeout, the names are gone. Its result says so, and the next program
    starts anew. Where nobody got a result, as when `aexecute` was cancelled, the next program is not run: its result
    says so in that place.
    """

    def __init__(self, toolkit: object, programs: SandboxSession, channel: ToolChannel, limits: Limits) -> None:
        """Take a sandbox's session, and where and within what its programs run. `Toolkit.session` makes it.

        `toolkit` lives as long as the session does.
        """
        self._toolkit = toolkit
        self._programs = programs
        self._channel = channel
        self._limits = limits

    def execute(self, code: str, timeout: float | None = None) -> ExecutionResult:
        """Run a program and return how it ended, as `Toolkit.execute` does.

        Raises:
            IsolationUnavailableError: The kernel does not give the isolation that is required.
            SandboxError: The sandbox failed, not the program; or the session runs a program already, is closed, or was
                closed while the program ran.
        """
        if self._channel.has_async_tools:
            return run_coroutine(self.aexecute, code, timeout)
        return self._programs.execute(code, self._channel, self._within(timeout))

    async def aexecute(
        self,
        code: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's time, not the task's
        *,
        context: object = NO_CONTEXT,
        approve: Approve | None = None,
        on_tool_call: Callable[[dict[str, Any]], None] | None = None,
    ) -> ExecutionResult:
        """Do the same as `execute`, but await; cancelling it ends the program, and the names with it.

        `context` and `approve` stand in for the toolkit's own in this program; `on_tool_call` is called besides it.
        """
        channel = self._channel.with_settings(context, approve, on_tool_call)
        return await self._programs.aexecute(code, channel, self._within(timeout))

    def _within(self, timeout: float | None) -> Limits:
        return self._limits if timeout is None else replace(self._limits, timeout=timeout)

    def close(self) -> None:
        """End the session's process. Closing twice is fine, in another thread and in a signal handler, too.

        A program that still runs raises SandboxError where it was called.
        """
        self._programs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
