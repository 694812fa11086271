"""What goes wrong between us and a server of OpenAI's two APIs: the right error, in bounded time."""

import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from ez_ptc.errors import AuthenticationError, ConnectionFailedError, ProviderError, RateLimitError
from ez_ptc.formats.prompt import Prompt, TextDelta
from ez_ptc.messages import Answer, TextMessage
from ez_ptc.providers.provider import ProviderConnection
from tests.providers.loopback import NOWHERE, Fault, LoopbackServer, Reply, sse
from tests.providers.openai.replies import CHAT, RESPONSES, Api

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("api", [CHAT, RESPONSES], ids=str)]

BOUND = 60
PROMPT = Prompt(model="m", entries=(TextMessage("Hello"),))
SOON = {"retry-after": "0.01"}
TEXT = "one two three four five six seven eight"
streaming = pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])


def refusal(status: int, message: str, **headers: str) -> Reply:
    error = {"message": message, "type": "some_error", "code": None}
    return Reply(status=status, body={"error": error}, headers={**SOON, **headers})


async def ask(api: Api, url: str, *, is_streamed: bool, patience: float = BOUND) -> tuple[str, Answer]:
    """Return the text that came in pieces, and the answer."""
    async with api.provider("m", base_url=url, timeout=patience).connect() as connection:
        return await ask_again(connection, is_streamed=is_streamed)


