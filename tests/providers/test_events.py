"""Server-sent events by the cases of the WHATWG's standard, cut at every byte, and as the providers read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ez_ptc.errors import ConnectionFailedError, ProviderError
from ez_ptc.formats.prompt import Prompt
from ez_ptc.messages import Answer, TextMessage
from ez_ptc.providers._events import EventDecoder, ServerSentEvent, server_sent_events
from ez_ptc.providers.anthropic import AnthropicProvider
from ez_ptc.providers.gemini import GeminiProvider
from ez_ptc.providers.openai_chat import OpenAIChatProvider
from ez_ptc.providers.openai_responses import OpenAIProvider
from tests.formats.all_formats.provider_bodies import FORMATS
from tests.providers.loopback import Fault, LoopbackServer, Reply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from ez_ptc.formats.prompt import Event

BOM = "\ufeff"
# (stream, data and names of its events): those of the standard's section "Interpreting an event stream" come first.
CASES: list[tuple[str, list[tuple[str, str]]]] = [
    ("data: YHOO\ndata: +2\ndata: 10\n\n", [("YHOO\n+2\n10", "message")]),
    (": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event", [
        ("first event", "message"), ("second event", "message"),
    ]),
    ("data\n\ndata\ndata\n\ndata:", [("", "message"), ("\n", "message")]),
    ("data:test\n\ndata: test\n\n", [("test", "message"), ("test", "message")]),
    ("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", [("73857293", "add"), ("2153", "remove")]),
    (f"{BOM}data: a\n\n", [("a", "message")]),
    (f"{BOM}{BOM}data: a\n\ndata: b\n\n", [("b", "message")]),
    (f"data: {BOM}a\n\n{BOM}data: b\n\n", [(f"{BOM}a", "message")]),
    ("data: a\r\rdata: b\r\n\r\ndata: c\n\r\ndata: d\r\n\rdata: e\n\n", [(text, "message") for text in "abcde"]),
    ("data: a\rdata: b\r\ndata: c\ndata: d\r\n\r\n", [("a\nb\nc\nd", "message")]),
    (":\n: comment\n:data: no\ndata: a\n: and\ndata: b\n\n", [("a\nb", "message")]),
    ("event: x\n\ndata: a\n\n", [("a", "message")]),
    ("event: x\nevent: y\ndata: a\n\n", [("a", "y")]),
    ("event: x\nevent\ndata: a\n\n", [("a", "message")]),
    ("retry: 5\nid: 7\nid: a\x00b\ndata: a\nunknown: b\nretry: soon\n\n", [("a", "message")]),
    (" data: a\nDATA: b\ndata : c\ndata: d\n\n", [("d", "message")]),
    ("data:\ta\n\ndata:  b \n\n", [("\ta", "message"), (" b ", "message")]),
    ('data: {"a":"\u2028\u2029\x85\x0b\x0c"}\n\n', [('{"a":"\u2028\u2029\x85\x0b\x0c"}', "message")]),
    ("data: ä€😀\n\n", [("ä€😀", "message")]),
    ("data: a:b\n\n\n\n\ndata: c\n\n", [("a:b", "message"), ("c", "message")]),
    ('data: {"a": 1}\ndata: {"b": 2}\ndata:[done]\n\n', [
        ('{"a": 1}', "message"), ('{"b": 2}', "message"), ("[DONE]", "message"),
    ]),
    ('data: {"a":\ndata: 1}\n\ndata: {"a": 1}\ndata: 2\n\n', [
        ('{"a":\n1}', "message"), ('{"a": 1}\n2', "message"),
    ]),
    ("", []),
    ("\n\n\r\r", []),
    ("data: a\n", []),
]  # fmt: skip


def decode(*chunks: bytes) -> list[ServerSentEvent]:
    decoder = EventDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@pytest.mark.parametrize(("stream", "events"), CASES)
def test_stream_is_decoded_by_the_standard_wherever_it_is_cut(stream: str, events: list[tuple[str, str]]) -> None:
    data = stream.encode()
    expected = [ServerSentEvent(*event) for event in events]

    assert decode(data) == expected
    assert decode(*(data[index : index + 1] for index in range(len(data)))) == expected
    for cut in range(len(data)):
        assert decode(data[:cut], b"", data[cut:]) == expected


@given(
    st.lists(st.sampled_from(["\r", "\n", "\r\n", "data: a", "data", ": c", "event: x", BOM]), max_size=12), st.data()
)
def test_cuts_and_line_ends_change_nothing(parts: list[str], cuts: st.DataObject) -> None:
    stream = "".join(parts).encode()
    places = sorted(cuts.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    chunks = [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]

    assert decode(*chunks) == decode(stream)
    assert decode(stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n")) == decode(stream)


def test_event_is_complete_with_its_last_carriage_return() -> None:
    assert decode(b"data: a\r\r") == [ServerSentEvent("a")]


def test_invalid_utf8_becomes_replacement_characters() -> None:
    assert decode(b"data: a\xffb\xc3\n\n") == [ServerSentEvent("a\ufffdb\ufffd")]


@pytest.mark.parametrize(
    ("ending", "is_event"),
    [('data: {"a": 1}', True), ('data: {"a":\ndata: 1}\r', True), ("data: [DONE]", True), ("data: [DO", False)]
    + [(f"data: {text}", False) for text in ('{"a": 1', "12", "", '"a"', "[1]")],
)  # fmt: skip
async def test_last_event_without_blank_line_counts_if_it_is_whole(
    ending: str, anyio_backend: str, *, is_event: bool
) -> None:
    async def chunks() -> AsyncGenerator[bytes]:
        yield b"data: {}\n\ndata:\n\ndata: \n\n"
        yield ending.encode()

    assert len([event async for event in server_sent_events(chunks(), "the server")]) == 1 + is_event


# Providers ------------------------------------------------------------------------------------------------------------

PROVIDERS: dict[str, Callable[[str], Any]] = {
    "anthropic": lambda url: AnthropicProvider(base_url=url, api_key="k"),
    "gemini": lambda url: GeminiProvider(base_url=url, api_key="k"),
    "openai-chat": lambda url: OpenAIChatProvider("m", base_url=f"{url}/v1"),
    "openai-responses": lambda url: OpenAIProvider("m", base_url=f"{url}/v1", api_key="k"),
}
every_provider = pytest.mark.parametrize("name", PROVIDERS)
HEADERS = {"Content-Type": "text/event-stream; charset=latin-1"}


def stream_of(name: str, *, ends: str = "\n", is_named: bool = False) -> str:
    """Return a provider's events as a stream; if `is_named`, their types are their names only."""
    lines: list[str] = []
    for event in FORMATS[name].events:
        fields = {key: value for key, value in event.items() if not (is_named and key == "type")}
        lines += [f"event: {event['type']}"] if is_named and "type" in event else []
        lines += [f"data: {json.dumps(fields)}", ""]
    if name == "openai-chat":
        lines += ["data: [DONE]", ""]
    return "".join(f"{line}{ends}" for line in lines)


