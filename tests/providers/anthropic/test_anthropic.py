import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from ez_ptc import ez_tool
from ez_ptc.conversation.builder import llm
from ez_ptc.errors import AuthenticationError, ConnectionFailedError, ProviderError, RateLimitError
from ez_ptc.formats.prompt import Event, Prompt, TextDelta
from ez_ptc.messages import Answer, TextMessage, ToolCallMessage, ToolResultMessage
from ez_ptc.providers.anthropic import AnthropicProvider
from ez_ptc.providers.lookup import choose
from tests.providers.anthropic.server import anthropic_server, events_of, message
from tests.providers.loopback import NOWHERE, Fault, LoopbackServer, Reply, sse

_Json = dict[str, Any]

_BOUND = 60
_ASKED = Prompt(model="claude-sonnet-5-5", entries=(TextMessage("Hello"),))
_HELLO = message("Hello there.")
_SOON = {"retry-after": "0.01"}


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return iter(())


@pytest.fixture(params=["whole", "streamed"])
def way(request: pytest.FixtureRequest) -> str:
    """Each of the two ways to get an answer."""
    return str(request.param)


def _reply(way: str, *blocks: _Json, **changes: Any) -> Reply:
    whole = message([*blocks]) if blocks else _HELLO
    return Reply(body=sse(*events_of(whole)) if way == "streamed" else whole, **changes)


def _refusal(status: int, kind: str, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = {"type": kind, "message": f"That is {status}."}
    return Reply(status=status, headers=named, body={"type": "error", "error": error, "request_id": "req_1"})


async def _events(server: str, way: str, prompt: Prompt = _ASKED, *, timeout: float = 20.0) -> list[Event]:  # noqa: ASYNC109 - the provider's own timeout is under test
    provider = AnthropicProvider("claude-sonnet-5-5", api_key="key", base_url=server, timeout=timeout)
    with anyio.fail_after(_BOUND):
        async with provider.connect() as connection:
            if way == "whole":
                return [await connection.answer(prompt)]
            return [event async for event in connection.stream(prompt)]


async def test_answer_arrives_through_the_sdk(anyio_backend: str, way: str) -> None:
    with anthropic_server("Hello there.") as server:
        *pieces, said = await _events(server.url, way)

    assert isinstance(said, Answer)
    assert said.text == "Hello there."
    assert said.model == "claude-sonnet-5-5-20260801"
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == (
        "" if way == "whole" else said.text
    )
    (request,) = server.requests
    assert "key" in (request.headers.get("x-api-key") or request.headers["authorization"])
    assert request.body.get("stream", False) is (way == "streamed")


async def test_whole_and_streamed_answers_are_equal(anyio_backend: str) -> None:
    blocks: list[_Json] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"location": "Paris"}},
    ]
    with anthropic_server(blocks, blocks) as server:
        (whole,) = await _events(server.url, "whole")
        *_, streamed = await _events(server.url, "streamed")

    assert whole == streamed


async def test_options_outside_the_body_become_headers(anyio_backend: str, way: str) -> None:
    options = {"betas": ["compact-2026-01-12", "skills-2025-10-02"], "metadata": {"user_id": "u"}}
    prompt = Prompt(model="claude", entries=_ASKED.entries, options=options)
    with anthropic_server("Hello there.") as server:
        await _events(server.url, way, prompt)

    (request,) = server.requests
    assert request.headers["anthropic-beta"] == "compact-2026-01-12,skills-2025-10-02"
    assert request.path == "/v1/messages?beta=true"
    assert request.body["metadata"] == {"user_id": "u"}
    assert "betas" not in request.body


async def test_temperature_uses_last_version_that_supports_it(anyio_backend: str, way: str) -> None:
    warm = Prompt(model="claude", entries=_ASKED.entries, temperature=0.0)
    with anthropic_server("Hello there.", "Hello there.") as server:
        await _events(server.url, way)
        await _events(server.url, way, warm)

    first, second = server.requests
    assert first.headers["anthropic-version"] > "2023-06-01"
    assert second.headers["anthropic-version"] == "2023-06-01"
    assert second.body["temperature"] == 0.0


async def test_long_answer_is_streamed_even_if_requested_whole(anyio_backend: str) -> None:
    prompt = Prompt(model="claude", entries=_ASKED.entries, max_tokens=64_000)
    with anthropic_server("Hello there.") as server:
        (said,) = await _events(server.url, "whole", prompt)

    assert isinstance(said, Answer)
    assert said.text == "Hello there."
    assert server.bodies[0]["stream"] is True


async def test_abandoned_stream_leaves_nothing_open(anyio_backend: str) -> None:
    with LoopbackServer(_reply("streamed")) as server:
        async with AnthropicProvider("claude", api_key="key", base_url=server.url).connect() as connection:
            stream = connection.stream(_ASKED)
            assert await anext(stream) == TextDelta("Hello")
            await stream.aclose()


# Keys and addresses ---------------------------------------------------------------------------------------------------


async def test_missing_key_error_names_the_variable(anyio_backend: str) -> None:
    with pytest.raises(AuthenticationError, match="needs a key: set ANTHROPIC_API_KEY"):
        async with AnthropicProvider("claude").connect():
            pass


