"""Serving over HTTP on loopback, with and without a token."""

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest
import uvicorn

from ez_ptc import McpServerError, Toolkit, mcp_tools
from ez_ptc.mcp.server.http import http_app
from tests.mcp.servers.shop import toolkit

TOKEN = "a-token-of-many-characters"


@contextmanager
def served(token: str | None = None) -> Generator[str]:
    """Serve the shop on a free port, and yield its URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        app = http_app(toolkit.as_mcp_server().server, host="127.0.0.1", token=token)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join(30)
    assert not thread.is_alive()


def test_http_server_is_called_from_a_program() -> None:
    with served() as url, Toolkit.from_mcp(url) as tools:
        assert tools.execute("print(order(1)['total'], whoami())").output == "12.5 Ada\n"


def test_requests_without_the_token_are_refused() -> None:
    with served(TOKEN) as url:
        for headers in ({}, {"Authorization": "Bearer another-token-of-characters"}):
            with pytest.raises(McpServerError, match=r"cannot connect to the MCP server 127\.0\.0\.1"):
                mcp_tools(url, headers=headers)
        with mcp_tools(url, headers={"Authorization": f"Bearer {TOKEN}"}) as tools:
            assert "order" in [tool.name for tool in tools]


def test_other_addresses_need_a_long_token() -> None:
    server = toolkit.as_mcp_server()
    with pytest.raises(ValueError, match=r"cannot serve on 0.0.0.0 without a token: others could call the tools"):
        server.run_http(host="0.0.0.0")
    with pytest.raises(ValueError, match="expected a token of at least 16 characters, got 5"):
        server.run_http(host="0.0.0.0", token="short")


def test_unreachable_url_is_a_clear_error() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        with pytest.raises(McpServerError, match=r"cannot connect to the MCP server 127\.0\.0\.1"):
            mcp_tools(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", connect_timeout=10)
