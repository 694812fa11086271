"""Bytes that are no answer, over a real connection and through the real SDKs, are errors of ours."""

import json
from collections.abc import Callable
from contextlib import suppress

import pytest

from ez_ptc.errors import ConnectionFailedError, ProviderError, RateLimitError
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, TextMessage, ToolResultMessage
from ez_ptc.providers.anthropic import AnthropicProvider
from ez_ptc.providers.gemini import GeminiProvider
from ez_ptc.providers.mistral import MistralProvider
from ez_ptc.providers.openai_chat import OpenAIChatProvider, list_models
from ez_ptc.providers.openai_responses import OpenAIProvider
from ez_ptc.providers.provider import LLMProvider
from tests.formats.all_formats.provider_bodies import FORMATS
from tests.providers.loopback import LoopbackServer, Reply

_PROMPT = Prompt(model="m", entries=(TextMessage("Pay Ada."),))
_DEEP_LIST = "[" * 100_000
_DEEP_OBJECT = '{"error":' * 100_000
_LONG_INTEGER = "9" * 10_000

Make = Callable[[str], LLMProvider]
_PROVIDERS: dict[str, Make] = {
    "anthropic": lambda url: AnthropicProvider("m", api_key="k", base_url=url, timeout=20),
    "openai-chat": lambda url: OpenAIChatProvider("m", api_key="k", base_url=url, timeout=20),
    "mistral": lambda url: MistralProvider("m", api_key="k", base_url=url, timeout=20),
    "openai-responses": lambda url: OpenAIProvider("m", api_key="k", base_url=url, timeout=20),
    "gemini": lambda url: GeminiProvider("m", api_key="k", base_url=url, timeout=20),
}
every_provider = pytest.mark.parametrize("name", _PROVIDERS)
each_way = pytest.mark.parametrize("is_streamed", [False, True])


async def _asked(name: str, reply: Reply, *, is_streamed: bool) -> Answer:
    """Return the answer that comes of a reply, however often the SDK asks for it."""
    with LoopbackServer(lambda request: reply) as server:
        async with _PROVIDERS[name](server.url).connect() as connection:
            if not is_streamed:
                return await connection.answer(_PROMPT)
            answer = [event async for event in connection.stream(_PROMPT)][-1]
            assert isinstance(answer, Answer)
            return answer


def _reply(name: str, body: str | bytes, *, is_streamed: bool) -> Reply:
    data = body if isinstance(body, bytes) else body.encode()
    if not is_streamed:
        return Reply(body=data)
    events = [json.dumps(event).encode() for event in FORMATS[name].events[:1]]
    names = [event.get("type", "message") for event in FORMATS[name].events[:1]]
    pieces = [b"event: %b\ndata: %b\n\n" % (kind.encode(), event) for kind, event in zip(names, events, strict=True)]
    return Reply(body=(*pieces, b"data: %b\n\n" % data))


@every_provider
@each_way
@pytest.mark.parametrize(
    "body",
    [
        _DEEP_LIST,
        _DEEP_OBJECT,
        "[" * 300 + "]" * 300,
        _LONG_INTEGER,
        f'{{"usage": {_LONG_INTEGER}}}',
        '{"content": "\\ud800"',
        b'{"text": "\xff\xfe"}',
        "null",
        '"text"',
    ],
    ids=["list", "object", "closed", "integer", "in usage", "cut off", "no text", "null", "string"],
)
@pytest.mark.sampled(every=4)
async def test_invalid_bytes_are_refused(name: str, is_streamed: bool, body: str | bytes, anyio_backend: str) -> None:
    if name == "anthropic" and is_streamed and isinstance(body, bytes) and anyio_backend == "trio":
        pytest.skip("the SDK leaves a generator to the collector, which trio complains of")
    with pytest.raises(ProviderError) as caught:
        await _asked(name, _reply(name, body, is_streamed=is_streamed), is_streamed=is_streamed)
    said = str(caught.value)
    said.encode()
    assert said.isprintable()
    assert len(said) < 1500


@every_provider
async def test_cut_body_is_a_lost_connection(name: str, anyio_backend: str) -> None:
    body = json.dumps(FORMATS["openai-chat" if name == "mistral" else name].body)
    for end in (1, len(body) // 2, len(body) - 1):
        with pytest.raises(ConnectionFailedError, match="before the answer was complete; ask again"):
            await _asked(name, Reply(body=body[:end]), is_streamed=False)


@every_provider
@pytest.mark.parametrize(
    "body", [_DEEP_LIST, _DEEP_OBJECT, _LONG_INTEGER, '{"error": {"message": "a\\nb\\ud800"}}', "x\ny"]
)
@pytest.mark.sampled(every=3)
async def test_error_may_have_any_text(name: str, body: str, anyio_backend: str) -> None:
    with pytest.raises(ProviderError) as caught:
        await _asked(name, Reply(status=400, body=body), is_streamed=False)
    said = str(caught.value)
    said.encode()
    assert said.isprintable()
    assert len(said) < 1500


@every_provider
async def test_numbers_that_json_does_not_have_are_null(name: str, anyio_backend: str) -> None:
    form = FORMATS["openai-chat" if name == "mistral" else name]
    text = (
        json.dumps({**form.body, "extra": "HOLE", "more": "HOLE"})
        .replace('"HOLE"', "NaN", 1)
        .replace('"HOLE"', "1e999")
    )
    answer = await _asked(name, Reply(body=text), is_streamed=False)
    assert answer.text == "I pay."
    results = [ToolResultMessage(call.id, "paid", tool_name=call.name) for call in answer.calls]
    assert form.request(Prompt(model="m", entries=(*_PROMPT.entries, answer, *results)))


@every_provider
@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("nan", None), ("inf", None), ("-1", None), ("9" * 400, None), ("soon", None)]
)
@pytest.mark.sampled(every=3)
async def test_how_long_to_wait_is_a_number_of_seconds(
    name: str, header: str, seconds: float | None, monkeypatch: pytest.MonkeyPatch, anyio_backend: str
) -> None:
    async def no_time(_: float) -> None:
        """Wait for nothing."""

    monkeypatch.setattr("anyio.sleep", no_time)
    headers = {"retry-after": header, "x-should-retry": "false"}
    with pytest.raises(RateLimitError) as caught:
        await _asked(
            name, Reply(status=429, headers=headers, body={"error": {"message": "slow down"}}), is_streamed=False
        )
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize("body", [{"data": [{"id": None}, "x", None, {}]}, {"data": "x"}, [], {"data": None}])
def test_a_list_of_models_may_be_none(body: object) -> None:
    with LoopbackServer(Reply(body=body)) as server, suppress(ProviderError):
        assert list_models(base_url=server.url, api_key="k") == []
