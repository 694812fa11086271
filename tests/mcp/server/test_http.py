"""Serving over HTTP, with real sockets: who is admitted, by address, Host, Origin and token."""

import socket
from collections.abc import Iterator
from itertools import product

import pytest

from ez_ptc import McpServerError, Toolkit, mcp_tools
from ez_ptc.mcp.server.http import HttpSettings
from tests.mcp.servers.over_http import ADMITTED, ALLOWED, BEARER, LOOPBACK, TOKEN, Served, served
from tests.mcp.servers.shop import toolkit


def hosts(server: Served) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield Host headers, and whether they are the server's own."""
    own, port = server.host, server.port
    loopback = server.address != "0.0.0.0"
    yield (f"Host: {own}",), True
    yield (f"host:{own}  ",), True
    yield (f"HOST: LocalHost:{port}",), loopback
    if server.address == "::1":
        yield (f"Host: [0:0:0:0:0:0:0:1]:{port}",), True
    for wrong in (
        "evil.example",
        f"evil.example:{port}",
        f"localhost.:{port}",
        f"localhost.evil.example:{port}",
        f"127.0.0.1.evil.example:{port}",
        f"evil.example#localhost:{port}",
        f"localhost:{port}@evil.example",
        f"user@{own}",
        f"user:password@{own}",
        f"{own}.",
        f"{own}0" if port < 6_553 else f"{own}x",
        f"{own}/",
        f"{own}, evil.example",
        f"{own} evil.example",
        own.rpartition(":")[0],
        f"localhost:{port + 1 if port < 65_535 else port - 1}",
        f"127.0.0.3:{port}",
        f"127.1:{port}",
        f"[::2]:{port}",
        f"[127.0.0.1]:{port}",
        f"0.0.0.0:{port}",
        "localhost",
        "*",
        "null",
        "",
        f":{port}",
        "xn--lcalhost-3xa:80",
        f"locälhost:{port}",
    ):
        yield (f"Host: {wrong}",), False
    yield (), False
    yield (f"Host: {own}", f"Host: {own}"), False
    yield (f"Host: {own}", "Host: evil.example"), False
    yield ("Host: evil.example", f"X-Forwarded-Host: {own}"), False
    yield ("Host: evil.example", f"Host : {own}"), False


def origins(server: Served) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield Origin headers, and whether they are of the server's own pages (with its own Host)."""
    own, port = server.host, server.port
    yield (), True
    yield ("Sec-Fetch-Site: same-origin",), True
    yield ("Sec-Fetch-Site: none",), True
    yield (f"Origin: http://{own}",), True
    yield (f"Origin: HTTP://{own}",), True
    for wrong in (
        "null",
        "",
        "*",
        "http://evil.example",
        f"http://evil.example:{port}",
        f"https://{own}",
        f"http://{own}.",
        f"http://{own}/",
        f"http://{own}@evil.example",
        f"http://{own}, http://evil.example",
        f"http://user@{own}",
        own,
        f"http://{own.rpartition(':')[0]}",
        f"http://{own.rpartition(':')[0]}:{port - 1}",
        "file://",
        "chrome-extension://abcdefgh",
    ):
        yield (f"Origin: {wrong}",), False
    yield (f"Origin: http://{own}", "Origin: http://evil.example"), False
    yield (f"Origin: http://{own}", f"Origin: http://{own}"), False
    yield ("Sec-Fetch-Site: cross-site",), False
    yield ("Sec-Fetch-Site: same-site",), False


