"""LlamaIndex: its tools as our tools, and ours as its tools."""

from typing import Any

from ez_ptc._sync import run_coroutine
from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import any_model, import_framework, tools_exporter
from ez_ptc.integrations.offers import Offer
from ez_ptc.tools.tool import Tool

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


@tools_exporter("LlamaIndex")
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as its tools: `FunctionAgent(tools=export_tools(toolkit), ...)`."""
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
