"""OpenAI's Chat Completions, at OpenAI or any other server, through the official SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.formats.json_reader import read_body
from ez_ptc.formats.openai_chat.messages import PROVIDER
from ez_ptc.formats.wire import parse
from ez_ptc.providers._http import usable_model
from ez_ptc.providers.openai_client import account, chat_wire, errors_of
from ez_ptc.providers.prompting import PromptableProvider

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from ez_ptc.providers.openai_client import OpenAIConnection

__all__ = ["OpenAIChatProvider", "list_models"]

_MODEL: Final = "gpt-5.5"
_TIMEOUT: Final = 600.0


@explain_calls(checks="timeout tools")
class OpenAIChatProvider(PromptableProvider):
    """A model behind OpenAI's Chat Completions API, which most servers support.

    `base_url` is the environment variable `OPENAI_BASE_URL`, or else OpenAI's; `api_key` is `OPENAI_API_KEY` for these,
    and optional for others. `timeout` is in seconds, for one answer.

    Raises:
        MissingExtraError: The SDK is not installed.
        AuthenticationError: There is no key for OpenAI.
    """

    def __init__(
        self, model: str = _MODEL, *, api_key: str | None = None, base_url: str | None = None, timeout: float = _TIMEOUT
    ) -> None:
        self.name: Final = PROVIDER
        self.model: Final = usable_model(model)
        self._account: Final = account(base_url, api_key, timeout)

    def connect(self) -> AbstractAsyncContextManager[OpenAIConnection]:
        """Open a connection."""
        return self._account.connect(self.model, chat_wire())


def list_models(*, base_url: str | None = None, api_key: str | None = None) -> list[str]:
    """Return the names of a server's models. Raises as `ProviderConnection.answer` does."""
    server = account(base_url, api_key, _TIMEOUT)
    from openai import DefaultHttpxClient, OpenAI

    from ez_ptc.providers._responses import sync_client_hooks
    from ez_ptc.redaction.quiet_urls import CompletedAddress

    address = CompletedAddress(server.address)
    http = DefaultHttpxClient(event_hooks=sync_client_hooks(address, server.redactor))
    with (
        errors_of(server),
        OpenAI(
            base_url=address.visible, api_key=server.key, timeout=server.timeout, max_retries=1, http_client=http
        ) as client,
    ):
        listed = read_body(parse(client.get("/models", cast_to=str)), "list of models")
    return [model.text("id") for model in listed.objects("data")]
