"""Who answers: a provider by its name, or the first one that there is a key for."""

from __future__ import annotations

import importlib
import os
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.errors import AuthenticationError, ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ez_ptc.providers.provider import LLMProvider

__all__ = ["GROUP", "KEYS", "choose"]

GROUP: Final = "ez_ptc.providers"
"""The entry points by which other packages add providers: each is called with a model's name, or with nothing."""

_OURS: Final[Mapping[str, str]] = {
    "anthropic": "ez_ptc.providers.anthropic:AnthropicProvider",
    "openai": "ez_ptc.providers.responses:OpenAIProvider",
    "openai-chat": "ez_ptc.providers.openai:OpenAIChatProvider",
    "gemini": "ez_ptc.providers.gemini:GeminiProvider",
}

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""The environment variables that hold a provider's key, in the order in which providers are tried."""


def choose(provider: LLMProvider | str | None, model: str | None) -> LLMProvider:
    """Return who answers.

    `provider` is one, or its name, or `"provider:model"`; so may `model` be. Where neither names one, it is the first
    of `KEYS` that there is a key for.

    Raises:
        AuthenticationError: There is no key for any provider.
        ProviderError: No provider has that name, or a model is given for a provider that has its own already.
    """
    if provider is not None and not isinstance(provider, str):
        if model is not None and model != provider.model:
            message = f"{provider.name} was made for the model {provider.model}: make it with the model {model} instead"
            raise ProviderError(message)
        return provider
    name, own_model = _parted(provider) if provider is not None else (None, None)
    if model is not None and name is None:
        name, own_model = _parted(model) if model.partition(":")[0] in _known() else (None, model)
    elif model is not None:
        own_model = model
    make = _maker(name or _default())
    return make() if own_model is None else make(own_model)


def _parted(text: str) -> tuple[str, str | None]:
    name, _, model = text.partition(":")
    return name, model or None


def _default() -> str:
    for name, variables in KEYS.items():
        if any(os.environ.get(variable) for variable in variables):
            return name
    variables = ", ".join(variable for several in KEYS.values() for variable in several)
    message = (
        f"there is no key for a provider: set one of {variables}, or say who answers with "
        f".provider('anthropic:model'), or .provider(OpenAIChatProvider(model, base_url=...)) for a server of your own"
    )
    raise AuthenticationError(message)


def _known() -> list[str]:
    return [*_OURS, *(each.name for each in entry_points(group=GROUP))]


def _maker(name: str) -> Callable[..., LLMProvider]:
    if name in _OURS:
        module, _, attribute = _OURS[name].partition(":")
        return cast("Callable[..., LLMProvider]", getattr(importlib.import_module(module), attribute))
    for each in entry_points(group=GROUP, name=name):
        return cast("Callable[..., LLMProvider]", cast("Any", each).load())
    message = f"there is no provider {name!r}; there are: {', '.join(_known())}"
    raise ProviderError(message)
