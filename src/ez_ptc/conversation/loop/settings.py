"""Everything of a conversation but what was said: who answers, what it may use, how far it may go."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ez_ptc.conversation.loop.run import Host
from ez_ptc.conversation.loop.turns import TurnLimits
from ez_ptc.errors import ArgumentsError, ProviderError, ToolError
from ez_ptc.formats.content import MAX_RESULT_TEXT, as_json
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import MessageRole, TextMessage
from ez_ptc.providers.lookup import choose
from ez_ptc.sandbox.execution import CallRecord
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.schema.arguments.json_text import parse_arguments
from ez_ptc.tools.registry import ToolRegistry
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ez_ptc.conversation.loop.goals import Goal
    from ez_ptc.messages import Entry, ToolCall, ToolResult
    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.sandbox.execution import ExecutionResult
    from ez_ptc.toolkit.toolkit import Toolkit
    from ez_ptc.tools.approval import Approve

__all__ = ["OWN_OPTIONS", "Settings"]

_log = logging.getLogger("ez_ptc.conversation")
# A library that nobody configured logging for keeps quiet.
_log.addHandler(logging.NullHandler())

_PROMPT_OPTIONS: Final = ("max_tokens", "temperature", "tool_choice", "strict")
_TOOL_OPTIONS: Final = ("tool_choice", "strict")
OWN_OPTIONS: Final = (*_PROMPT_OPTIONS, "native_only")
"""The options that are ours, whoever the provider is; any other is a field of one provider's request."""

_MOST_AROUND: Final = 1_000
"""Characters that may stand around what a program printed, in what the model reads of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `LLMPromptBuilder` keeps; its steps of the same names say what each is."""

    tools: tuple[Tool[..., Any], ...] = ()
    toolkit: Toolkit | None = None
    mode: Literal["tool", "prompt"] = "tool"
    tool_context: object = NO_CONTEXT
    approve: Approve | None = None
    on_tool_call: Callable[[dict[str, Any]], None] | None = None
    provider: LLMProvider | str | None = None
    model: str | None = None
    fallback: tuple[LLMProvider | str, ...] = ()
    limits: TurnLimits = field(default_factory=TurnLimits)
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output_schema: dict[str, Any] | None = None
    cache_tools: bool | str = False

    def __repr__(self) -> str:
        # Contexts, approvers, listeners, options and providers may hold secrets.
        providers = [each for each in (self.provider, *self.fallback) if each is not None]
        said = {
            "providers": [each if isinstance(each, str) else type(each).__name__ for each in providers],
            "model": self.model,
            "tools": [tool.name for tool in self.tools],
            "toolkit": [] if self.toolkit is None else [tool.name for tool in self.toolkit],
            "limits": self.limits,
        }
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in said.items() if value)})"

    @property
    def has_program_tool(self) -> bool:
        """Whether the model runs programs by calling a tool."""
        return self.toolkit is not None and self.mode == "tool"

    def providers(self) -> list[LLMProvider]:
        """Return who answers, and who does where it fails. Raises what `choose` raises."""
        return [choose(self.provider, self.model), *(choose(each, None) for each in self.fallback)]

    def usable_by(self, providers: Sequence[LLMProvider]) -> Settings:
        """Return the settings as these providers' models can use them.

        Where the first cannot call tools, they are functions of the programs that it writes into its text.

        Raises ProviderError for one that cannot call tools where the option `native_only` says that it must, and where
        only a fallback cannot, since it would have to go on with the calls of another.
        """
        if not (self.tools or self.has_program_tool):
            return self
        for provider in providers:
            if not provider.supports_tools() and (provider is not providers[0] or self.options.get("native_only")):
                message = (
                    f"{provider.name}'s model {provider.model} cannot call tools: choose another with .provider(...), "
                    f"or give a toolkit with .toolkit(..., mode='prompt'), which any model can use"
                )
                raise ProviderError(message)
        if providers[0].supports_tools():
            return self
        toolkit = _as_programs(self.tools, self.toolkit, providers[0])
        options = {name: value for name, value in self.options.items() if name not in _TOOL_OPTIONS}
        return replace(self, tools=(), toolkit=toolkit, mode="prompt", options=options)

    def prompt(self, entries: tuple[Entry, ...], host: Host) -> Prompt:
        """Return the first request."""
        if self.toolkit is not None and self.mode == "prompt":
            entries = (TextMessage(self.toolkit.prompt(), role=MessageRole.SYSTEM), *entries)
        own = {name: each for name, each in self.options.items() if name in _PROMPT_OPTIONS}
        others = {name: each for name, each in self.options.items() if name not in OWN_OPTIONS}
        return Prompt(
            model="", entries=(*entries, *host.goal.instructions), tools=tuple(host.tools),
            output_schema=host.goal.output_schema or self.output_schema, cache_tools=self.cache_tools,
            options=others, **own,
        )  # fmt: skip

    def host(self, goal: Goal) -> Host:
        """Return who does what the model asks for on the way to a goal."""
        toolkit = self.toolkit
        listener = _Listener(self.on_tool_call)

        def program_in(text: str) -> str | None:
            return toolkit.extract_code(text) if toolkit is not None and self.mode == "prompt" else None

        async def execute(program: str) -> str:
            return (await self._execute(program, listener))[0]

        programs = [] if toolkit is None or self.mode == "prompt" else [self._program_tool(toolkit, listener)]
        answering = [] if goal.tool is None else [goal.tool]
        registry = ToolRegistry((*self.tools, *programs, *answering), context=self.tool_context, approve=self.approve)
        # The calls of programs are told one by one, and to answer is no call of the developer's tools.
        listener.skip(*programs, *answering)
        most = MAX_RESULT_TEXT if toolkit is None else toolkit.limits.max_text + _MOST_AROUND
        return Host(registry, self.limits, goal, program_in, execute, listener.check, listener.ended, most)

    async def _execute(self, program: str, listener: _Listener) -> tuple[str, ExecutionResult]:
        toolkit = self.toolkit
        if toolkit is None:
            message = "there is no toolkit to run a program with"
            raise ProviderError(message)
        try:
            result = await toolkit.aexecute(
                program, context=self.tool_context, approve=self.approve, on_tool_call=listener.tell_within
            )
        except _ListenerError as error:
            raise error.failure from None
        return toolkit.answer(program, result), result

    def _program_tool(self, toolkit: Toolkit, listener: _Listener) -> Tool[..., Any]:
        async def execute_tools(code: str) -> object:
            report, result = await self._execute(code, listener)
            if not result.success:
                raise ToolError(report)
            return [report, *result.images] if result.images else report

        described = toolkit.tool_schema("raw")
        return Tool(described["name"], described["description"], described["parameters"], execute_tools)


