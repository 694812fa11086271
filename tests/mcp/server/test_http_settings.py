"""Settings of serving over HTTP that are refused, and the command's."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp.servers.over_http import ADMITTED, MAX_SECONDS, TOKEN, Served
from tests.mcp.servers.shop import toolkit


@pytest.mark.parametrize(
    "entry", ["", "*", "*.example", "http://shop.example", "shop.example/", "a b", "u@shop.example", "a:0"]
)
def test_host_that_no_request_has_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="expected a host to allow as name or name:port, got "):
        toolkit.as_mcp_server(allow_host=[entry])


@pytest.mark.parametrize(
    "entry", ["", "*", "null", "shop.example", "https://shop.example/", "https://u@shop.example", "https://*"]
)
def test_origin_that_no_page_has_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="expected an origin to allow as scheme://host, got "):
        toolkit.as_mcp_server(allow_origin=entry)


def test_serving_without_token_is_for_loopback_only() -> None:
    server = toolkit.as_mcp_server()
    for host in ("0.0.0.0", "::", "0"):
        with pytest.raises(ValueError, match="cannot serve without a token: others could reach the tools on"):
            server.run_http(host=host, port=0, no_token=True)
    with pytest.raises(ValueError, match="cannot serve without a token: one was passed, too"):
        server.run_http(port=0, token=TOKEN, no_token=True)
    for behind in (
        toolkit.as_mcp_server(allow_host="a.example"),
        toolkit.as_mcp_server(allow_origin="https://a.example"),
    ):
        with pytest.raises(ValueError, match="others than this machine's programs would reach the tools"):
            behind.run_http(port=0, no_token=True)


def test_unusable_tokens_and_addresses_are_refused() -> None:
    server = toolkit.as_mcp_server()
    with pytest.raises(ValueError, match="expected a token of at least 16 characters, got 5"):
        server.run_http(port=0, token="short")
    for token in ("a token of many characters", "ä-token-of-many-characters", "a-token-of-many-characters\n"):
        with pytest.raises(ValueError, match="expected a token of printable ASCII characters without blanks"):
            server.run_http(port=0, token=token)
    for host in ("", " "):
        with pytest.raises(ValueError, match="expected an address to serve on, got none"):
            server.run_http(host=host, port=0, token=TOKEN)
    with pytest.raises(OSError, match=r"cannot serve on 'host\.invalid'"):
        server.run_http(host="host.invalid", port=0, token=TOKEN)


@pytest.mark.parametrize("option", [[], ["--no-token"]])
@pytest.mark.sampled(every=0)
def test_command_makes_a_token_unless_told_not_to(option: list[str], tmp_path: Path) -> None:
    start = "from ez_ptc.cli.app import main; raise SystemExit(main())"
    command = [sys.executable, "-c", start, "serve", "tests.mcp.servers.shop:toolkit", "--http", "0", *option]
    environment = {name: value for name, value in os.environ.items() if name != "EZ_PTC_MCP_TOKEN"}
    environment["XDG_DATA_HOME"] = str(tmp_path)
    root = Path(__file__).parents[3]
    if option:
        refused = subprocess.run(
            [*command, "--allow-host", "a.example"],
            check=False,
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert refused.returncode != 0
        assert "cannot serve without a token" in refused.stderr
        return
    with subprocess.Popen(
        [*command, "--show-token"], cwd=root, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            token = process.stderr.readline().partition("Authorization: ")[2].strip()
            url = process.stderr.readline()
            port = re.search(r"127\.0\.0\.1:(\d+)/mcp", url)
            assert port is not None
            server = Served("127.0.0.1", int(port[1]))
            assert server.status(f"Host: {server.host}") == 401
            assert server.status(f"Host: {server.host}", f"Authorization: {token}") == ADMITTED
            assert len(token) > 40
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(MAX_SECONDS)
