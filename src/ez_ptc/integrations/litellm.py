"""LiteLLM: our tools for its completions, and the answers to its calls."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from ez_ptc._sync import run_coroutine
from ez_ptc.formats.naming.resolution import Spellings
from ez_ptc.integrations.frameworks import import_framework, tools_exporter
from ez_ptc.integrations.offers import Offer, Outcome
from ez_ptc.tools.definitions.names import unknown_tool_text

__all__ = ["OfferedTools", "export_tools"]

import_framework("litellm", package="litellm")


@tools_exporter("LiteLLM")
def export_tools(offers: list[Offer]) -> OfferedTools:
    """Return a toolkit, or tools and functions, for LiteLLM: `completion(..., tools=export_tools(toolkit))`."""
    return OfferedTools(offers)


class OfferedTools(list[dict[str, Any]]):
    """The tools of a completion, able to answer the calls in its response."""

    def __init__(self, offers: list[Offer]) -> None:
        super().__init__(
            {
                "type": "function",
                "function": {"name": offer.name, "description": offer.description, "parameters": offer.parameters},
            }
            for offer in offers
        )
        self._offers = {offer.name: offer for offer in offers}

    def __deepcopy__(self, memo: dict[int, Any]) -> list[dict[str, Any]]:
        """Return a plain list: LiteLLM may copy the arguments of a completion."""
        return copy.deepcopy([*self], memo)

    def answer(self, response: Any) -> list[dict[str, Any]]:
        """Run the calls in a `ModelResponse` or its message, and return the messages of their results.

        Put them into the conversation after the message. If the model has called no tool, the list is empty.
        """
        return run_coroutine(self.aanswer, response)

    async def aanswer(self, response: Any) -> list[dict[str, Any]]:
        """Same as `answer`, but awaits, and the calls of a response run at once."""
        message = response.choices[0].message if hasattr(response, "choices") else response
        calls: list[Any] = message.tool_calls or []
        outcomes = await asyncio.gather(*map(self._run, calls))
        return [
            {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": outcome.text}
            for call, outcome in zip(calls, outcomes, strict=True)
        ]

    async def _run(self, call: Any) -> Outcome:
        name = str(call.function.name)
        matched = Spellings({offered: offered for offered in self._offers}).find(name)
        if matched is None:
            return Outcome(error=unknown_tool_text(name, self._offers))
        return await self._offers[matched].acall(call.function.arguments)
