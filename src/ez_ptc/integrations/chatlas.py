"""chatlas: its tools as our tools, and ours as its tools."""

from typing import Any

from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import import_framework, tools_exporter
from ez_ptc.integrations.offers import Offer
from ez_ptc.tools.tool import Tool

__all__ = ["export_tools", "import_tools"]

_chatlas: Any = import_framework("chatlas", package="chatlas")


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tool of a `chatlas.Tool`, or None for anything else."""
    if not isinstance(thing, _chatlas.Tool):
        return None
    tool: Any = thing
    described: dict[str, Any] = tool.schema["function"]
    return [Tool.from_schema(tool.name, described["description"] or tool.name, described["parameters"], tool.func)]


@tools_exporter("chatlas", approval="chatlas' own `on_tool_request`")
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as chatlas tools: `chat.set_tools(export_tools(toolkit))`."""
    return [_export_offer(offer) for offer in offers]


def _export_offer(offer: Offer) -> Any:
    def call(**arguments: object) -> object:
        outcome = offer.call(arguments)
        if outcome.error is not None:
            raise ToolError(outcome.error)
        return outcome.data

    return _chatlas.Tool(func=call, name=offer.name, description=offer.description, parameters=offer.parameters)
