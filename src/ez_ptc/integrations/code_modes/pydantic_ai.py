"""A code mode for Pydantic AI: a model's programs call an agent's own tools, in our sandbox."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.integrations.offers import offers_of
from ez_ptc.integrations.pydantic_ai import call_offer, make_tool
from ez_ptc.toolkit.toolkit import Toolkit

if TYPE_CHECKING:
    from ez_ptc.integrations.offers import Offer

__all__ = ["CodeMode"]

_import = partial(import_framework, package="pydantic-ai-slim")
_ai: Any = _import("pydantic_ai")
_capabilities: Any = _import("pydantic_ai.capabilities")
_toolsets: Any = _import("pydantic_ai.toolsets")
_managers: Any = _import("pydantic_ai.tool_manager")

# Runs the tools of the agent whose program is running.
_MANAGER: Final[ContextVar[Any]] = ContextVar("ez_ptc_pydantic_ai_tool_manager")


@dataclass
class CodeMode(_capabilities.AbstractCapability):
    """Let a model's programs call an agent's tools in our sandbox: `Agent(..., capabilities=[CodeMode()])`.

    The model gets `execute_tools` in place of the tools. Without a journal, tools that require approval stay beside it;
    with one, programs pause for them.

    Attributes:
        options: The options of the `Toolkit`, such as `{"journal": "runs.db", "timeout": 5}`.
    """

    options: dict[str, Any] = field(default_factory=dict[str, Any])
    _latest: list[tuple[list[Any], Offer]] = field(default_factory=list[Any], init=False, repr=False)

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        """Wrap an agent's tools. The framework calls it."""
        return _ProgramToolset(toolset, self)

    def is_programmed(self, definition: Any) -> bool:
        """Return whether programs call a tool, and not the model itself."""
        is_plain = definition.kind == "function" or (definition.kind == "unapproved" and "journal" in self.options)
        return is_plain and definition.tool_kind is None and not definition.defer_loading

    # A run has its own tools, but usually the same ones; making a toolkit compiles the schema of each.
    def offer(self, definitions: list[Any]) -> Offer:
        """Return a toolkit with these tools; the previous one, if they are the same."""
        for known, offer in tuple(self._latest):
            if known == definitions:
                return offer
        tools = [make_tool(definition, partial(_call_tool, definition.name)) for definition in definitions]
        (offer,) = offers_of(Toolkit(tools, **self.options))
        self._latest[:] = [(definitions, offer)]
        return offer


async def _call_tool(name: str, run: object, arguments: dict[str, object]) -> object:
    del run  # the manager has its own
    # Through the manager, so that the hooks of capabilities and the framework's spans see the call.
    call = _ai.ToolCallPart(name, arguments)
    return await _MANAGER.get().handle_call(call, approved=True, wrap_validation_errors=False)


@dataclass
class _ProgramToolset(_toolsets.WrapperToolset):
    """The tools of one agent, most of them behind `execute_tools`."""

    mode: CodeMode

    async def get_tools(self, ctx: Any) -> dict[str, Any]:
        tools: dict[str, Any] = await self.wrapped.get_tools(ctx)
        programmed = {name: tool for name, tool in tools.items() if self.mode.is_programmed(tool.tool_def)}
        if not programmed:
            return tools
        offer = self.mode.offer([tool.tool_def for tool in programmed.values()])

        async def call(run: Any, /, **arguments: object) -> object:
            root = None if run.tool_manager is None else run.tool_manager.root_capability
            manager = _managers.ToolManager(toolset=self.wrapped, root_capability=root, ctx=run, tools=programmed)
            token = _MANAGER.set(manager)
            try:
                return await call_offer(offer, run, arguments)
            finally:
                _MANAGER.reset(token)

        exported = _ai.Tool.from_schema(call, offer.name, offer.description, offer.parameters, takes_ctx=True)
        others = {name: tool for name, tool in tools.items() if name not in programmed}
        return {**others, **await _toolsets.FunctionToolset([exported]).get_tools(ctx)}

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> object:
        if name == "execute_tools":
            return await tool.toolset.call_tool(name, tool_args, ctx, tool)
        return await self.wrapped.call_tool(name, tool_args, ctx, tool)
