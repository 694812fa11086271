"""Clients that open connections and send no request, with real sockets."""

import contextlib
import socket
from collections.abc import Generator
from pathlib import Path

import pytest

from ez_ptc.mcp.server.connections import MAX_WAITING, HttpConnection
from ez_ptc.mcp.server.http import HttpSettings
from tests.cli.viewing.serving import serving
from tests.mcp.servers.over_http import ADMITTED, BEARER, TOKEN, Served, served

HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Part: "
ADDITIONAL = 40


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


@pytest.mark.parametrize("sent", [b"", b"P", HEAD, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + HEAD])
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
