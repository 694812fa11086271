"""Keys as people have them in their environment."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from ez_ptc.conversation.builder import llm
from ez_ptc.errors import AuthenticationError, ProviderError
from ez_ptc.providers.anthropic import AnthropicProvider
from ez_ptc.providers.gemini import GeminiProvider
from ez_ptc.providers.mistral import MistralProvider
from ez_ptc.providers.openai_chat import OpenAIChatProvider
from ez_ptc.providers.openai_responses import OpenAIProvider
from tests.providers.loopback import LoopbackServer, Reply

_BOUND = 60
_PROVIDERS = [AnthropicProvider, GeminiProvider, MistralProvider, OpenAIChatProvider, OpenAIProvider]


@pytest.mark.parametrize("make", _PROVIDERS)
async def test_white_space_around_a_key_is_not_sent(make: Callable[..., Any], anyio_backend: str) -> None:
    with LoopbackServer(Reply(body={})) as server, anyio.fail_after(_BOUND), pytest.raises(ProviderError):
        await llm().provider(make(api_key=" k-123\n", base_url=server.url)).aprompt("Hello")
    (request,) = server.requests
    names = ("authorization", "x-api-key", "x-goog-api-key")
    assert {request.headers[name].removeprefix("Bearer ") for name in names if name in request.headers} == {"k-123"}


@pytest.mark.parametrize("make", _PROVIDERS)
@pytest.mark.parametrize("key", ["k-1\n23", "k-1é23", "k-1\0" + "23"])
async def test_unsendable_key_is_refused_without_being_shown(
    make: Callable[..., Any], key: str, anyio_backend: str
) -> None:
    refused = pytest.raises(AuthenticationError, match=r"an invalid character; check .*_API_KEY")
    with LoopbackServer() as server, anyio.fail_after(_BOUND), refused as caught:
        await llm().provider(make(api_key=key, base_url=server.url)).aprompt("Hello")
    assert "k-1" not in str(caught.value)
    assert server.requests == []
