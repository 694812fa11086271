"""LlamaIndex: its tools as our tools, and ours as its tools."""

from typing import TYPE_CHECKING, Any

from ez_ptc._sync import run_coroutine
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import any_model, import_framework
from ez_ptc.integrations.offers import Offer, offers_of
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.tools.tool import Tool

if TYPE_CHECKING:
    from ez_ptc.tools.approvals.approval import Approver

__all__ = ["export_tools", "import_tools"]

_tools: Any = import_framework("llama_index.core.tools", package="llama-index-core")


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tool of a LlamaIndex tool, or None for anything else. One that takes a `Context` is refused."""
    if not isinstance(thing, _tools.BaseTool):
        return None
    tool: Any = _tools.adapt_to_async_tool(thing)

    async def call(**arguments: object) -> object:
        output = await tool.acall(**arguments)
        if output.is_error:
            raise ToolError(output.content)
        return output.raw_output

    metadata = tool.metadata
    return [Tool.from_schema(metadata.get_name(), metadata.description, metadata.get_parameters_dict(), call)]


@explain_calls
def export_tools(tools: object, *, context: object = NO_CONTEXT, approve: "Approver | None" = None) -> list[Any]:
    """Return a toolkit, or tools and functions, as LlamaIndex tools: `FunctionAgent(tools=export_tools(toolkit), ...)`.

    Args:
        tools: A `Toolkit`, which becomes the tool that runs programs; or a tool, a function, or a list of them.
        context: The value of `Context` parameters.
        approve: The approver: LlamaIndex has no approval of its own.

    Raises:
        TypeError: It is neither a toolkit nor tools.
        ValueError: There are no tools; or a tool requires approval, and there is no approver.
    """
    offers = offers_of(tools, context=context, approve=approve, framework="LlamaIndex")
    return [_OfferTool(offer) for offer in offers]


class _OfferTool(_tools.AsyncBaseTool):
    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        model = any_model(offer.name, offer.parameters)
        self._metadata = _tools.ToolMetadata(offer.description, name=offer.name, fn_schema=model)

    @property
    def metadata(self) -> Any:
        return self._metadata

    def call(self, **arguments: Any) -> Any:
        return run_coroutine(self._acall, arguments)

    async def acall(self, **arguments: Any) -> Any:
        return await self._acall(arguments)

    async def _acall(self, arguments: dict[str, object]) -> Any:
        outcome = await self._offer.acall(arguments)
        return _tools.ToolOutput(
            tool_name=self._offer.name,
            content=outcome.text,
            raw_input=arguments,
            raw_output=outcome.data,
            is_error=outcome.error is not None,
        )
