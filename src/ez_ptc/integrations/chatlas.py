"""chatlas: its tools as our tools, and ours as its tools."""

from typing import TYPE_CHECKING, Any

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import import_framework
from ez_ptc.integrations.offers import Offer, offers_of
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["export_tools", "import_tools"]

_chatlas: Any = import_framework("chatlas", package="chatlas")


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tool of a `chatlas.Tool`, or None for anything else."""
    if not isinstance(thing, _chatlas.Tool):
        return None
    tool: Any = thing
    described: dict[str, Any] = tool.schema["function"]
    return [Tool.from_schema(tool.name, described["description"] or tool.name, described["parameters"], tool.func)]


@explain_calls
def export_tools(tools: object, *, context: object = NO_CONTEXT, approve: "Approver | None" = None) -> list[Any]:
    """Return a toolkit, or tools and functions, as chatlas tools: `chat.set_tools(export_tools(toolkit))`.

    Args:
        tools: A `Toolkit`, which becomes the tool that runs programs; or a tool, a function, or a list of them.
        context: The value of `Context` parameters.
        approve: The approver, beside chatlas' own `on_tool_request`.

    Raises:
        TypeError: It is neither a toolkit nor tools.
        ValueError: There are no tools; or a tool requires approval, and there is no approver.
    """
    return [_export_offer(offer) for offer in offers_of(tools, context=context, approve=approve, framework="chatlas")]


def _export_offer(offer: Offer) -> Any:
    def call(**arguments: object) -> object:
        outcome = offer.call(arguments)
        if outcome.error is not None:
            raise ToolError(outcome.error)
        return outcome.data

    return _chatlas.Tool(func=call, name=offer.name, description=offer.description, parameters=offer.parameters)
