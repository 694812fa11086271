"""OpenAI's Responses through the official SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ez_ptc.formats.openai_responses.messages import PROVIDER, answer, request
from ez_ptc.formats.openai_responses.stream import AnswerStream
from ez_ptc.providers.openai_client import Wire, account

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from openai import AsyncAPIResponse, AsyncOpenAI

    from ez_ptc.providers.openai_client import OpenAIConnection

__all__ = ["OpenAIProvider"]

_MODEL: Final = "gpt-5.5"
_TIMEOUT: Final = 600.0


class OpenAIProvider:
    """A model behind OpenAI's Responses, or behind another server that has them.

    Nothing of a conversation is kept at the provider, unless `.options(store=True)` asks for it. `base_url` is the one
    in `OPENAI_BASE_URL`, or else OpenAI's own; `api_key` is the one in `OPENAI_API_KEY` for these. `timeout` is in
    seconds, for one answer.

    Raises:
        MissingExtraError: The SDK is not installed.
        AuthenticationError: OpenAI itself wants a key, and there is none.
    """

    def __init__(
        self,
        model: str = _MODEL,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = _TIMEOUT,
    ) -> None:
        self.name: Final = PROVIDER
        self.model: Final = model
        self._account: Final = account(base_url, api_key, timeout)

    def supports_tools(self) -> bool:
        """Whether its models can call tools: yes."""
        return True

    def supports_output_schema(self) -> bool:
        """Whether its models can be held to a JSON Schema: yes."""
        return True

    def connect(self) -> AbstractAsyncContextManager[OpenAIConnection]:
        """Open a way to the server."""
        return self._account.connect(self.model, Wire("/responses", request, answer, AnswerStream, _open))


def _open(client: AsyncOpenAI, body: dict[str, Any]) -> AbstractAsyncContextManager[AsyncAPIResponse[Any]]:
    return client.responses.with_streaming_response.create(extra_body=body)
