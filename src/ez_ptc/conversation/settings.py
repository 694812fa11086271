"""Conversation settings: providers, tools, limits and options, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from ez_ptc.providers.lookup import choose
from ez_ptc.results.store import ResultStore
from ez_ptc.schema.annotations.context import NO_CONTEXT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from ez_ptc.conversation.prices import Price
    from ez_ptc.providers.prompting import Prompting
    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.sandbox.protocol.execution import ExecutionResult
    from ez_ptc.sandbox.protocol.records.call_record import OnToolCall
    from ez_ptc.toolkit.toolkit import Toolkit
    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

    AnyProvider = LLMProvider | Prompting | str

__all__ = ["OWN_OPTIONS", "PROMPT_OPTIONS", "TOOL_OPTIONS", "BuilderSettings", "TurnLimits"]

TOOL_OPTIONS: Final = ("tool_choice", "strict")
PROMPT_OPTIONS: Final = ("max_tokens", "temperature", *TOOL_OPTIONS)
# The options that ez-ptc defines for every provider; any other is a field of one provider's request.
OWN_OPTIONS: Final = (*PROMPT_OPTIONS, "native_only", "hosted_programs", "tool_search")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """Limits of a conversation between one message of the user and the final answer.

    Attributes:
        turns: The maximum number of answers.
        calls: The maximum number of tool calls and programs, or None for any number.
        tokens: The maximum number of input and output tokens, or None; checked after each answer.
        cost: The maximum cost in US dollars, or None; checked after each answer. A model without a known price exceeds
            any limit.
        text: The maximum number of characters of one result that the model reads, or None for the toolkit's, or 30,000.
        prices: Prices by model name; they take precedence over the table in `prices.py`.
    """

    turns: int = 20
    calls: int | None = None
    tokens: int | None = None
    cost: Decimal | None = None
    text: int | None = None
    prices: Mapping[str, Price] = field(default_factory=dict[str, "Price"])


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderSettings:
    """The settings of an `LLMPromptBuilder`; its methods of the same names document them.

    `kept_results` keeps results too long for the model, unless the toolkit does.
    """

    tools: tuple[Tool[..., Any], ...] = ()
    toolkit: Toolkit | None = None
    mode: Literal["tool", "prompt"] = "tool"
    tool_context: object = NO_CONTEXT
    approve: Approver | None = None
    on_tool_call: OnToolCall | None = None
    provider: AnyProvider | None = None
    model: str | None = None
    fallback: tuple[AnyProvider, ...] = ()
    limits: TurnLimits = field(default_factory=TurnLimits)
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output_schema: dict[str, Any] | None = None
    cache_tools: bool | str = False
    kept_results: ResultStore = field(default_factory=ResultStore, compare=False)
    failed: ExecutionResult | None = field(default=None, compare=False)
    """The result of the last program, if it has failed; the next one continues it."""

    def __repr__(self) -> str:
        # Contexts, approvers, listeners, options and providers may hold secrets.
        providers = [provider for provider in (self.provider, *self.fallback) if provider is not None]
        fields_shown = {
            "providers": [name if isinstance(name, str) else type(name).__name__ for name in providers],
            "model": self.model,
            "tools": [tool.name for tool in self.tools],
            "toolkit": [tool.name for tool in self.toolkit or ()],
            "limits": self.limits,
        }
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in fields_shown.items() if value)})"

    @property
    def has_program_tool(self) -> bool:
        """Whether the model runs programs by calling `execute_tools`."""
        return self.toolkit is not None and self.mode == "tool"

    @property
    def has_written_programs(self) -> bool:
        """Whether the model writes programs into the text of its answers."""
        return self.toolkit is not None and self.mode == "prompt"

    @property
    def max_text(self) -> int | None:
        """The maximum characters of one result for the model: its own, or the toolkit's; None for the default."""
        if self.limits.text is None and self.toolkit is not None:
            return self.toolkit.limits.text
        return self.limits.text

    @property
    def hosted_tools(self) -> frozenset[str]:
        """The names of the tools for the provider's own programs; `execute_tools` runs ours."""
        if not self.options.get("hosted_programs"):
            return frozenset()
        return frozenset(tool.name for tool in self.tools)

    @property
    def deferred_tools(self) -> frozenset[str]:
        """The names of the tools for the provider's search; one that has to be called is not searched for."""
        if self.options.get("tool_search") is None:
            return frozenset()
        return frozenset(tool.name for tool in self.tools) - {self.options.get("tool_choice")}

    def providers(self) -> list[LLMProvider]:
        """Return the provider and its fallbacks, in the order in which they are asked.

        Raises what `choose` raises.
        """
        return [choose(self.provider, self.model), *(choose(provider, None) for provider in self.fallback)]