async def test_key_and_address_come_from_environment(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with anthropic_server("One.", "Two.", "Three.") as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        for variable, value in (("ANTHROPIC_AUTH_TOKEN", "token"), ("ANTHROPIC_API_KEY", "secret")):
            monkeypatch.setenv(variable, value)
            async with AnthropicProvider("claude").connect() as connection:
                await connection.answer(_ASKED)
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN")
        # A server that is not Anthropic's may want no key.
        async with AnthropicProvider("claude").connect() as connection:
            await connection.answer(_ASKED)

    sent = [each.headers.get("x-api-key") or each.headers["authorization"] for each in server.requests]
    assert [each.removeprefix("Bearer ") for each in sent] == ["token", "secret", "none"]


def test_provider_is_found_by_name_and_connects_lazily() -> None:
    provider = choose("anthropic:claude-haiku-5-5", None)

    assert isinstance(provider, AnthropicProvider)
    assert (provider.name, provider.model) == ("anthropic", "claude-haiku-5-5")
    assert provider.supports_tools()


def test_the_sdk_is_imported_with_the_first_connection_only() -> None:
    program = "import sys, ez_ptc.providers.anthropic; sys.exit('anthropic' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


# Faults ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "kind"), [(401, "authentication_error"), (403, "permission_error")])
async def test_a_refused_key_is_an_error_of_authentication(
    anyio_backend: str, way: str, status: int, kind: str
) -> None:
    with (
        LoopbackServer(_refusal(status, kind)) as server,
        pytest.raises(AuthenticationError, match=rf"answered {status}: {kind}: That is {status}\.; is ANTHROPIC_API"),
    ):
        await _events(server.url, way)

    assert len(server.requests) == 1


async def test_rate_limit_is_retried_and_reports_the_wait(anyio_backend: str, way: str) -> None:
    with (
        LoopbackServer(*[_refusal(429, "rate_limit_error", **_SOON)] * 3) as server,
        pytest.raises(RateLimitError, match="answered 429: rate_limit_error: That is 429") as caught,
    ):
        await _events(server.url, way)

    assert caught.value.retry_after == 0.01
    assert len(server.requests) == 3


async def test_excessive_retry_after_is_not_waited_for(anyio_backend: str, way: str) -> None:
    with (
        LoopbackServer(_refusal(429, "rate_limit_error", retry_after="3600")) as server,
        pytest.raises(RateLimitError) as caught,
    ):
        await _events(server.url, way)

    assert caught.value.retry_after == 3600.0
    assert len(server.requests) == 1


@pytest.mark.parametrize(("status", "kind"), [(500, "api_error"), (503, "api_error"), (529, "overloaded_error")])
async def test_permanent_server_failure_is_error_with_its_message(
    anyio_backend: str, way: str, status: int, kind: str
) -> None:
    with (
        LoopbackServer(*[_refusal(status, kind, **_SOON)] * 3) as server,
        pytest.raises(ProviderError, match=f"answered {status}: {kind}: That is {status}"),
    ):
        await _events(server.url, way)

    assert len(server.requests) == 3


async def test_a_server_that_fails_once_is_asked_again(anyio_backend: str, way: str) -> None:
    with LoopbackServer(_refusal(529, "overloaded_error", **_SOON), _reply(way)) as server:
        *_, said = await _events(server.url, way)

    assert isinstance(said, Answer)
    assert said.text == "Hello there."
    assert server.bodies[0] == server.bodies[1]


async def test_bad_request_is_error_without_retry(anyio_backend: str, way: str) -> None:
    prompt = Prompt(model="claude", entries=_ASKED.entries, options={"top_cow": 1})
    with (
        anthropic_server("Never said.") as server,
        pytest.raises(ProviderError, match="answered 400: invalid_request_error: top_cow: Extra inputs"),
    ):
        await _events(server.url, way, prompt)

    assert len(server.requests) == 1


async def test_unreachable_server_is_connection_failure(anyio_backend: str) -> None:
    with pytest.raises(ConnectionFailedError, match="cannot be reached"):
        await _events(NOWHERE, "whole")


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CLOSE])
@pytest.mark.sampled(every=4)
async def test_broken_connection_is_connection_failure(anyio_backend: str, way: str, fault: Fault) -> None:
    with (
        LoopbackServer(*[_reply(way, fault=fault)] * 3) as server,
        pytest.raises(ConnectionFailedError, match=r"broke off|was lost before the answer was complete"),
    ):
        await _events(server.url, way)

    # What has begun to be told is not told again.
    assert len(server.requests) == (1 if way == "streamed" else 3)


@pytest.mark.parametrize("fault", [Fault.STALL, Fault.DRIP])
@pytest.mark.sampled(every=4)
async def test_a_server_that_dawdles_is_given_up(anyio_backend: str, way: str, fault: Fault) -> None:
    padded = {"type": "text", "text": "so " * 400}
    with (
        LoopbackServer(*[_reply(way, padded, fault=fault, sent=2)] * 3) as server,
        pytest.raises(ConnectionFailedError, match=r"took longer than 0\.4 s"),
    ):
        await _events(server.url, way, timeout=0.4)


