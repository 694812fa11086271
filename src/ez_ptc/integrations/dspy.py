"""DSPy: its tools as our tools, and ours as its tools."""

import inspect
from typing import Any

from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import import_framework, tools_exporter
from ez_ptc.integrations.offers import Offer
from ez_ptc.tools.tool import Tool

__all__ = ["export_tools", "import_tools", "is_required"]

_dspy: Any = import_framework("dspy", package="dspy")


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tool of a `dspy.Tool`, or None for anything else."""
    if not isinstance(thing, _dspy.Tool):
        return None
    tool: Any = thing
    properties: dict[str, dict[str, Any]] = tool.args or {}

    async def call(**arguments: object) -> object:
        return await tool.acall(**arguments)

    schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name, item in properties.items() if "default" not in item and is_required(tool, name)],
        "additionalProperties": tool.has_kwargs,
    }
    return [Tool.from_schema(tool.name, tool.desc or tool.name, schema, call)]


def is_required(tool: Any, name: str) -> bool:
    """Return whether a DSPy tool's function cannot be called without an argument.

    DSPy's description of arguments does not say so, and a function of `**` arguments decides by itself.
    """
    parameter = inspect.signature(tool.func).parameters.get(name)
    if parameter is None:
        return not tool.has_kwargs
    return parameter.default is parameter.empty


@tools_exporter("DSPy")
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as DSPy tools: `dspy.ReAct(signature, tools=export_tools(toolkit))`."""
    return [_export_offer(offer) for offer in offers]


def _export_offer(offer: Offer) -> Any:
    def call(**arguments: object) -> object:
        outcome = offer.call(arguments)
        if outcome.error is not None:
            raise ToolError(outcome.error)
        return outcome.data

    properties: dict[str, Any] = offer.parameters["properties"]
    # Any type, because DSPy would validate by itself, and refuse what we repair.
    types = dict.fromkeys(properties, Any)
    return _dspy.Tool(call, name=offer.name, desc=offer.description, args=properties, arg_types=types)