def _as_programs(tools: tuple[Tool[..., Any], ...], toolkit: Toolkit | None, provider: LLMProvider) -> Toolkit:
    """Return a toolkit of all tools, for a model that cannot call them and writes programs instead; log that.

    Raises DuplicateToolError where a tool beside the toolkit has the name of another one in it.
    """
    from ez_ptc.toolkit.toolkit import Toolkit

    _log.warning(
        "%s's model %s cannot call tools, and is told to write programs over them instead; "
        "options(native_only=True) makes that an error",
        provider.name,
        provider.model,
    )
    if toolkit is None:
        return Toolkit(tools)
    others = [tool for tool in tools if not any(_stands_for(each, tool) for each in toolkit)]
    return replace(toolkit, tools=(*toolkit, *others)) if others else toolkit


def _stands_for(present: Tool[..., Any], tool: Tool[..., Any]) -> bool:
    """Tell whether a tool of a toolkit is another one, and asks a person where that does."""
    is_guarded = present.requires_approval or not tool.requires_approval
    return present.name == tool.name and present.fn == tool.fn and is_guarded


class _ListenerError(Exception):
    """What a listener raised, in a form that no sandbox takes for a failure of its own, as it would an OSError."""

    def __init__(self, failure: Exception) -> None:
        super().__init__(failure)
        self.failure = failure


class _Listener:
    """Who is told of calls as they end; what it raises is not the failure of a tool, but ends the conversation."""

    def __init__(self, listen: Callable[[dict[str, Any]], None] | None) -> None:
        self._listen = listen
        self._failure: Exception | None = None
        self._skipped: frozenset[str] = frozenset()

    def skip(self, *tools: Tool[..., Any]) -> None:
        """Tell nothing of calls of these tools."""
        self._skipped = frozenset(each.name for each in tools)

    def tell(self, record: dict[str, Any]) -> None:
        """Tell of a call by its record."""
        try:
            if self._listen is not None:
                self._listen(record)
        except Exception as error:
            self._failure = error
            raise

    def tell_within(self, record: dict[str, Any]) -> None:
        """Tell of a call that a program made."""
        try:
            self.tell(record)
        except Exception as error:
            raise _ListenerError(error) from error

    def check(self, result: ToolResult) -> None:
        """Raise what was raised when something was told in a program, if the program failed by that."""
        if self._failure is not None and result.exception is self._failure:
            raise self._failure

    def ended(self, call: ToolCall, result: ToolResult) -> None:
        """Tell of a call that has ended. Raises what was raised when something was told in it."""
        if self._failure is not None:
            raise self._failure
        if self._listen is not None and call.name not in self._skipped:
            self.tell(_record(call, result))


def _record(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    """Return what `ExecutionResult.tool_calls` would have of a call."""
    arguments: object = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = parse_arguments(call.name, arguments)
        except ArgumentsError:  # the error says so
            arguments = {}
    record = {
        "name": call.name,
        "args": (),
        "kwargs": as_json(arguments),
        "result": result.output,
        "error": result.error,
        "duration_ms": result.duration_ms,
        "path": "",
    }
    return CallRecord(record)
