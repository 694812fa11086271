"""CrewAI: its tools as our tools, and ours as its tools."""

from typing import Any

from ez_ptc._sync import to_thread
from ez_ptc.errors import ToolError
from ez_ptc.integrations.frameworks import any_model, import_framework, tools_exporter
from ez_ptc.integrations.offers import Offer, Outcome
from ez_ptc.tools.tool import Tool

__all__ = ["export_tools", "import_tools"]

_tools: Any = import_framework("crewai.tools", package="crewai")
_failures: Any = import_framework("crewai.tools.tool_failure", package="crewai")
_texts: Any = import_framework("crewai.utilities.string_utils", package="crewai")


def import_tools(thing: object) -> list[Tool[..., Any]] | None:
    """Return the tool of a CrewAI `BaseTool`, or None for anything else."""
    if not isinstance(thing, _tools.BaseTool):
        return None
    tool: Any = thing

    async def call(**arguments: object) -> object:
        # In a thread: it runs its coroutines on a loop of its own.
        result = await to_thread(lambda: tool.run(**arguments))
        if isinstance(result, _failures.ToolFailure):
            raise ToolError(str(result.message))
        return result

    schema: dict[str, Any] = tool.args_schema.model_json_schema()
    # Its tools have titles; its agents see them as names.
    return [Tool.from_schema(_texts.sanitize_tool_name(tool.name), tool.description, schema, call)]


@tools_exporter("CrewAI")
def export_tools(offers: list[Offer]) -> list[Any]:
    """Return a toolkit, or tools and functions, as CrewAI's tools: `Agent(..., tools=export_tools(toolkit))`.

    CrewAI does not keep their results: a call that is repeated runs again.
    """
    return [
        _OfferTool(
            name=offer.name,
            description=offer.description,
            args_schema=any_model(offer.name, offer.parameters),
            cache_function=_never_cache,
            offer=offer,
        )
        for offer in offers
    ]


def _never_cache(arguments: object = None, result: object = None) -> bool:
    del arguments, result
    return False


class _OfferTool(_tools.BaseTool):
    offer: Any

    def _run(self, **arguments: object) -> Any:
        return _result_of(self.offer.call(arguments))

    async def _arun(self, **arguments: object) -> Any:
        return _result_of(await self.offer.acall(arguments))


def _result_of(outcome: Outcome) -> Any:
    if outcome.error is None:
        return outcome.text
    return _failures.ToolFailure(message=outcome.error)
