"""OpenAI's Responses API, through the official SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ez_ptc._wrong_calls import explain_calls
from ez_ptc.formats.openai_responses.messages import PROVIDER, answer, request
from ez_ptc.formats.openai_responses.stream import AnswerStream
from ez_ptc.providers._http import usable_model
from ez_ptc.providers.openai_client import Wire, account
from ez_ptc.providers.prompting import PromptableProvider

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from openai import AsyncAPIResponse, AsyncOpenAI

    from ez_ptc.providers.openai_client import OpenAIConnection

__all__ = ["OpenAIProvider"]

_MODEL: Final = "gpt-5.5"
_TIMEOUT: Final = 600.0


@explain_calls(checks="timeout tools")
class OpenAIProvider(PromptableProvider):
    """A model behind OpenAI's Responses API, at OpenAI or another server.

    The provider stores no conversation unless `.options(store=True)` asks for it. `base_url` is the environment
    variable `OPENAI_BASE_URL`, or else OpenAI's; `api_key` is `OPENAI_API_KEY` for these. `timeout` is in seconds, for
    one answer.

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

        def send(client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[AsyncAPIResponse[Any]]:
            return client.responses.with_streaming_response.create(extra_body=body)

        return self._account.connect(self.model, Wire("/responses", request, answer, AnswerStream, send))
