"""Adapting a conversation's settings to what its providers' models can do."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ez_ptc.conversation.settings import TOOL_OPTIONS
from ez_ptc.errors import ProviderError
from ez_ptc.formats.provider_table import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.conversation.settings import BuilderSettings
    from ez_ptc.providers.provider import LLMProvider
    from ez_ptc.toolkit.toolkit import Toolkit
    from ez_ptc.tools.tool import Tool

__all__ = ["adapt_settings"]

# The providers that run programs which call tools, and search among tools.
_HOSTS: Final = tuple(entry.name for entry in PROVIDERS if entry.runs_programs)

_log = logging.getLogger("ez_ptc.conversation")
# Without this, an application that has not configured logging would print our warnings.
_log.addHandler(logging.NullHandler())


def adapt_settings(settings: BuilderSettings, providers: Sequence[LLMProvider]) -> BuilderSettings:
    """Return settings that the providers' models support.

    If the first provider cannot call tools, its model writes programs over them into its text instead.

    Raises:
        ProviderError: A provider has no programs or no search for the options that ask for them.
            Or the first provider cannot call tools and the option `native_only` is set, or only a fallback
            cannot: it would have to continue after tool calls of another provider.
    """
    for provider in providers:
        if settings.hosted_tools and provider.name not in _HOSTS:
            message = (
                f"expected a provider that runs programs ({', '.join(_HOSTS)}) for options(hosted_programs=True), "
                f"got {provider.name}: give the tools as .toolkit(...) instead, whose programs run here"
            )
            raise ProviderError(message)
        if settings.deferred_tools and provider.name not in _HOSTS:
            message = (
                f"expected a provider that searches among tools ({', '.join(_HOSTS)}) for "
                f"options(tool_search='provider'), got {provider.name}: give the tools as .toolkit(...) instead, whose "
                f"programs find them with search_tools(...)"
            )
            raise ProviderError(message)
    if not (settings.tools or settings.has_program_tool):
        return settings
    native_only = settings.options.get("native_only")
    for provider in providers:
        if not provider.supports_tools() and (provider is not providers[0] or native_only):
            message = (
                f"{provider.name}'s model {provider.model} cannot call tools: choose another with .provider(...), "
                f"or give a toolkit with .toolkit(..., mode='prompt'), which any model can use"
            )
            raise ProviderError(message)
    if providers[0].supports_tools():
        return settings
    toolkit = _toolkit_of_all_tools(settings, providers[0])
    options = {name: value for name, value in settings.options.items() if name not in TOOL_OPTIONS}
    return replace(settings, tools=(), toolkit=toolkit, mode="prompt", options=options)


def _toolkit_of_all_tools(settings: BuilderSettings, provider: LLMProvider) -> Toolkit:
    """Return a toolkit of the toolkit's tools and the single ones, and log why.

    Raises DuplicateToolError if a single tool has the name of another tool in the toolkit.
    """
    from ez_ptc.toolkit.toolkit import Toolkit

    _log.warning(
        "%s's model %s cannot call tools: it is told to write programs over them instead; "
        "options(native_only=True) makes that an error",
        provider.name,
        provider.model,
    )
    toolkit = settings.toolkit
    if toolkit is None:
        return Toolkit(settings.tools)
    missing: list[Tool[..., Any]] = []
    for tool in settings.tools:
        same = [present for present in toolkit if present.name == tool.name and present.fn == tool.fn]
        # One that asks for approval is not replaced by one that does not.
        if not any(present.requires_approval or not tool.requires_approval for present in same):
            missing.append(tool)
    if missing:
        return replace(toolkit, tools=(*toolkit, *missing))
    return toolkit
