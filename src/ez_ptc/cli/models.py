"""The model of a command: by its options, or else the first provider with a key."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from ez_ptc.cli.run import CommandError
from ez_ptc.conversation.builder import llm
from ez_ptc.errors import AuthenticationError, ProviderError
from ez_ptc.providers._http import usable_key
from ez_ptc.providers.lookup import KEYS, choose
from ez_ptc.providers.openai_chat import OpenAIChatProvider, list_models
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from ez_ptc.conversation.builder import LLMPromptBuilder
    from ez_ptc.providers.provider import LLMProvider

__all__ = ["ModelOptions", "server_model"]

_WAYS: Final = (
    f"set one of {', '.join(chain.from_iterable(KEYS.values()))}; or name the provider with --provider and the "
    "variable of its key with --key-env; or pass --base-url http://localhost:11434/v1 for a server of your own"
)


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The options of a command that choose its model; `key_env` is the environment variable of the key."""

    model: str | None = None
    base_url: str | None = None
    key_env: str | None = None
    provider: str | None = None

    def builder(self) -> LLMPromptBuilder:
        """Return a conversation with the model.

        Raises:
            CommandError: There is no key; the message names the options.
            EzPtcError: The provider is unknown or not installed, or the server cannot be reached.
        """
        key = self._key()
        if self.provider is None and self.base_url is not None:
            return llm().provider(server_model(self.base_url, self.model, key))
        if self.provider is None and self.model is None and key is not None:
            message = f"--key-env {self.key_env} names a key, but not its provider: add --provider or --model"
            raise CommandError(message)
        settings = {"api_key": key, "base_url": self.base_url}
        settings = {name: value for name, value in settings.items() if value is not None}
        try:
            return llm().provider(choose(self.provider, self.model, settings))
        except AuthenticationError as error:
            message = f"there is no key for a provider: {_WAYS}"
            if self.provider is not None or self.model is not None:
                message = f"{error}; or name another variable with --key-env"
            raise CommandError(message) from error

    def _key(self) -> str | None:
        if self.key_env is None:
            return None
        key = usable_key(os.environ.get(self.key_env), self.key_env)
        if key is None:
            message = (
                f"--key-env: the environment variable {safe_repr(self.key_env)} is not set: export it, with the key"
            )
            raise CommandError(message)
        return key


def server_model(base_url: str | None, model: str | None, key: str | None = None) -> LLMProvider:
    """Return a model on a server with OpenAI's Chat Completions API: the server's only one if `model` is None.

    `key` is that of `OPENAI_API_KEY` by default.

    Raises:
        MissingExtraError: The official SDK is not installed.
        ProviderError: The server cannot be reached, or has several models.
    """
    key = key or os.environ.get("OPENAI_API_KEY")
    if model is None:
        models = list_models(base_url=base_url, api_key=key)
        if len(models) != 1:
            message = f"choose a model with --model; {base_url} offers: {', '.join(sorted(models)) or 'none'}"
            raise ProviderError(message)
        model = models[0]
    return OpenAIChatProvider(model, base_url=base_url, api_key=key)
