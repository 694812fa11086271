"""Everything of a conversation but what was said: who answers, what it may use, how far it may go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from ez_ptc.conversation.drive import Host
from ez_ptc.conversation.turns import TurnLimits
from ez_ptc.errors import ProviderError, ToolError
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import MessageRole, TextMessage
from ez_ptc.providers.choosing import choose
from ez_ptc.schema.context import NO_CONTEXT
from ez_ptc.tools.registry import ToolRegistry
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ez_ptc.messages import Entry
    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.toolkit.toolkit import Toolkit
    from ez_ptc.tools.approval import Approve

__all__ = ["Settings"]

_OWN_OPTIONS: Final = ("max_tokens", "temperature", "tool_choice", "strict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `LLMPromptBuilder` keeps; its steps of the same names say what each is."""

    tools: tuple[Tool[..., Any], ...] = ()
    toolkit: Toolkit | None = None
    mode: Literal["tool", "prompt"] = "tool"
    tool_context: object = NO_CONTEXT
    approve: Approve | None = None
    provider: LLMProvider | str | None = None
    model: str | None = None
    fallback: tuple[LLMProvider | str, ...] = ()
    limits: TurnLimits = field(default_factory=TurnLimits)
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output_schema: dict[str, Any] | None = None

    def providers(self) -> list[LLMProvider]:
        """Return who answers, and who does where it fails.

        Raises ProviderError for one that cannot call tools where there are some, and what `choose` raises.
        """
        needs_tools = bool(self.tools) or (self.toolkit is not None and self.mode == "tool")
        first = choose(self.provider, self.model)
        chosen = [first, *(choose(each, None) for each in self.fallback)]
        for each in chosen:
            if needs_tools and not each.supports_tools():
                message = (
                    f"{each.name}'s model {each.model} cannot call tools: choose another with .provider(...), or give "
                    f"a toolkit with .toolkit(..., mode='prompt'), which any model can use"
                )
                raise ProviderError(message)
        return chosen

    def prompt(self, entries: tuple[Entry, ...]) -> Prompt:
        """Return the first request."""
        if self.toolkit is not None and self.mode == "prompt":
            entries = (TextMessage(self.toolkit.prompt(), role=MessageRole.SYSTEM), *entries)
        own = {name: each for name, each in self.options.items() if name in _OWN_OPTIONS}
        others = {name: each for name, each in self.options.items() if name not in _OWN_OPTIONS}
        return Prompt(
            model="", entries=entries, tools=tuple(self.host().tools), output_schema=self.output_schema, options=others,
            **own,
        )  # fmt: skip

    def host(self) -> Host:
        """Return who does what the model asks for."""
        toolkit = self.toolkit
        programs = [] if toolkit is None or self.mode == "prompt" else [self._program_tool(toolkit)]
        writes_programs = toolkit is not None and self.mode == "prompt"

        def program_in(text: str) -> str | None:
            return toolkit.extract_code(text) if toolkit is not None and writes_programs else None

        async def execute(program: str) -> str:
            return (await self._execute(program))[0]

        registry = ToolRegistry((*self.tools, *programs), context=self.tool_context, approve=self.approve)
        return Host(registry, self.limits, program_in, execute)

    async def _execute(self, program: str) -> tuple[str, bool]:
        toolkit = self.toolkit
        if toolkit is None:
            message = "there is no toolkit to run a program with"
            raise ProviderError(message)
        result = await toolkit.aexecute(program, context=self.tool_context, approve=self.approve)
        return toolkit.answer(program, result), result.success

    def _program_tool(self, toolkit: Toolkit) -> Tool[..., Any]:
        async def execute_tools(code: str) -> str:
            report, success = await self._execute(code)
            if not success:
                raise ToolError(report)
            return report

        described = toolkit.tool_schema("raw")
        return Tool(described["name"], described["description"], described["parameters"], execute_tools)
