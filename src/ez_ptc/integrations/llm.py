"""simonw/llm: its tools as our tools, ours as its tools, and a plugin for its command line."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.integrations.offers import Offer, offers_of
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from ez_ptc.tools.approvals.approval import Approver

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


@explain_calls
def export_tools(tools: object, *, context: object = NO_CONTEXT, approve: "Approver | None" = None) -> list[Any]:
    """Return a toolkit, or tools and functions, as llm tools: `model.chain(prompt, tools=export_tools(toolkit))`.

    Args:
        tools: A `Toolkit`, which becomes the tool that runs programs; or a tool, a function, or a list of them.
        context: The value of `Context` parameters.
        approve: The approver, beside llm's own `before_call`.

    Raises:
        TypeError: It is neither a toolkit nor tools.
        ValueError: There are no tools; or a tool requires approval, and there is no approver.
    """
    return [_export_offer(offer) for offer in offers_of(tools, context=context, approve=approve, framework="llm")]


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
