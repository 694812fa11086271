"""Programmatic tool calling: tools and a sandbox, seen by a model as one tool."""

from __future__ import annotations

import weakref
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ez_ptc._lazy import lazy
from ez_ptc._sync import run_coroutine, to_thread
from ez_ptc.errors import SandboxError
from ez_ptc.sandbox.execution import Limits
from ez_ptc.sandbox.process.packages import find_packages
from ez_ptc.sandbox.worker.running.predefined import PROVIDED
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.channel import ToolChannel
from ez_ptc.toolkit.shared_sandbox import Share
from ez_ptc.tools.calls import CallSettings
from ez_ptc.tools.definitions.names import tool_spellings
from ez_ptc.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator
    from types import TracebackType

    from ez_ptc.sandbox.execution import ExecutionResult, Sandbox
    from ez_ptc.toolkit.prompts import Guide
    from ez_ptc.toolkit.session import Session
    from ez_ptc.tools.approval import Approve
    from ez_ptc.tools.tool import Tool

__all__ = ["Toolkit"]

R = TypeVar("R")


@dataclass(eq=False, slots=False)
class Toolkit:
    """Tools that a model calls from programs it writes, and the sandbox that runs the programs.

    Use it as a context manager, or call `close()`, to end the sandbox's processes; they end with the host in any case.
    Toolkits without a `sandbox` of their own share one, and its processes end with the last of them that is closed or
    dropped. A toolkit may be used from any thread and any event loop.

    Attributes:
        tools: What programs may call, as `@ez_tool` makes them, or a registry of them; each name once. A name that
            Python cannot write is changed to one that it can, `get_weather` for `get-weather`, and one that hides a
            built-in of Python's or what programs are provided with ends with an underscore, as `print_`.
        preamble: Replaces the introduction of `prompt()`.
        postamble: Replaces the instructions at the end of `prompt()`.
        tool_preamble: Replaces the introduction of `tool_prompt()` and of the description of `execute_tools`.
        assist_tool_chaining: Tell the model what each tool returns, where its return schema says so.
        timeout: Seconds that a program may take.
        error_hint: Replaces the sentence that tells a model to correct its program and try again; "" leaves it out.
        limits: What else a program may use; its `timeout` is overruled by `timeout` where that is given.
        on_tool_call: Called with the record of each tool call as it ends, from whichever thread ran the tool.
        sandbox: Where programs run, instead of the shared sandbox. Closing the toolkit does not close it.
        context: What the `Context` parameters of the tools get.
        approve: Who is asked about the calls of tools that require approval: it gets a `ToolCall`, and returns True, a
            dict of other arguments to run it with, or text that says why not. Without it, such calls are refused.
        reraise: Exceptions by which a framework stops or asks, as in `(GraphInterrupt,)`: where a tool raises one, it
            ends the program and leaves `execute`, instead of being a failure that the program is told of.
        allow_imports: Packages that programs may import besides the standard library, as in `["numpy"]`. They must be
            installed where this runs. A sandbox of its own is told itself.
    """

    tools: Iterable[Tool[..., Any]]
    preamble: str | None = None
    _: KW_ONLY
    postamble: str | None = None
    tool_preamble: str | None = None
    assist_tool_chaining: bool = False
    timeout: float | None = None
    error_hint: str | None = None
    limits: Limits = field(default_factory=Limits)
    on_tool_call: Callable[[dict[str, Any]], None] | None = None
    sandbox: Sandbox | None = None
    context: object = NO_CONTEXT
    approve: Approve | None = None
    reraise: tuple[type[BaseException], ...] = ()
    allow_imports: Iterable[str] = ()

    def __post_init__(self) -> None:
        """Check the tools.

        Raises:
            TypeError: Something is no tool.
            DuplicateToolError: Two tools have one name, or one in programs.
            MissingExtraError: A package that programs are to import is not installed.
            ValueError: Both a sandbox and packages are given.
        """
        self._packages = frozenset(find_packages(self.allow_imports).names)
        if self._packages and self.sandbox is not None:
            message = "a toolkit with a sandbox of its own takes no allow_imports: give them to ProcessSandbox"
            raise ValueError(message)
        tools = ToolRegistry(self.tools)
        self._registry = tools.renamed(tool_spellings((tool.name for tool in tools), PROVIDED))
        self.tools = tuple(self._registry)
        if self.timeout is not None:
            self.limits = replace(self.limits, timeout=self.timeout)
        self.timeout = self.limits.timeout
        self._running: Sandbox | None = self.sandbox
        self._is_closed = False
        self._share = Share(self._packages)
        if self.sandbox is None:
            # Without a warning: what is shared is nobody's own, and its processes end with the host in any case.
            weakref.finalize(self, self._share.release).atexit = False

    def __repr__(self) -> str:
        # A context, and whoever approves or listens, may hold secrets.
        return f"Toolkit({', '.join(tool.name for tool in self._registry)})"

    def __len__(self) -> int:
        return len(self._registry)

    def __iter__(self) -> Iterator[Tool[..., Any]]:
        return iter(self._registry)

    def get_tool(self, name: str) -> Tool[..., Any]:
        """Return the tool called `name`. Raises ToolNotFoundError with the names there are, nearest first."""
        return self._registry[name]

    # What a model reads -----------------------------------------------------------------------------------------------

    # What only writes and reads a model's texts is imported here, on first use: a program is executed without it.
    @lazy
    def _guide(self) -> Guide:
        from ez_ptc.toolkit.prompts import Guide

        return Guide(
            tools=tuple(self._registry),
            preamble=self.preamble,
            postamble=self.postamble,
            tool_preamble=self.tool_preamble,
            error_hint=self.error_hint,
            assist_tool_chaining=self.assist_tool_chaining,
        )

    def prompt(self) -> str:
        """Return the instructions for a system prompt, for models that answer with a program in a code block."""
        return self._guide.prompt()

    def tool_prompt(self) -> str:
        """Return what may be added to a system prompt where the model calls `execute_tools`; optional."""
        return self._guide.tool_prompt()

    def tool_schema(self, format: str = "openai") -> dict[str, Any]:  # noqa: A002 - the name seed users know
        """Return the definition of `execute_tools` as a provider takes it.

        Args:
            format: "openai-chat" (or "openai"), "openai-responses", "anthropic", "gemini", "mistral", "mcp", or "raw"
                (name, description and parameters).

        Raises:
            ValueError: No format has that name.
        """
        from ez_ptc.formats.catalog import format_named
        from ez_ptc.formats.describable import ToolShape

        parameters = {
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The Python program to run."}},
            "required": ["code"],
        }
        name, description = "execute_tools", self._guide.description()
        if format == "raw":
            return {"name": name, "description": description, "parameters": parameters}
        return format_named(format).describe(ToolShape(name, description, parameters))

    def extract_code(self, text: str) -> str | None:
        """Return the program in a model's answer, or None when there is none."""
        from ez_ptc.toolkit.program_extraction import extract_code

        return extract_code(text)

    def answer(self, code: str, result: ExecutionResult) -> str:
        """Return what a model should read after its program `code` has run: what it printed, or its error and a hint.

        `as_tool` answers with it by itself; where the model writes programs into its text, send it as the next message.
        """
        return self._guide.answer(code, result)

    def as_tool(self) -> Callable[[str], str]:
        """Return `execute_tools(code: str) -> str`, to register with a framework that calls tools and waits.

        It returns what a model should read: what the program printed, or its error and what to do. Its docstring lists
        the tools. For a framework that awaits its tools, use `aas_tool`.
        """

        def execute_tools(code: str) -> str:
            return self.answer(code, self.execute(code))

        return self._as_tool(execute_tools)

    def aas_tool(self) -> Callable[[str], Awaitable[str]]:
        """Do the same as `as_tool`, for a framework that awaits its tools."""

        async def execute_tools(code: str) -> str:
            return self.answer(code, await self.aexecute(code))

        return self._as_tool(execute_tools)

    def _as_tool(self, function: Callable[[str], R]) -> Callable[[str], R]:
        function.__qualname__ = function.__name__ = "execute_tools"
        function.__doc__ = self._guide.description() + "\n\nArgs:\n    code: The Python program to run."
        # Frameworks read real types, not the text that postponed annotations are.
        function.__annotations__ = {"code": str, "return": str}
        return function

    # Running programs -------------------------------------------------------------------------------------------------

    def execute(self, code: str, timeout: float | None = None) -> ExecutionResult:
        """Run a program and return how it ended; its mistakes are in the result, never raised.

        Args:
            code: The program.
            timeout: Seconds that it may take, instead of the toolkit's.

        Raises:
            IsolationUnavailableError: The kernel does not give the isolation that is required.
            SandboxError: The sandbox failed, not the program; or the toolkit is closed.
        """
        sandbox = self._running or self._opened()
        if self._channel.has_async_tools:
            return run_coroutine(self.aexecute, code, timeout)
        limits = self.limits if timeout is None else self._limits(timeout)
        return sandbox.execute(code, self._channel, limits)

    async def aexecute(
        self,
        code: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the program's time, not the task's
        *,
        context: object = NO_CONTEXT,
        approve: Approve | None = None,
        on_tool_call: Callable[[dict[str, Any]], None] | None = None,
    ) -> ExecutionResult:
        """Do the same as `execute`, but await; cancelling it kills the program.

        `context` and `approve` stand in for the toolkit's own here, and `on_tool_call` is called besides its own.
        """
        channel = self._channel.with_settings(context, approve, on_tool_call)
        return await self._opened().aexecute(code, channel, self._limits(timeout))

    def session(self) -> Session:
        """Return a session: its programs share their names. It is the caller's to close, before the toolkit is.

        Raises SandboxError when the toolkit is closed.
        """
        from ez_ptc.toolkit.session import Session

        return Session(self, self._opened().session(), self._channel, self.limits)

    @lazy
    def _channel(self) -> ToolChannel:
        return ToolChannel(self._registry, CallSettings(self.context, self.approve, self.reraise), self.on_tool_call)

    def _limits(self, timeout: float | None) -> Limits:
        return self.limits if timeout is None else replace(self.limits, timeout=timeout)

    def _opened(self) -> Sandbox:
        running = self._running
        if running is None and not self._is_closed:
            self._running = running = self._share.sandbox()
        if self._is_closed or running is None:
            # Closed a moment ago, perhaps: in another thread, or in a signal handler.
            self.close()
            message = "this toolkit is closed: make a new one"
            raise SandboxError(message)
        return running

    def close(self) -> None:
        """Give up the sandbox; the last toolkit that shares one ends its processes.

        A program that still runs in them raises SandboxError where it was called. Closing twice is fine, in a signal
        handler too.
        """
        self._is_closed, self._running = True, None
        self._share.release()

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
        await to_thread(self.close)
