"""Choosing the provider: by name, by model, or the first one with a key."""

from __future__ import annotations

import importlib
import os
import re
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar, cast

from ez_ptc._extras import load_entry_point
from ez_ptc.errors import AuthenticationError, ProviderError
from ez_ptc.formats.provider_table import PROVIDERS, ProviderEntry
from ez_ptc.providers.prompting import Prompting, PromptingProvider
from ez_ptc.providers.provider import LLMProvider
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


P = TypeVar("P")
__all__ = ["GROUP", "KEYS", "check_provider", "choose"]

# The entry points with which other packages add providers.
# Functions called with a model's name, or without arguments.
GROUP: Final = "ez_ptc.providers"

# By the packages of other clients.
_CLIENTS: Final = {
    "anthropic": "AnthropicProvider(model, api_key=..., base_url=...)",
    "google": "GeminiProvider(model, api_key=...)",
    "mistralai": "MistralProvider(model, api_key=...)",
    "openai": "OpenAIProvider(model, api_key=..., base_url=...)",
}
# Names by which providers and servers are known elsewhere.
_SERVER: Final = ".provider(OpenAIChatProvider(model, base_url=...)), with the URL of that server"
_KNOWN_ELSEWHERE: Final = {
    "claude": ".provider('anthropic')",
    "google": ".provider('gemini')",
    **dict.fromkeys(("azure", "bedrock", "deepseek", "groq", "lmstudio", "ollama", "openrouter", "vllm"), _SERVER),
}

_OURS: Final[Mapping[str, ProviderEntry]] = {entry.name: entry for entry in PROVIDERS}

# The minimum similarity of a prefix to a provider's name; other prefixes are part of the model's name.
_ALIKE: Final = 0.85

# The environment variables with a provider's key, in the order in which providers are tried.
KEYS: Final[Mapping[str, tuple[str, ...]]] = {entry.name: entry.keys for entry in PROVIDERS if entry.keys}


def choose(
    provider: LLMProvider | Prompting | str | None, model: str | None, settings: Mapping[str, str] | None = None
) -> LLMProvider:
    """Return the provider.

    `provider` is an LLMProvider, a name, or `"provider:model"`, which `model` may be too. Otherwise, the provider is
    inferred from the model's name, or is the first of `KEYS` with a key set. `settings` may have the `api_key` and the
    `base_url` of a provider of ours.

    Raises:
        AuthenticationError: There is no key for any provider.
        ProviderError: The provider is unknown, or has a model of its own although one is given.
        TypeError: The provider is of another type.
    """
    if provider is not None and not isinstance(provider, str):
        check_provider(provider)
        if not _has_connection(provider):
            return PromptingProvider(cast("Prompting", provider), model)
        connecting = cast("LLMProvider", provider)
        if model is not None and model != connecting.model:
            message = (
                f"{connecting.name} was made for the model {connecting.model}: make it with the model {model} instead"
            )
            raise ProviderError(message)
        return connecting
    if provider is not None:
        name, own_model = _split_model(provider)
    else:
        name, own_model = (None, None)
    if model is not None and name is None:
        name, own_model = _split_or_infer(model)
    elif model is not None:
        own_model = model
    make = _maker(name or _default(), settings or {})
    if own_model is None:
        return make()
    return make(own_model)


def check_provider(provider: P) -> P:
    """Return a provider or its name. Raises ProviderError for an unknown name, and TypeError for another object."""
    if isinstance(provider, str):
        name, _ = _split_model(provider)
        if name not in _OURS and name not in _provider_names():
            raise ProviderError(_unknown(name))
    elif isinstance(provider, type):
        message = f"a provider is an object, got the class {provider.__name__}: write {provider.__name__}(...)"
        raise TypeError(message)
    elif not (hasattr(provider, "prompt_with_tools") or _has_connection(provider)):
        message = (
            f"a provider is an object with prompt_with_tools or connect, or a name, got {type(provider).__name__}: "
            f"{_instead(provider)}"
        )
        raise TypeError(message)
    return provider


def _instead(thing: object) -> str:
    """Return advice about an object without a provider's methods, such as a client of an SDK."""
    package = type(thing).__module__.partition(".")[0]
    if package in _CLIENTS:
        return f"write {_CLIENTS[package]}, which makes a client of its own"
    if isinstance(thing, list | tuple):
        return "write .provider(first).fallback(second)"
    if callable(thing):
        return "write ScriptedProvider(function) in a test, or a class with prompt_with_tools"
    return "write .provider('anthropic:model')"


def _has_connection(provider: object) -> bool:
    """Return whether a provider opens connections of its own."""
    return getattr(type(provider), "connect", LLMProvider.connect) is not LLMProvider.connect


def _split_model(text: str) -> tuple[str, str | None]:
    name, _, model = text.partition(":")
    return name, model or None


def _split_or_infer(model: str) -> tuple[str | None, str | None]:
    """Return the provider before the model's name, or else the one inferred from it or None, and the model.

    Raises ProviderError for a misspelled provider.
    """
    name, colon, _ = model.partition(":")
    known = [name] if name in _OURS else _provider_names()
    if name in known:
        return _split_model(model)
    if colon and get_close_matches(name, known, n=1, cutoff=_ALIKE):
        raise ProviderError(_unknown(name))
    inferred = (entry.name for entry in PROVIDERS if entry.models and re.match(entry.models, model))
    return next(inferred, None), model


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


def _provider_names() -> list[str]:
    # Takes two megabytes, which a script with a provider's object need not spend.
    from importlib import metadata

    return list(dict.fromkeys([*_OURS, *(point.name for point in metadata.entry_points(group=GROUP))]))


def _maker(name: str, settings: Mapping[str, str]) -> Callable[..., LLMProvider]:
    if name in _OURS:
        module = importlib.import_module(f"ez_ptc.providers.{_OURS[name].folder}")
        make = cast("Callable[..., LLMProvider]", getattr(module, _OURS[name].adapter))
        return partial(make, **settings) if settings else make
    added = load_entry_point(GROUP, name, role="provider", error=ProviderError)
    if added is not None:
        if settings:
            message = (
                f"the provider {safe_repr(name)} of another package takes no {' and no '.join(settings)} from here"
            )
            raise ProviderError(message)
        return cast("Callable[..., LLMProvider]", added)
    raise ProviderError(_unknown(name))


def _unknown(name: str) -> str:
    known = _provider_names()
    near = get_close_matches(name, known, n=1, cutoff=_ALIKE)
    hint = "."
    if near:
        hint = f": did you mean {near[0]!r}?"
    listed = f"there is no provider {safe_repr(name)}{hint} There are: {', '.join(known)}"
    if name in _KNOWN_ELSEWHERE:
        return f"{listed}; write {_KNOWN_ELSEWHERE[name]}"
    if near or not any(character.isdigit() for character in name):
        return listed
    return f"{listed}; if it is a model, write .model({safe_repr(name)})"
