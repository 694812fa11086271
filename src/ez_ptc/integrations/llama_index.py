"""LlamaIndex: its tools as our tools, and ours as its tools."""

from functools import partial
from typing import Any, Final

from ez_ptc._sync import run_coroutine
from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import any_model, import_framework, tools_exporter
from ez_ptc.integrations.offers import NO_HOOKS, Hooks, Offer
from ez_ptc.sandbox.protocol.events import CallProgress, ProgramEvent
from ez_ptc.tools.tool import Tool

__all__ = ["CallProgressed", "export_tools", "import_tools"]

_tools: Any = import_framework("llama_index.core.tools", package="llama-index-core")
_workflow: Any = import_framework("llama_index.core.workflow", package="llama-index-core")

# The name by which agents pass their context to a tool.
_CONTEXT: Final = "ez_ptc_context"


class CallProgressed(_workflow.Event):
    """A tool has reported how far its call is, of an agent or of a program: an event of the agent's stream.

    `id` is that of the program's call, "" for a call of the agent itself; `total` is None if it is unknown.
    """

    id: str
    tool: str
    done: float
    total: float | None = None
    message: str | None = None


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


# Agents give their context to tools of this class only.
class _OfferTool(_tools.FunctionTool):
    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        model = any_model(offer.name, offer.parameters)
        metadata = _tools.ToolMetadata(offer.description, name=offer.name, fn_schema=model)
        base: Any = super()
        base.__init__(async_fn=self.acall, metadata=metadata)
        self.requires_context, self.ctx_param_name = True, _CONTEXT

    def call(self, **arguments: Any) -> Any:
        return run_coroutine(self._acall, arguments)

    async def acall(self, **arguments: Any) -> Any:
        return await self._acall(arguments)

    async def _acall(self, arguments: dict[str, object]) -> Any:
        hooks = NO_HOOKS
        context = arguments.get(_CONTEXT)
        if isinstance(context, _workflow.Context):  # and not a model's argument
            del arguments[_CONTEXT]
            hooks = Hooks(report=partial(_report, context))
        outcome = await self._offer.acall(arguments, hooks)
        return _tools.ToolOutput(
            tool_name=self._offer.name,
            content=outcome.text,
            raw_input=arguments,
            raw_output=outcome.data,
            is_error=outcome.error is not None,
        )


async def _report(context: Any, event: ProgramEvent) -> None:
    if isinstance(event, CallProgress):
        done, total, message = event.done, event.total, event.message
        context.write_event_to_stream(
            CallProgressed(id=event.id, tool=event.tool, done=done, total=total, message=message)
        )
