"""Redirects of a server over HTTP: they lead to nobody else."""

from __future__ import annotations

import pytest

from ez_ptc import mcp_tools
from ez_ptc.errors import McpServerError
from tests.openapi.api import serve

SECRET = "sk-live-4242"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_redirect_takes_nothing_to_another_server(name: str, status: int) -> None:
    with serve() as server, serve() as other:
        target = f"{other.url.replace('127.0.0.1', name)}/mcp"
        server.answers["/mcp"] = (status, {"location": target}, b"")
        with pytest.raises(McpServerError, match="not followed") as caught:
            mcp_tools(f"{server.url}/mcp?key={SECRET}", headers={"x-api-key": SECRET})
        assert len(server.asked) > 0
        assert other.asked == []
        assert SECRET not in str(caught.value)


def test_redirect_within_the_server_is_followed() -> None:
    with serve() as server:
        server.answers["/mcp"] = (307, {"location": "/elsewhere"}, b"")
        with pytest.raises(McpServerError):  # nothing there speaks the protocol
            mcp_tools(f"{server.url}/mcp", headers={"x-api-key": SECRET})
        targets = [asked.target for asked in server.asked]
        assert targets[:2] == ["/mcp", "/elsewhere"]
        assert server.asked[1].headers["x-api-key"] == SECRET
