"""The rules of admission at their edges: requests and addresses that no test has a real socket for."""

import socket
from contextlib import ExitStack
from typing import Any

import pytest

from ez_ptc.mcp.server.admission import Admission
from ez_ptc.mcp.server.http import HttpSettings, admission_of, open_listeners
from tests.mcp.servers.over_http import TOKEN

ANYONE = Admission(None)


def status(host: str, server: tuple[str, int | None] | None, admission: Admission = ANYONE) -> int | None:
    """Return the status of the refusal of a request with this Host at this address, or None."""
    scope: dict[str, Any] = {"path": "/mcp", "headers": [(b"host", host.encode())], "server": server}
    refusal = admission.refuse(scope)
    return None if refusal is None else refusal.status


def test_localhost_is_a_name_of_loopback_addresses_only() -> None:
    assert status("localhost:8000", ("127.0.0.1", 8000)) is None
    assert status("localhost:8000", ("192.0.2.1", 8000)) == 421
    assert status("localhost:8000", ("fe80::1", 8000)) == 421


def test_zone_of_an_address_is_no_part_of_its_name() -> None:
    assert status("[fe80::1]:8000", ("fe80::1%eth0", 8000)) is None
    assert status("[fe80::2]:8000", ("fe80::1%eth0", 8000)) == 421


@pytest.mark.parametrize("server", [None, ("server.sock", None)])
@pytest.mark.parametrize("host", ["localhost", "server.sock", "127.0.0.1:80", "localhost:0"])
def test_request_of_an_unknown_address_is_refused(host: str, server: tuple[str, int | None] | None) -> None:
    assert status(host, server) in {400, 421}


def listen(stack: ExitStack, *addresses: str) -> list[socket.socket]:
    return [stack.enter_context(socket.create_server((address, 0))) for address in addresses]


@pytest.mark.parametrize("addresses", [("127.0.0.1", "0.0.0.0"), ("0.0.0.0", "127.0.0.1")])
def test_one_address_beyond_loopback_needs_a_token(addresses: tuple[str, str]) -> None:
    with ExitStack() as stack:
        listeners = listen(stack, *addresses)
        with pytest.raises(ValueError, match="others could reach the tools on 'localhost'"):
            admission_of(HttpSettings("localhost", no_token=True), listeners)
        assert admission_of(HttpSettings("localhost", token=TOKEN), listeners).token == TOKEN


@pytest.mark.parametrize("name", ["shop.example", "localhost.example", "LOCALHOST."])
def test_name_that_may_be_anyones_needs_a_token(name: str) -> None:
    with ExitStack() as stack, pytest.raises(ValueError, match="expected a loopback address, got the name"):
        admission_of(HttpSettings(name, no_token=True), listen(stack, "127.0.0.1"))


def test_sockets_of_one_name_share_a_port_and_keep_their_family() -> None:
    for host, is_for_both in (("localhost", False), ("::", False), ("::ffff:127.0.0.1", True)):
        with ExitStack() as stack:
            listeners = [stack.enter_context(listener) for listener in open_listeners(HttpSettings(host, port=0))]
            assert len({listener.getsockname()[1] for listener in listeners}) == 1
            for listener in listeners:
                if listener.family == socket.AF_INET6:
                    assert bool(listener.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)) is not is_for_both
