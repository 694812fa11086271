"""The models of a provider in a test, through OpenAI's SDK."""

from contextlib import AbstractAsyncContextManager
from typing import Final

from ez_ptc.providers.openai_client import Account, OpenAIConnection, chat_wire
from ez_ptc.providers.prompting import PromptableProvider

__all__ = ["AcmeProvider"]


class AcmeProvider(PromptableProvider):
    """A model of Acme."""

    def __init__(self, model: str = "acme-1", *, api_key: str = "none", base_url: str | None = None) -> None:
        self.name: Final = "acme"
        self.model: Final = model
        self._account: Final = Account(base_url or "https://api.acme.example/v1", api_key, 60.0, "ACME_API_KEY")

    def connect(self) -> AbstractAsyncContextManager[OpenAIConnection]:
        """Open a connection."""
        return self._account.connect(self.model, chat_wire())
