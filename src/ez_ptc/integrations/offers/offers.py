"""Offers of a developer's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ez_ptc.integrations.offers.programs import ProgramOffer
from ez_ptc.integrations.offers.tools import ToolOffer
from ez_ptc.schema.annotations.context import NO_CONTEXT
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.call_settings import CallSettings
from ez_ptc.tools.decorators import ez_tool
from ez_ptc.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Callable

    from ez_ptc.tools.approvals.approval import Approver
    from ez_ptc.tools.tool import Tool

__all__ = ["Offer", "offers_of", "tool_of"]

Offer: TypeAlias = ToolOffer | ProgramOffer


def offers_of(
    tools: object,
    *,
    context: object = NO_CONTEXT,
    approve: Approver | None = None,
    framework: str | None = None,
    principal: Callable[[Any], str] | None = None,
) -> list[Offer]:
    """Return what a developer's toolkit, tool, function, or list or registry of them offers a framework.

    Args:
        tools: The toolkit or the tools.
        context: Replaces the context of the toolkit or of the tools.
        approve: Replaces their approver.
        framework: The framework's name, if it has no approval of its own.
        principal: Returns for whom a call is, from its context; runs are bound to it instead of the context.

    Raises:
        TypeError: It is neither a toolkit nor tools.
        ValueError: There are no tools; or a tool requires approval, and there is no one to ask.
    """
    settings = CallSettings(context, approve)
    if isinstance(tools, Toolkit):
        offers: list[Offer] = [ProgramOffer(tools, settings, principal)]
    else:
        offers = [ToolOffer(tool, settings) for tool in ToolRegistry([tools])]
    if not offers:
        message = "expected a toolkit or tools, got none: pass at least one function"
        raise ValueError(message)
    # At once, because the first to notice would otherwise be a model, which can do nothing about it.
    for offer in offers:
        if offer.is_undecided and (framework is not None or (isinstance(offer, ProgramOffer) and not offer.is_durable)):
            raise ValueError(_unanswerable_text(offer, framework))
    return offers


def tool_of(offer: Offer) -> Tool[..., Any]:
    """Return our tool behind an offer, with the developer's settings: an exported tool may come back to a toolkit."""
    settings = offer.settings
    if isinstance(offer, ToolOffer):
        return offer.tool.from_definition(offer.tool.definition, settings.over(offer.tool.settings))
    return ez_tool(offer.toolkit.as_tool(context=settings.context, approve=settings.approve))


def _unanswerable_text(offer: Offer, framework: str | None) -> str:
    tools = offer.toolkit if isinstance(offer, ProgramOffer) else [offer.tool]
    names = ", ".join(tool.name for tool in tools if tool.requires_approval)
    if framework is not None:
        return f"expected an approver for {names}: {framework} has no approval of its own, pass approve=..."
    return f"expected an approver for {names}: pass approve=..., or a toolkit with a journal, whose programs can pause"
