"""The model of a command: by its options, or else the first provider with a key."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from ez_ptc.cli.demo.sources import server_model
from ez_ptc.cli.run import CommandError
from ez_ptc.conversation.builder import llm
from ez_ptc.errors import AuthenticationError
from ez_ptc.providers._http import usable_key
from ez_ptc.providers.lookup import KEYS, choose
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    from ez_ptc.conversation.builder import LLMPromptBuilder

__all__ = ["ModelOptions"]

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
