"""A code mode for LangChain agents: a model's programs call tools, in our sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.integrations.langchain import export_tools
from ez_ptc.toolkit.toolkit import Toolkit

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CodeMode"]

_middleware: Any = import_framework("langchain.agents.middleware", package="langchain")


class CodeMode(_middleware.AgentMiddleware):
    """Let a model's programs call tools in our sandbox: `create_agent(model, middleware=[CodeMode(tools)])`.

    The model gets `execute_tools`, beside the agent's own tools.
    """

    def __init__(self, tools: Iterable[Any], **options: Any) -> None:
        """Make a toolkit of the tools: LangChain's, ours, and functions. `options` are those of `Toolkit`.

        Raises what `Toolkit` and `export_tools` raise.
        """
        _middleware.AgentMiddleware.__init__(self)
        self.toolkit = Toolkit(tools, **options)
        self.tools = export_tools(self.toolkit)