def tokens() -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield Authorization headers, and whether they have the token."""
    yield (f"Authorization: {BEARER}",), True
    yield (f"authorization:   {BEARER} ",), True
    for wrong in (
        f"Bearer {TOKEN.upper()}",
        f"Basic {TOKEN}",
        f"Token {TOKEN}",
        TOKEN,
        f"Bearer{TOKEN}",
        f"Bearer  {TOKEN}",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN}, Bearer x",
        f"Bearer {TOKEN[:-1]}é",
        "Bearer",
        "Bearer None",
        "",
    ):
        yield (f"Authorization: {wrong}",), False
    yield (), False
    yield (f"Authorization: {BEARER}", f"Authorization: {BEARER}"), False
    yield ("Authorization: Bearer x", f"Authorization: {BEARER}"), False
    yield (f"X-Authorization: {BEARER}", f"Cookie: token={TOKEN}"), False


def wrong_admissions(server: Served, *, has_token: bool, is_whole: bool) -> list[str]:
    """Return the requests whose admission is wrong, of all combinations or of those with at most one deviation."""
    wrong: list[str] = []
    for host, origin, token in product(hosts(server), origins(server), tokens() if has_token else [((), True)]):
        expected = host[1] and origin[1] and token[1]
        if not is_whole and host[1] + origin[1] + token[1] < 2:
            continue
        # An origin is the server's own with its own Host only.
        if host[0] and "LocalHost" in host[0][0] and any("Origin" in line for line in origin[0]):
            expected = False
        headers = (*host[0], *origin[0], *token[0])
        status = server.status(*headers)
        if (status == ADMITTED) != expected:
            wrong.append(f"{status}: {headers}")
    return wrong


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("has_token", [True, False])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "::1"])
def test_no_request_is_wrongly_admitted(address: str, has_token: bool) -> None:
    settings = HttpSettings(address, token=TOKEN if has_token else None, no_token=not has_token)
    with served(settings) as server:
        assert wrong_admissions(server, has_token=has_token, is_whole=False) == []


@pytest.mark.security
@pytest.mark.parametrize("has_token", [True, False])
@pytest.mark.parametrize("address", [*LOOPBACK, "localhost", "0.0.0.0", "::"])
def test_no_request_of_whole_matrix_is_wrongly_admitted(address: str, has_token: bool) -> None:
    if not has_token and address in {"0.0.0.0", "::"}:
        with pytest.raises(ValueError, match="cannot serve without a token"):
            toolkit.as_mcp_server().run_http(host=address, port=0, no_token=True)
        return
    settings = HttpSettings(address, token=TOKEN if has_token else None, no_token=not has_token)
    with served(settings) as server:
        assert wrong_admissions(server, has_token=has_token, is_whole=True) == []


@pytest.mark.parametrize("address", [*LOOPBACK, "localhost", "LOCALHOST"])
def test_every_spelling_of_loopback_checks_host_and_origin(address: str) -> None:
    with served(HttpSettings(address, no_token=True)) as server:
        assert server.address == LOOPBACK.get(address, server.address) or server.address.startswith("::ffff:")
        assert server.status(f"Host: {server.host}") == ADMITTED
        assert server.status(f"Host: evil.example:{server.port}") == 421
        assert server.status(f"Host: {server.host}", "Origin: http://evil.example") == 403


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH", "TRACE", "CONNECT", "BREW"])
def test_methods_and_paths_are_checked_alike(method: str) -> None:
    with served(HttpSettings(token=TOKEN)) as server:
        own, bearer = f"Host: {server.host}", f"Authorization: {BEARER}"
        for target in ("/mcp", "/mcp/", "/", "/other", "/mcp?token=x", "//evil.example/mcp", "/%2e%2e/mcp"):
            assert server.status(own, method=method, target=target) == 401
            assert server.status("Host: evil.example", bearer, method=method, target=target) == 421
            assert server.status(own, "Origin: null", bearer, method=method, target=target) == 403


def test_absolute_targets_and_missing_hosts_are_refused() -> None:
    with served(HttpSettings(token=TOKEN)) as server:
        own, bearer = f"Host: {server.host}", f"Authorization: {BEARER}"
        for target in ("http://evil.example/mcp", f"http://{server.host}/mcp", "*", "evil.example:80", "mcp"):
            assert server.status(own, bearer, target=target) == 400
        assert server.status(bearer, version="1.0") == 400
        assert server.status(own, bearer, version="1.0") == ADMITTED


def test_preflight_needs_the_token_like_all_else() -> None:
    with served(HttpSettings(token=TOKEN, allowed=ALLOWED)) as server:
        own = f"Host: {server.host}"
        asked = "Access-Control-Request-Method: POST"
        assert server.status(own, "Origin: https://shop.example", asked, method="OPTIONS") == 401
        assert server.status(own, "Origin: https://evil.example", asked, method="OPTIONS") == 403


def test_websockets_are_not_accepted() -> None:
    with served(HttpSettings(no_token=True)) as server:
        upgrade = ("Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
        assert server.status("Host: evil.example", *upgrade, method="GET") == 421
        assert server.status(f"Host: {server.host}", *upgrade, method="GET") != 101


def test_forwarded_request_is_refused_without_token() -> None:
    names = ["X-Forwarded-For", "x_forwarded_for", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded"]
    names += ["X-Forwarded-Proto", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP", "X-Original-Host", "Client-IP"]
    names += ["X-Azure-ClientIP", "X-Azure-SocketIP", "X-AppEngine-User-IP", "CloudFront-Viewer-Address", "CDN-Loop"]
    names += ["Max-Forwards", "X-Original-Proto", "X-Original-Remote-Addr", "X-Scheme", "X-ARR-SSL", "X-Rewrite-URL"]
    names += ["Tailscale-User-Login", "Fly-Region", "CF-Ray", "X-Amzn-Trace-Id", "X-Envoy-Attempt-Count", "X-Real-Port"]
    names += ["X-Cloud-Trace-Context", "X-MS-Client-Principal-Name", "Front-End-Https", "X-Url-Scheme", "X-Vercel-Id"]
    with served(HttpSettings(no_token=True)) as server:
        for name in names:
            assert server.status(f"Host: {server.host}", f"{name}: 10.0.0.1") == 403, name
    with served(HttpSettings(token=TOKEN)) as server:
        for name in names:
            assert server.status(f"Host: {server.host}", f"{name}: 10.0.0.1") == 401
            assert server.status(f"Host: {server.host}", f"{name}: 10.0.0.1", f"Authorization: {BEARER}") == ADMITTED


def test_allowed_hosts_and_origins_are_exact() -> None:
    with served(HttpSettings(token=TOKEN, allowed=ALLOWED)) as server:
        bearer = f"Authorization: {BEARER}"
        for host in ("shop.example", "SHOP.example:443", "proxy.example:8443", server.host):
            assert server.status(f"Host: {host}", bearer) == ADMITTED
            assert server.status(f"Host: {host}") == 401
        for host in ("proxy.example", "proxy.example:443", "a.shop.example", "shop.example.evil.example"):
            assert server.status(f"Host: {host}", bearer) == 421
        own = f"Host: {server.host}"
        for origin in ("https://shop.example", "https://shop.example:443", "http://[2001:db8::1]:8080"):
            assert server.status(own, f"Origin: {origin}", bearer) == ADMITTED
        for origin in ("http://shop.example", "https://shop.example:8443", "https://a.shop.example", "null"):
            assert server.status(own, f"Origin: {origin}", bearer) == 403
        # A name that a proxy has is no origin that may call.
        assert server.status("Host: shop.example", "Origin: http://shop.example", bearer) == 403


def test_http_server_is_called_from_a_program() -> None:
    headers = {"Authorization": BEARER}
    with (
        served(HttpSettings(token=TOKEN)) as server,
        Toolkit.from_mcp(f"http://{server.host}/mcp", headers=headers) as tools,
    ):
        assert tools.execute("print(order(1)['total'], whoami())").output == "12.5 Ada\n"


def test_clients_without_the_token_are_refused() -> None:
    with served(HttpSettings(token=TOKEN)) as server:
        for headers in ({}, {"Authorization": "Bearer another-token-of-characters"}):
            with pytest.raises(McpServerError, match=r"cannot connect to the MCP server 127\.0\.0\.1"):
                mcp_tools(f"http://{server.host}/mcp", headers=headers)


def test_unreachable_url_is_a_clear_error() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        with pytest.raises(McpServerError, match=r"cannot connect to the MCP server 127\.0\.0\.1"):
            mcp_tools(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", connect_timeout=10)