async def ask(name: str, *pieces: bytes, fault: Fault | None = None) -> Answer:
    events: list[Event] = []
    reply = Reply(body=pieces, headers=HEADERS, fault=fault, sent=len(pieces))
    prompt = Prompt(model="m", entries=(TextMessage("Go."),))
    with anyio.fail_after(60), LoopbackServer(reply) as server:
        async with PROVIDERS[name](server.url).connect() as connection:
            events = [event async for event in connection.stream(prompt)]
    assert isinstance(events[-1], Answer)
    return events[-1]


@every_provider
@pytest.mark.parametrize(
    ("before", "ends"),
    [(BOM, "\n"), ("", "\r"), (BOM, "\r\n"), (": hello\r\rretry: 10\n\ndata:\n\ndata\r\n\r\n", "\r\n")],
)
async def test_every_provider_reads_streams_of_the_standard(
    name: str, before: str, ends: str, anyio_backend: str
) -> None:
    answer = await ask(name, (before + stream_of(name, ends=ends)).encode())
    assert answer.text == "I pay."
    assert [call.name for call in answer.calls] == ["send_money"]


@pytest.mark.parametrize("name", ["anthropic", "openai-responses"])
async def test_event_may_have_its_type_as_its_name_only(name: str, anyio_backend: str) -> None:
    assert len((await ask(name, stream_of(name, is_named=True).encode())).calls) == 1


async def test_end_mark_of_other_servers_is_no_event(anyio_backend: str) -> None:
    for mark in ("[DONE]", "[done]", " [DONE] "):
        for name in ("anthropic", "openai-chat"):
            stream = stream_of(name).replace("data: [DONE]\n\n", "") + f"data: {mark}\n\n"
            assert (await ask(name, stream.encode())).text == "I pay."


async def test_event_named_error_is_the_servers_error(anyio_backend: str) -> None:
    with pytest.raises(ProviderError, match="returned an error: overloaded"):
        await ask("openai-chat", b'event: error\ndata: {"message": "overloaded"}\n\n')


@every_provider
@pytest.mark.parametrize("fault", [None, Fault.CLOSE, Fault.RESET])
async def test_stream_that_is_cut_is_a_lost_connection(name: str, fault: Fault | None, anyio_backend: str) -> None:
    stream = stream_of(name).encode()
    for end in (stream.index(b"I "), stream.index(b"send_money")):
        with pytest.raises(ConnectionFailedError, match="before the answer was complete"):
            await ask(name, stream[:end], fault=fault)


@every_provider
def test_stream_cut_at_any_byte_is_complete_or_lost(name: str) -> None:
    stream = stream_of(name).encode()

    async def read(end: int) -> Answer:
        async def chunks() -> AsyncGenerator[bytes]:
            yield stream[:end]

        pieces: Any = FORMATS[name].stream(Prompt(model="m", entries=()))
        async for event in server_sent_events(chunks(), "the server"):
            if event.data == "[DONE]":
                pieces.end()
            else:
                pieces.feed(event.read())
        return pieces.answer()

    async def check() -> None:
        for end in range(0, len(stream), 3):
            try:
                answer = await read(end)
            except ConnectionFailedError as error:
                assert "before the answer was complete" in str(error)  # noqa: PT017 - either outcome is right
            else:
                assert [call.name for call in answer.calls] == ["send_money"]

    anyio.run(check)
