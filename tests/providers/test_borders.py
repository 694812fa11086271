"""All providers at the border to their servers: redirects, sizes, and credentials in errors."""

from __future__ import annotations

import gzip
import logging
import traceback
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from ez_ptc import (
    AnthropicProvider,
    GeminiProvider,
    MistralProvider,
    OpenAIChatProvider,
    OpenAIProvider,
    ProviderError,
    RedirectRefusedError,
    TextMessage,
)
from ez_ptc.formats.prompt import Prompt
from ez_ptc.providers._events import MAX_LINE_BYTES
from ez_ptc.providers._responses import MAX_ANSWER_BYTES
from ez_ptc.redaction.redactor import Redactor
from tests.providers.loopback import LoopbackServer, Reply, broken_replies

PROVIDERS: dict[str, Callable[..., Any]] = {
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
    "mistral": MistralProvider,
    "openai": OpenAIProvider,
    "openai-chat": OpenAIChatProvider,
}
KEY = "sk-live/s3cr3t+key=="
TOKEN = "sk-0123456789abcdef"
PASSWORD = "open&sesame%41"
WORDS = "the words of a conversation"
each_provider = pytest.mark.parametrize("name", PROVIDERS)
each_way = pytest.mark.parametrize("is_streamed", [False, True])


async def ask(name: str, url: str, *, is_streamed: bool) -> object:
    provider = PROVIDERS[name]("m", api_key=KEY, base_url=url, timeout=20)
    prompt = Prompt(model="m", entries=(TextMessage(WORDS),))
    async with provider.connect() as connection:
        if not is_streamed:
            return await connection.answer(prompt)
        return [event async for event in connection.stream(prompt)][-1]


def everything_in(error: BaseException) -> str:
    """Return all that is shown of an exception, and of those that it comes from."""
    texts = ["".join(traceback.format_exception(error))]
    found: BaseException | None = error
    while found is not None:
        texts += [str(found), repr(found), repr(getattr(found, "body", ""))]
        found = found.__cause__
    return "\n".join(texts)


@pytest.mark.sampled(every=8)
@each_provider
@each_way
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_takes_nothing_to_another_server(
    name: str, is_streamed: bool, status: int, anyio_backend: str
) -> None:
    with LoopbackServer(*[Reply(body=b"{}")] * 3) as other:
        location = f"{other.url.replace('http://', 'http://user:pass@')}/{KEY}/steal?key={KEY}"
        with LoopbackServer(*[Reply(status=status, headers={"location": location})] * 3) as server:
            with pytest.raises(RedirectRefusedError, match=r"with a redirect to http://127\.0\.0\.1:\d+/") as refused:
                await ask(name, server.url, is_streamed=is_streamed)
            assert len(server.requests) == 1
        assert other.requests == []
    assert KEY not in everything_in(refused.value)
    assert "user:pass" not in everything_in(refused.value)


@pytest.mark.sampled(every=6)
@each_provider
@pytest.mark.parametrize(
    "target",
    [
        "https://{host}/x",
        "http://evil.example/x",
        "//evil.example/x",
        "http://localhost:{port}/x",
        "http://[",
        "ftp://{host}",
    ],
)
async def test_redirect_to_another_scheme_or_name_is_refused(name: str, target: str, anyio_backend: str) -> None:
    with LoopbackServer() as server:
        host = server.url.removeprefix("http://").split("/")[0]
        server.replies = (
            Reply(status=307, headers={"location": target.format(host=host, port=host.partition(":")[2])}),
        )
        with pytest.raises(RedirectRefusedError, match="which was not followed"):
            await ask(name, server.url, is_streamed=False)
        assert len(server.requests) == 1


@each_provider
async def test_redirect_within_the_server_is_followed(name: str, anyio_backend: str) -> None:
    with (
        LoopbackServer(Reply(status=307, headers={"location": "/elsewhere"}), Reply(body=b"[]")) as server,
        pytest.raises(ProviderError),
    ):
        await ask(name, server.url, is_streamed=False)
    assert [request.path for request in server.requests][1:] == ["/elsewhere"]


def bomb(encoding: str, size: int) -> bytes:
    if encoding == "gzip":
        return gzip.compress(b" " * size)
    compressor = zlib.compressobj(wbits=15 if encoding == "deflate" else -15)
    return compressor.compress(b" " * size) + compressor.flush()


@pytest.mark.sampled(every=61)
@each_provider
@each_way
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
async def test_compressed_answer_has_a_size(name: str, is_streamed: bool, encoding: str, anyio_backend: str) -> None:
    content_type = "text/event-stream" if is_streamed else "application/json"
    headers = {"Content-Type": content_type, "content-encoding": encoding.rpartition(" ")[2]}
    body = bomb(encoding, MAX_ANSWER_BYTES + 1)
    with (
        LoopbackServer(*[Reply(body=body, headers=headers)] * 3) as server,
        pytest.raises(ProviderError, match=r"more than (64|32) MiB"),
    ):
        await ask(name, server.url, is_streamed=is_streamed)


@each_provider
@pytest.mark.sampled(every=9)
@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize(
    "charset", ["punycode", "zlib", "rot13", "hex", "utf-7", "idna", "undefined", "unicode_escape"]
)
async def test_codec_that_is_no_charset_decodes_nothing(
    name: str, status: int, charset: str, anyio_backend: str
) -> None:
    """Python has codecs of quadratic time, and some that return no text."""
    reply = Reply(body=b"a-bbb+AGE-", status=status, headers={"Content-Type": f"text/plain; charset={charset}"})
    with LoopbackServer(*[reply] * 3) as server, pytest.raises(ProviderError) as failure:
        await ask(name, server.url, is_streamed=False)
    assert status == 200 or "a-bbb+AGE-" in str(failure.value)


