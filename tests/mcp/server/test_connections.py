"""Clients that open many connections, send no request or read no answer, with real sockets."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from ez_ptc.mcp.server.admission import Refusal
from ez_ptc.mcp.server.connections import MAX_WAITING, HttpConnection
from ez_ptc.mcp.server.http import HttpSettings, app_server, open_listeners, send_refusal
from tests.cli.viewing.serving import serving
from tests.mcp.servers.over_http import ADMITTED, BEARER, TOKEN, Served, served

WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Part: "
ADDITIONAL = 40
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


@contextlib.contextmanager
def connections(port: int, count: int) -> Generator[list[socket.socket]]:
    """Open connections, and send a part of a request on every other one."""
    with contextlib.ExitStack() as stack:
        opened: list[socket.socket] = []
        for number in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))
            with contextlib.suppress(ConnectionError):  # it is one of those closed already
                connection.sendall(HEAD * (number % 2))
            opened.append(connection)
        yield opened


def wait_for_end(connection: socket.socket) -> bytes:
    """Return what comes until the server closes a connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            received += part
    return received


def request_status(server: Served) -> int:
    return server.status(f"Host: {server.host}", f"Authorization: {BEARER}")


def test_flood_of_idle_connections_keeps_no_client_out() -> None:
    with served(HttpSettings(token=TOKEN)) as server, connections(server.port, MAX_WAITING + ADDITIONAL) as opened:
        assert request_status(server) == ADMITTED
        ended = 0
        for connection in opened:
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                assert wait_for_end(connection) == b""
                ended += 1
        assert ended >= ADDITIONAL


@pytest.mark.parametrize("sent", [b"", b"P", HEAD, WHOLE + HEAD])
def test_connection_without_a_whole_request_is_closed(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(HttpConnection, "seconds_for_a_head", 0.1)
    with served(HttpSettings(token=TOKEN)) as server:
        with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
            connection.sendall(sent)
            assert wait_for_end(connection).count(b"HTTP/1.1 ") == sent.count(b"\r\n\r\n")
        assert request_status(server) == ADMITTED


def test_connection_with_a_request_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpConnection, "seconds_for_a_head", 0.1)
    with serving(tmp_path) as viewer, viewer.events() as stream, connections(viewer.port, MAX_WAITING) as opened:
        for connection in opened:
            assert wait_for_end(connection) == b""
        stream.setblocking(False)
        with pytest.raises(BlockingIOError):
            wait_for_end(stream)


@pytest.mark.parametrize("first", [0, MAX_WAITING])
def test_no_client_that_sends_a_request_is_cut(first: int) -> None:
    answers = asyncio.run(asyncio.wait_for(answers_of([first, MAX_WAITING + ADDITIONAL - first]), 30))

    assert answers == [b"HTTP/1.1 403 Forbidden\r\n"] * (MAX_WAITING + ADDITIONAL)


async def answers_of(groups: list[int]) -> list[bytes]:
    """Return the answers to clients coming in groups, whose requests are answered when all have come."""
    started = 0
    come = asyncio.Condition()

    async def answer(scope: Message, _: Callable[[], Awaitable[Message]], send: Send) -> None:
        nonlocal started
        assert scope["type"] == "http"
        async with come:
            started += 1
            come.notify_all()
            await come.wait_for(lambda: started == sum(groups))
        await send_refusal(send, Refusal(403, "not here"))

    async def ask(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(WHOLE)
        line = await reader.readline()
        writer.close()
        return line

    listeners = open_listeners(HttpSettings(port=0))
    server = app_server(answer)
    serving = asyncio.create_task(server.serve(sockets=listeners))
    clients: list[asyncio.Task[bytes]] = []

    def have_come() -> bool:
        return started == len(clients)

    for count in groups:
        clients += [asyncio.create_task(ask(listeners[0].getsockname()[1])) for _ in range(count)]
        async with come:
            await come.wait_for(have_come)
    answers = await asyncio.gather(*clients)
    server.should_exit = True
    await serving
    return answers


def test_connection_whose_answers_are_not_read_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpConnection, "seconds_for_a_head", 0.1)
    with (
        served(HttpSettings(token=TOKEN)) as server,
        socket.create_connection(("127.0.0.1", server.port), 30) as connection,
        pytest.raises(ConnectionError),
    ):
        connection.sendall(WHOLE * 1_000_000)
