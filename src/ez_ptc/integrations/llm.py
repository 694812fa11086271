"""simonw/llm: its tools as our tools, ours as its tools, and a plugin for its command line."""

from importlib import import_module
from typing import Any

from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import import_framework, tools_exporter
from ez_ptc.integrations.offers import Offer
from ez_ptc.tools.tool import Tool

__all__ = ["export_tools", "import_tools", "register_tools"]

_llm: Any = import_framework("llm", package="llm")


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tool of an `llm.Tool` or the tools of an `llm.Toolbox`, or None for anything else."""
    if isinstance(thing, _llm.Toolbox):
        toolbox: Any = thing
        return [_import_tool(tool) for tool in toolbox.tools()]
    if not isinstance(thing, _llm.Tool):
        return None
    return [_import_tool(thing)]


def _import_tool(tool: Any) -> Tool[..., Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {}, **tool.input_schema}
    return Tool.from_schema(tool.name, tool.description or tool.name, schema, tool.implementation)


@tools_exporter("llm", approval="llm's own `before_call`")
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as llm tools: `model.chain(prompt, tools=export_tools(toolkit))`."""
    return [_export_offer(offer) for offer in offers]


def _export_offer(offer: Offer) -> Any:
    def call(**arguments: object) -> str:
        outcome = offer.call(arguments)
        if outcome.error is not None:
            raise ToolError(outcome.error)
        return outcome.text

    return _llm.Tool(name=offer.name, description=offer.description, input_schema=offer.parameters, implementation=call)


@_llm.hookimpl
def register_tools(register: Any) -> None:
    """Offer the toolkit named by `EZ_PTC_TOOLKIT`, such as `shop:toolkit`: `llm -T execute_tools "..."`."""
    import os

    name = os.environ.get("EZ_PTC_TOOLKIT")
    if name is None:
        return
    module, _, attribute = name.partition(":")
    for tool in export_tools(getattr(import_module(module), attribute or "toolkit")):
        register(tool)
