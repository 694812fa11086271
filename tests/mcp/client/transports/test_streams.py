"""The messages of a server's process, as they arrive: how many wait, and how much of one is kept."""

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp_types import JSONRPCResponse

from ez_ptc import Toolkit
from ez_ptc.mcp.client.dropped_tools import DroppedTools
from ez_ptc.mcp.client.transports import pipes
from ez_ptc.mcp.client.transports.pipes import _Messages as Messages  # pyright: ignore[reportPrivateUsage] - asyncio's
from ez_ptc.mcp.client.transports.watch import ConnectionWatch
from ez_ptc.redaction.redactor import Redactor

LINE = b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n'


@pytest.fixture
def anyio_backend() -> str:
    """Return the library of all connections."""
    return "asyncio"


class Transport:
    """Notes whether a pipe is read."""

    is_reading = True

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True


@pytest.fixture
def transport() -> Any:  # noqa: ANN401 - as much of asyncio's as is used
    return Transport()


@pytest.fixture
def messages(transport: Any) -> Messages:  # noqa: ANN401 - as much of asyncio's as is used
    messages = Messages(ConnectionWatch(DroppedTools("shop"), Redactor()))
    messages.connection_made(transport)
    return messages


async def test_server_waits_while_many_messages_do(
    anyio_backend: str, messages: Messages, transport: Transport
) -> None:
    messages.data_received(LINE * 64)
    assert transport.is_reading
    messages.data_received(LINE * 2)
    assert not transport.is_reading
    for _ in range(2):
        await messages.receive()
    assert transport.is_reading
    for _ in range(64):
        await messages.receive()
    with anyio.move_on_after(0.01) as scope:
        await messages.receive()
    assert scope.cancelled_caught


async def test_closed_connection_drops_what_still_arrives(
    anyio_backend: str, messages: Messages, transport: Transport
) -> None:
    """A server that is blocked in writing could not exit."""
    messages.data_received(LINE * 70)
    await messages.aclose()
    assert transport.is_reading
    messages.data_received(LINE * 70)
    received = [message async for message in messages]
    assert len(received) == 70


@pytest.mark.parametrize("size", [1, 7, 1_000])
async def test_message_in_pieces_is_one_message(anyio_backend: str, messages: Messages, size: int) -> None:
    text = "".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "result": {"text": "ä" * 50}}) + "\n" for number in range(3)
    )
    data = text.encode()
    for start in range(0, len(data), size):
        messages.data_received(data[start : start + size])
    messages.connection_lost(None)
    received: list[Any] = [message async for message in messages]
    assert [item.message.id for item in received] == [0, 1, 2]


async def test_each_message_has_the_whole_bound(
    anyio_backend: str, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "MAX_MESSAGE_BYTES", 2 * len(LINE))
    for _ in range(5):
        messages.data_received(LINE + LINE[:20])
        messages.data_received(LINE[20:])
    messages.data_received(LINE + LINE[:20])
    messages.data_received(b" " * (2 * len(LINE) - 19))
    received = [message async for message in messages]
    assert len(received) == 11


def test_many_messages_of_moderate_size_end_no_server(
    raw_server: Callable[[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "MAX_MESSAGE_BYTES", 2**16)
    with Toolkit.from_mcp(raw_server("plain")) as toolkit:
        result = toolkit.execute("print({len(echo('x' * 50_000)) for _ in range(4)})")
    assert result.output == "{50000}\n"


@pytest.mark.parametrize("field", ["content", "structuredContent"])
def test_deeply_nested_result_harms_no_connection(field: str) -> None:
    """To write it again would need more levels than the interpreter has."""
    nested: list[object] = []
    for _ in range(990):
        nested = [nested]
    result: dict[str, Any] = {"content": [{"type": "unknown", "data": nested}]}
    if field == "structuredContent":
        result = {"content": [], "structuredContent": nested}
    message = JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    ConnectionWatch(DroppedTools("shop"), Redactor()).check_listing(message)
    assert message.result[field]