async def ask_again(connection: ProviderConnection, *, is_streamed: bool) -> tuple[str, Answer]:
    """Do the same in a connection that is open."""
    said: list[str] = []
    with anyio.fail_after(BOUND):
        if not is_streamed:
            answer = await connection.answer(PROMPT)
            return answer.text, answer
        async with aclosing(connection.stream(PROMPT)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    return "".join(said), event
                said.append(event.text)
    pytest.fail("the stream ended without an answer, and without an error")


def reply(api: Api, *, is_streamed: bool, **fault: Any) -> Reply:
    return Reply(body=sse(*api.events(TEXT)) if is_streamed else api.whole(TEXT), **fault)


@pytest.mark.sampled(every=2)
@streaming
async def test_whole_answer_arrives(api: Api, is_streamed: bool, anyio_backend: str) -> None:
    with LoopbackServer(reply(api, is_streamed=is_streamed)) as server:
        said, answer = await ask(api, server.url, is_streamed=is_streamed)
    assert said == answer.text == TEXT
    assert server.requests[0].path == api.path
    assert server.bodies[0].get("stream", False) is is_streamed


@pytest.mark.sampled(every=2)
async def test_a_server_that_is_not_there_is_named(api: Api, anyio_backend: str) -> None:
    with pytest.raises(ConnectionFailedError, match=f"{NOWHERE} cannot be reached"):
        await ask(api, NOWHERE, is_streamed=True)


@streaming
async def test_a_refused_key_is_an_authentication_error(api: Api, is_streamed: bool, anyio_backend: str) -> None:
    with LoopbackServer(refusal(401, "bad key"), refusal(403, "bad key")) as server:
        async with api.provider("m", base_url=server.url).connect() as connection:
            for _ in range(2):
                with pytest.raises(AuthenticationError, match="bad key; is OPENAI_API_KEY right"):
                    await ask_again(connection, is_streamed=is_streamed)


@streaming
async def test_rate_limit_is_retried_then_reports_the_wait(api: Api, is_streamed: bool, anyio_backend: str) -> None:
    busy = refusal(429, "slow down")
    with LoopbackServer(busy, busy, busy) as server, pytest.raises(RateLimitError, match="slow down") as caught:
        await ask(api, server.url, is_streamed=is_streamed)
    assert caught.value.retry_after == 0.01
    assert len(server.requests) == 3


async def test_retry_date_is_not_read_as_seconds(api: Api, anyio_backend: str) -> None:
    busy = refusal(429, "slow down", **{"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT", "x-should-retry": "false"})
    with LoopbackServer(busy) as server, pytest.raises(RateLimitError) as caught:
        await ask(api, server.url, is_streamed=False)
    assert caught.value.retry_after is None


@streaming
@pytest.mark.parametrize("status", [500, 529])
async def test_failing_server_is_retried_then_quoted(
    api: Api, status: int, is_streamed: bool, anyio_backend: str
) -> None:
    broken = refusal(status, "out of order")
    with (
        LoopbackServer(broken, broken, broken) as server,
        pytest.raises(ProviderError, match=f"{server.url} answered {status}: out of order"),
    ):
        await ask(api, server.url, is_streamed=is_streamed)
    assert len(server.requests) == 3


@streaming
async def test_trouble_that_passes_is_not_seen(api: Api, is_streamed: bool, anyio_backend: str) -> None:
    with LoopbackServer(refusal(500, "oh"), reply(api, is_streamed=is_streamed)) as server:
        said, _ = await ask(api, server.url, is_streamed=is_streamed)
    assert said == TEXT
    assert server.bodies[0] == server.bodies[1]


async def test_refusal_quotes_the_server(api: Api, anyio_backend: str) -> None:
    refusals: list[tuple[object, str]] = [
        ({"error": {"message": "no such model", "code": "model_not_found"}}, "no such model"),
        ({"detail": "no such path"}, "no such path"),
        ({"error": "no such thing"}, "no such thing"),
        ("<html>Not here</html>", "Not here"),
        ({}, "{}"),
    ]
    with LoopbackServer(*(Reply(status=404, body=body) for body, _ in refusals)) as server:
        async with api.provider("m", base_url=server.url).connect() as connection:
            for _, words in refusals:
                with pytest.raises(ProviderError, match=f"404: .*{words}"):
                    await ask_again(connection, is_streamed=False)


@pytest.mark.parametrize(
    ("fault", "is_streamed"), [(Fault.RESET, False), (Fault.RESET, True), (Fault.CLOSE, True)], ids=str
)
@pytest.mark.sampled(every=4)
async def test_broken_connection_gives_no_partial_answer(
    api: Api, fault: Fault, is_streamed: bool, anyio_backend: str
) -> None:
    replies = [reply(api, is_streamed=is_streamed, fault=fault)] * 3
    with LoopbackServer(*replies) as server, pytest.raises(ConnectionFailedError, match=server.url):
        await ask(api, server.url, is_streamed=is_streamed)
    assert len(server.requests) == (1 if is_streamed else 3)


@streaming
@pytest.mark.parametrize("fault", [Fault.STALL, Fault.DRIP])
@pytest.mark.sampled(every=4)
async def test_a_server_that_keeps_us_waiting_is_given_up(
    api: Api, fault: Fault, is_streamed: bool, anyio_backend: str
) -> None:
    slow = reply(api, is_streamed=is_streamed, fault=fault, sent=1)
    with LoopbackServer(slow, slow, slow) as server, pytest.raises(ConnectionFailedError, match="took too long"):
        await ask(api, server.url, is_streamed=is_streamed, patience=0.3)


@streaming
async def test_invalid_response_is_a_provider_error(api: Api, is_streamed: bool, anyio_backend: str) -> None:
    wrong = {
        "a page": Reply(body="<html>It works!</html>", headers={"content-type": "text/html"}),
        "cut off": Reply(body='{"object": "chat.comp'),
        "a list": Reply(body="[]"),
        "nothing in it": Reply(body="{}"),
        "empty": Reply(body={"choices": [], "output": None}),
        "too deep": Reply(body="[" * 100_000),
        "no UTF-8": Reply(body=b"\xff\xfe{"),
        "no body": Reply(body=""),
    }
    with LoopbackServer(*wrong.values()) as server:
        async with api.provider("m", base_url=server.url).connect() as connection:
            for what in wrong:
                with pytest.raises(ProviderError, match="answer") as caught:
                    await ask_again(connection, is_streamed=is_streamed)
                assert isinstance(caught.value, ConnectionFailedError) is (what == "cut off"), what


async def test_answer_with_wrong_content_type_is_read(api: Api, anyio_backend: str) -> None:
    with LoopbackServer(Reply(body=api.whole(TEXT), headers={"content-type": "text/plain"})) as server:
        assert (await ask(api, server.url, is_streamed=False))[0] == TEXT


@streaming
async def test_stream_is_known_by_its_bytes(api: Api, is_streamed: bool, anyio_backend: str) -> None:
    body = b"".join(sse(*api.events(TEXT)))
    bodies = [body, b"\n: ping\n\n" + body, b"event: message\n" + body, body.replace(b"\n", b"\r\n")]
    types = ["text/plain", "application/json", "text/event-stream", ""]
    replies = [Reply(body=body, headers={"content-type": name}) for body in bodies for name in types]
    with LoopbackServer(*replies) as server:
        async with api.provider("m", base_url=server.url).connect() as connection:
            for _ in replies:
                assert (await ask_again(connection, is_streamed=is_streamed))[1].text == TEXT


async def test_stream_whose_type_is_hidden_may_be_cut_or_fail(api: Api, anyio_backend: str) -> None:
    failed = sse(*api.events(TEXT)[:3], {"error": {"message": "overloaded", "type": "server_error"}})
    replies = [Reply(body=b"".join(events), headers={"content-type": ""}) for events in (failed[:-1], failed)]
    with LoopbackServer(*replies) as server:
        async with api.provider("m", base_url=server.url).connect() as connection:
            for kind, words in (
                (ConnectionFailedError, "before the answer was complete"),
                (ProviderError, "overloaded"),
            ):
                with pytest.raises(kind, match=words):
                    await ask_again(connection, is_streamed=True)


async def test_events_without_blank_lines_are_read(api: Api, anyio_backend: str) -> None:
    pieces = tuple(piece.replace(b"\n\n", b"\n") for piece in sse(*api.events(TEXT)))
    with LoopbackServer(Reply(body=pieces)) as server:
        said, answer = await ask(api, server.url, is_streamed=True)
    assert said == answer.text == TEXT


async def test_byte_order_mark_is_no_part_of_an_answer(api: Api, anyio_backend: str) -> None:
    with LoopbackServer(Reply(body="\ufeff" + json.dumps(api.whole(TEXT)))) as server:
        assert (await ask(api, server.url, is_streamed=False))[0] == TEXT


async def test_a_server_that_does_not_stream_is_understood(api: Api, anyio_backend: str) -> None:
    with LoopbackServer(Reply(body=api.whole(TEXT))) as server:
        said, answer = await ask(api, server.url, is_streamed=True)
    assert said == answer.text == TEXT


async def test_an_error_in_a_stream_is_an_error(api: Api, anyio_backend: str) -> None:
    errors: list[tuple[dict[str, Any] | str, type[ProviderError], str]] = [
        ({"error": {"message": "overloaded", "type": "server_error"}}, ProviderError, "overloaded"),
        ({"error": {"message": "later", "code": "rate_limit_exceeded"}}, RateLimitError, "later"),
        ({"error": {"message": "later", "code": 429}}, RateLimitError, "later"),
        ({"error": {"message": "who", "code": "invalid_api_key"}}, AuthenticationError, "who"),
        ({"error": "gone"}, ProviderError, "gone"),
        ("no JSON", ProviderError, "no usable answer"),
        ("[1]", ProviderError, "expected an object"),
    ]
    with LoopbackServer(*(Reply(body=sse(*api.events(TEXT)[:3], event)) for event, _, _ in errors)) as server:
        async with api.provider("m", base_url=server.url).connect() as connection:
            for _, kind, words in errors:
                with pytest.raises(kind, match=words):
                    await ask_again(connection, is_streamed=True)


async def test_a_stream_without_its_end_is_an_error(api: Api, anyio_backend: str) -> None:
    all_events = api.events(TEXT)
    for events in (all_events[:3], ["[DONE]"], []):
        with (
            LoopbackServer(Reply(body=sse(*events))) as server,
            pytest.raises(ConnectionFailedError, match="ended before the answer was complete"),
        ):
            await ask(api, server.url, is_streamed=True)


@pytest.mark.sampled(every=2)
async def test_a_stream_may_be_cut_into_any_pieces(api: Api, anyio_backend: str) -> None:
    text = f"{TEXT}\u2028\u00e9\U0001f600"
    raw = b": a comment\r\n\r\n" + b"".join(sse(*api.events(text))).replace(b"\n", b"\r\n").rstrip()
    for size in (1, 7, 1000):
        pieces = tuple(raw[at : at + size] for at in range(0, len(raw), size))
        with LoopbackServer(Reply(body=pieces)) as server:
            said, answer = await ask(api, server.url, is_streamed=True)
        assert said == answer.text == text


async def test_an_event_may_have_several_lines(api: Api, anyio_backend: str) -> None:
    lines = [
        json.dumps(event, indent=1).replace("\n", "\ndata: ") if isinstance(event, dict) else str(event)
        for event in api.events(TEXT)
    ]
    with LoopbackServer(Reply(body=sse(*lines))) as server:
        said, _ = await ask(api, server.url, is_streamed=True)
    assert said == TEXT


@pytest.mark.sampled(every=2)
async def test_done_stream_that_stays_open_ends(api: Api, anyio_backend: str) -> None:
    pieces = sse(*api.events(TEXT), "[DONE]", "[DONE]")
    lasting = Reply(body=pieces, fault=Fault.STALL, sent=len(pieces) - 1)
    with LoopbackServer(lasting) as server:
        said, _ = await ask(api, server.url, is_streamed=True)
    assert said == TEXT


async def test_abandoned_stream_delivers_no_more(api: Api, anyio_backend: str) -> None:
    pieces: Sequence[bytes] = sse(*api.events(TEXT))
    with LoopbackServer(Reply(body=pieces, fault=Fault.STALL, sent=4)) as server, anyio.fail_after(BOUND):
        async with api.provider("m", base_url=server.url).connect() as connection:
            async with aclosing(connection.stream(PROMPT)) as events:
                assert isinstance(await anext(events), TextDelta)
            assert [event async for event in events] == []


async def test_cancelling_ends_the_wait(api: Api, anyio_backend: str) -> None:
    stalled = reply(api, is_streamed=True, fault=Fault.STALL, sent=1)
    with LoopbackServer(stalled) as server, anyio.move_on_after(0.1) as scope:
        await ask(api, server.url, is_streamed=True)
    assert scope.cancelled_caught


async def test_done_completes_a_chat_stream_and_no_other(api: Api, anyio_backend: str) -> None:
    with LoopbackServer(Reply(body=sse(*api.events(TEXT)[:3], "[DONE]"))) as server:
        if api is RESPONSES:
            with pytest.raises(ConnectionFailedError, match="ended before the answer was complete"):
                await ask(api, server.url, is_streamed=True)
            return
        said, answer = await ask(api, server.url, is_streamed=True)
    assert said == answer.text != ""
    assert answer.stop_reason == "end"
