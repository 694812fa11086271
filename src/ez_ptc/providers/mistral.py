"""Mistral's models, whose API is like Chat Completions, through OpenAI's SDK."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ez_ptc._extras import import_extra
from ez_ptc._wrong_calls import explain_calls
from ez_ptc.errors import AuthenticationError
from ez_ptc.providers._http import NO_KEY, usable_address, usable_key, usable_model
from ez_ptc.providers.openai_client import Account, chat_wire
from ez_ptc.providers.prompting import PromptableProvider

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from ez_ptc.providers.openai_client import OpenAIConnection

__all__ = ["MistralProvider"]

_MODEL: Final = "mistral-large-latest"
_ADDRESS: Final = "https://api.mistral.ai/v1"
_KEY: Final = "MISTRAL_API_KEY"
_TIMEOUT: Final = 600.0


@explain_calls(checks="timeout tools")
class MistralProvider(PromptableProvider):
    """A model of Mistral.

    `api_key` is the environment variable `MISTRAL_API_KEY` for Mistral itself; with another `base_url` it is optional.
    `timeout` is in seconds, for one answer.

    Raises:
        MissingExtraError: OpenAI's SDK, which sends the requests, is not installed.
        AuthenticationError: There is no key for Mistral.
    """

    def __init__(
        self, model: str = _MODEL, *, api_key: str | None = None, base_url: str | None = None, timeout: float = _TIMEOUT
    ) -> None:
        import_extra("openai", extra="openai")
        key = usable_key(api_key or (None if base_url else os.environ.get(_KEY)), _KEY)
        if not key and base_url is None:
            message = f"{_ADDRESS} needs a key: set {_KEY}, or give MistralProvider(api_key=...)"
            raise AuthenticationError(message)
        self.name: Final = "mistral"
        self.model: Final = usable_model(model)
        self._account: Final = Account(usable_address(base_url or _ADDRESS), key or NO_KEY, timeout, _KEY)

    def connect(self) -> AbstractAsyncContextManager[OpenAIConnection]:
        """Open a connection."""
        # Mistral rejects unknown fields.
        return self._account.connect(self.model, chat_wire(asks_for_usage=False))