async def test_server_sending_only_keepalives_is_given_up(anyio_backend: str) -> None:
    (start,) = sse(events_of(_HELLO)[0])
    pings = [b"event: ping\ndata: {}\n\n"] * 5  # about two a second
    with (
        LoopbackServer(Reply(body=(start, *pings), fault=Fault.DRIP, sent=1)) as server,
        pytest.raises(ConnectionFailedError, match="took longer than 1 s"),
    ):
        await _events(server.url, "streamed", timeout=1.0)


async def test_half_a_json_text_is_an_error(anyio_backend: str, way: str) -> None:
    half = b'event: content_block_delta\ndata: {"type": "content_bl\n\n'
    body: object = '{"id": "msg_1", "content": [{"type": "te'
    says = "the connection was lost before the answer was complete"
    if way == "streamed":
        body = (*sse(*events_of(_HELLO)[:4]), half)
        says = "gave no usable answer: Unterminated string"
    with LoopbackServer(Reply(body=body)) as server, pytest.raises(ProviderError, match=says):
        await _events(server.url, way)


@pytest.mark.parametrize("body", ["[" * 100_000, b"\xff\xfe", "", "3"])
async def test_non_object_response_is_an_error(anyio_backend: str, body: str | bytes) -> None:
    with (
        LoopbackServer(Reply(body=body)) as server,
        pytest.raises(ProviderError, match=r"no usable answer|expected an object"),
    ):
        await _events(server.url, "whole")


async def test_html_page_error_asks_for_the_address(anyio_backend: str, way: str) -> None:
    with (
        LoopbackServer(Reply(body="<html>Welcome</html>", headers={"Content-Type": "text/html"})) as server,
        pytest.raises(ProviderError, match=r"API's address|address of its API"),
    ):
        await _events(server.url, way)


async def test_error_page_is_error_with_its_text(anyio_backend: str, way: str) -> None:
    page = Reply(status=404, body="<html>Nothing here</html>", headers={"Content-Type": "text/html"})
    with (
        LoopbackServer(page) as server,
        pytest.raises(ProviderError, match="answered 404: '<html>Nothing here</html>'"),
    ):
        await _events(server.url, way)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", ProviderError),
        ("rate_limit_error", RateLimitError),
        ("authentication_error", AuthenticationError),
    ],
)
async def test_stream_error_has_its_type(anyio_backend: str, kind: str, expected: type[ProviderError]) -> None:
    error: _Json = {"type": "error", "error": {"type": kind, "message": "Not now"}}
    with (
        LoopbackServer(Reply(body=sse(*events_of(_HELLO)[:4], error))) as server,
        pytest.raises(ProviderError, match=f"broke off its answer: {kind}: Not now") as caught,
    ):
        await _events(server.url, "streamed")

    assert type(caught.value) is expected


@pytest.mark.parametrize("events", [0, 1, 5])
async def test_truncated_stream_is_no_answer(anyio_backend: str, events: int) -> None:
    with (
        LoopbackServer(Reply(body=sse(*events_of(_HELLO)[:events]))) as server,
        pytest.raises(ConnectionFailedError, match="ended before the answer was complete"),
    ):
        await _events(server.url, "streamed")


# Conversations --------------------------------------------------------------------------------------------------------

_BUY = {"type": "tool_use", "id": "toolu_1", "name": "buy", "input": {"what": "a cow"}}


async def test_provider_failure_repeats_no_effect(anyio_backend: str) -> None:
    bought: list[str] = []

    @ez_tool
    def buy(what: str) -> str:
        """Buy something."""
        bought.append(what)
        return "bought"

    overloaded = _refusal(529, "overloaded_error", **_SOON)
    with anthropic_server([_BUY], overloaded, Reply(body=_HELLO, fault=Fault.RESET), "It is yours.") as server:
        provider = AnthropicProvider("claude", api_key="key", base_url=server.url, timeout=20)
        messages, _ = await llm().tool(buy).provider(provider).prompt_conversation("Buy a cow.")

    assert bought == ["a cow"]
    assert [type(each) for each in messages] == [TextMessage, ToolCallMessage, ToolResultMessage, TextMessage]
    assert server.bodies[1] == server.bodies[2] == server.bodies[3]


async def test_a_stream_that_breaks_loses_no_turn(anyio_backend: str) -> None:
    bought: list[str] = []

    @ez_tool
    def buy(what: str) -> str:
        """Buy something."""
        bought.append(what)
        return "bought"

    with anthropic_server([_BUY], _reply("streamed", fault=Fault.RESET), "It is yours.") as server:
        provider = AnthropicProvider("claude", api_key="key", base_url=server.url, timeout=20)
        stream = llm().tool(buy).provider(provider).astream("Buy a cow.")
        with pytest.raises(ConnectionFailedError):
            async for _ in stream:
                pass
        messages, _ = await stream.continuation.prompt_conversation()

    assert bought == ["a cow"]
    assert str(messages[-1]) == "It is yours."
    assert server.bodies[2]["messages"] == server.bodies[1]["messages"]
