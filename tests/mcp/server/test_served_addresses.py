"""Binding the addresses that a host stands for, and what is known of a request's origin."""

import errno
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from ez_ptc.mcp.server.http import HttpSettings, admission_of, app_server, base_url, http_app, open_listeners
from tests.mcp.servers.over_http import TOKEN, served
from tests.mcp.servers.shop import toolkit

UNAVAILABLE = "192.0.2.1"  # of the documentation: no machine has it
Resolve = Callable[..., None]


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """Return a function that makes the name `shop` stand for some addresses."""

    def stand_for(*addresses: str) -> None:
        def getaddrinfo(host: str, port: int, **options: Any) -> list[Any]:
            del host, options
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    return stand_for


def bound(stack: ExitStack, port: int = 0) -> list[tuple[str, int]]:
    listeners = open_listeners(HttpSettings("shop", port=port))
    return [stack.enter_context(listener).getsockname() for listener in listeners]


def test_addresses_of_a_name_are_bound_once_at_one_port(resolve: Resolve) -> None:
    resolve("127.0.0.1", "127.0.0.2", "127.0.0.1")
    with ExitStack() as stack:
        first, second = bound(stack)
    assert (first[0], second[0]) == ("127.0.0.1", "127.0.0.2")
    assert first[1] == second[1] > 0


def test_address_that_the_machine_has_not_is_left_out(resolve: Resolve) -> None:
    resolve(UNAVAILABLE, "127.0.0.1")
    with ExitStack() as stack:
        assert [address for address, _ in bound(stack)] == ["127.0.0.1"]
    resolve(UNAVAILABLE)
    with pytest.raises(OSError, match=r"cannot serve on 'shop': .*Cannot assign requested address"):
        open_listeners(HttpSettings("shop", port=0))


def test_failed_binding_leaves_no_socket_open(resolve: Resolve) -> None:
    resolve("127.0.0.1", "127.0.0.2")
    with socket.create_server(("127.0.0.2", 0)) as other:
        before = sorted(Path("/proc/self/fd").iterdir())
        with pytest.raises(OSError, match="Address already in use") as failed:
            open_listeners(HttpSettings("shop", port=other.getsockname()[1]))
        assert failed.value.errno == errno.EADDRINUSE
        assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_port_can_be_served_again_at_once() -> None:
    """The connection that the server has closed first keeps its address for a minute."""
    (listener,) = open_listeners(HttpSettings(port=0))
    address = listener.getsockname()
    with listener, socket.create_connection(address) as client:
        connection, _ = listener.accept()
        connection.close()
        assert client.recv(1) == b""
    (again,) = open_listeners(HttpSettings(port=address[1]))
    with again:
        assert again.getsockname() == address


def test_no_header_says_where_a_request_came_from() -> None:
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - of ASGI
        if scope["type"] == "http":
            seen.append((scope["client"][0], scope["scheme"]))
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

    listeners = open_listeners(HttpSettings(port=0))
    server = app_server(app)
    thread = threading.Thread(target=server.run, args=(listeners,))
    thread.start()
    try:
        headers = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https", "Forwarded": "for=192.0.2.7"}
        assert httpx2.get(base_url(listeners), headers=headers, timeout=30).status_code == 204
    finally:
        server.should_exit = True
        thread.join(30)
        for listener in listeners:
            listener.close()
    assert seen == [("127.0.0.1", "http")]


def test_token_has_at_least_sixteen_characters() -> None:
    assert admission_of(HttpSettings(token="x" * 16), []).token == "x" * 16
    with pytest.raises(ValueError, match="expected a token of at least 16 characters, got 15"):
        admission_of(HttpSettings(token="x" * 15), [])


def test_url_and_name_are_as_clients_write_them() -> None:
    with ExitStack() as stack:
        listeners = [stack.enter_context(item) for item in open_listeners(HttpSettings("::1", port=0))]
        assert base_url(listeners) == f"http://[::1]:{listeners[0].getsockname()[1]}"
    assert admission_of(HttpSettings(" Shop.Example ", token="x" * 16), []).bound_name == "shop.example"


@pytest.mark.parametrize("scope_type", ["websocket", "webtransport"])
def test_no_other_protocol_reaches_the_tools(scope_type: str) -> None:
    sent: list[object] = []

    async def send(message: object) -> None:
        sent.append(message)

    async def receive() -> Any:  # noqa: ANN401 - of ASGI
        raise AssertionError

    app = http_app(toolkit.as_mcp_server().server, HttpSettings(token=TOKEN), [])
    scope: dict[str, Any] = {"type": scope_type, "path": "/mcp", "headers": []}
    anyio.run(app, scope, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_refusal_names_the_scheme_of_the_token() -> None:
    with served(HttpSettings(token=TOKEN)) as server:
        refused = httpx2.post(f"http://{server.host}/mcp", timeout=30)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        other = httpx2.post(f"http://{server.host}/mcp", headers={"Host": "evil.example"}, timeout=30)
        assert (other.status_code, "www-authenticate" in other.headers) == (421, False)