@each_provider
@pytest.mark.sampled(every=11)
async def test_error_body_has_a_size(name: str, anyio_backend: str) -> None:
    headers = {"Content-Type": "application/json", "content-encoding": "gzip"}
    reply = Reply(status=400, body=bomb("gzip", MAX_ANSWER_BYTES + 1), headers=headers)
    with LoopbackServer(*[reply] * 3) as server, pytest.raises(ProviderError, match="more than 64 MiB"):
        await ask(name, server.url, is_streamed=False)


@each_provider
@pytest.mark.sampled(every=5)
async def test_line_of_a_stream_has_a_size(name: str, anyio_backend: str) -> None:
    pieces = (b"data: ", *[b"x" * (1 << 20)] * ((MAX_LINE_BYTES >> 20) + 1))
    with (
        LoopbackServer(Reply(body=pieces, headers={"Content-Type": "text/event-stream"})) as server,
        pytest.raises(ProviderError, match="a line of the answer has more than 32 MiB"),
    ):
        await ask(name, server.url, is_streamed=True)


@pytest.mark.sampled(every=10)
@each_provider
@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "x"])
async def test_encoding_that_was_not_asked_for_is_refused(name: str, encoding: str, anyio_backend: str) -> None:
    with (
        LoopbackServer(*[Reply(body=b"{}", headers={"content-encoding": encoding})] * 3) as server,
        pytest.raises(ProviderError, match="expected an answer in gzip or deflate, got"),
    ):
        await ask(name, server.url, is_streamed=False)


@each_provider
@pytest.mark.sampled(every=5)
async def test_damaged_compression_is_an_error(name: str, anyio_backend: str) -> None:
    with (
        LoopbackServer(*[Reply(body=b"{}", headers={"content-encoding": "gzip"})] * 3) as server,
        pytest.raises(ProviderError, match="the answer cannot be decompressed"),
    ):
        await ask(name, server.url, is_streamed=False)


@pytest.mark.sampled(every=20)
@each_provider
@each_way
@pytest.mark.parametrize("status", [200, 400, 401, 404, 429])
@pytest.mark.parametrize("spelling", ["raw", "escaped"])
async def test_credentials_stand_in_no_error(
    name: str, is_streamed: bool, status: int, spelling: str, anyio_backend: str
) -> None:
    text = f"no {KEY} for {PASSWORD} at v1"
    body: Any = {"error": {"message": text, "type": text, "code": text, "status": text}, "message": text, KEY: text}
    if spelling == "escaped":
        body = "".join(f"\\u{ord(character):04x}" for character in text).join(['{"error": {"message": "', '"}}'])
    with LoopbackServer(*[Reply(status=status, body=body, headers={"Content-Type": "application/json"})] * 3) as server:
        url = server.url.replace("http://", "http://ada:open%26sesame%2541@") + f"?token={KEY.replace('+', '%2B')}"
        with pytest.raises(ProviderError) as failed:
            await ask(name, url, is_streamed=is_streamed)
    redactor = Redactor([KEY, PASSWORD])
    assert not redactor.is_in(everything_in(failed.value)), everything_in(failed.value)


@each_provider
async def test_credentials_of_the_address_stand_in_no_log(
    name: str, anyio_backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with LoopbackServer(*[Reply(status=400, body={})] * 3) as server:
        url = server.url.replace("http://", "http://ada:open%26sesame%2541@") + f"/{TOKEN}/v1?key=s3cr3t"
        with pytest.raises(ProviderError):
            await ask(name, url, is_streamed=False)
        (request,) = server.requests
    assert request.headers["authorization"].startswith("Basic ")
    assert request.path.startswith(f"/{TOKEN}/v1/")
    assert request.path.endswith("?key=s3cr3t")
    assert "HTTP Request" in caplog.text
    assert not Redactor([PASSWORD, TOKEN, "key=s3cr3t"]).is_in(caplog.text)


@pytest.mark.sampled(every=9)
@each_provider
@each_way
@pytest.mark.parametrize("broken", broken_replies(b""))
async def test_broken_answer_puts_no_credential_in_logs_or_errors(
    name: str, is_streamed: bool, broken: str, anyio_backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with (
        LoopbackServer(lambda _: broken_replies(KEY.encode())[broken]) as server,
        pytest.raises(ProviderError) as failed,
    ):
        await ask(name, server.url, is_streamed=is_streamed)
    redactor = Redactor([KEY])
    assert not redactor.is_in(caplog.text)
    assert not redactor.is_in(everything_in(failed.value))


@each_provider
@pytest.mark.sampled(every=5)
async def test_credentials_stand_in_no_connection_error(name: str, anyio_backend: str) -> None:
    for address in (f"http://ada:{PASSWORD.replace('%', '%25')}@127.0.0.1:1/v1", f"http://{KEY.replace('/', '')}/v1"):
        with pytest.raises(ProviderError) as failed:
            await ask(name, address, is_streamed=False)
        assert not Redactor([PASSWORD]).is_in(everything_in(failed.value))


@each_provider
def test_providers_show_no_credentials(name: str) -> None:
    provider = PROVIDERS[name]("m", api_key=KEY, base_url=f"https://ada:{PASSWORD}@api.example/v1?key={KEY}")
    assert not Redactor([KEY, PASSWORD]).is_in(repr(provider) + str(provider) + repr(getattr(provider, "_account", "")))
