"""Users whom the SDK's authorization names: each sees the runs of its own only, on one server and with one session."""

import asyncio
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp_types import CallToolResult, TextContent
from pydantic import AnyHttpUrl

from ez_ptc import Toolkit, ez_tool
from ez_ptc.mcp.server.http import HttpSettings, app_server, base_url, open_listeners


@ez_tool(requires_approval=True)
def transfer(amount: int) -> str:
    """Send money."""
    return f"sent {amount}"


class Verifier:
    """Knows the tokens of some users of one application."""

    async def verify_token(self, token: str) -> AccessToken | None:
        return AccessToken(token=token, client_id="app", scopes=[], subject=token.partition(":")[0])


@contextmanager
def served(toolkit: Toolkit, principal: str | None) -> Generator[str]:
    listeners = open_listeners(HttpSettings(port=0))
    auth = AuthSettings(issuer_url=AnyHttpUrl("https://login.example"), resource_server_url=None)
    shop = toolkit.as_mcp_server(mode="programs", principal=principal)
    server = app_server(shop.server.streamable_http_app(auth=auth, token_verifier=Verifier()))
    thread = threading.Thread(target=server.run, args=(listeners,))
    thread.start()
    try:
        yield f"{base_url(listeners)}/mcp"
    finally:
        server.should_exit = True
        thread.join(30)
        for listener in listeners:
            listener.close()


async def call(url: str, user: str, tool: str, **arguments: object) -> str:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {user}:token"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("principal", [None, "shop"])
def test_run_of_one_user_is_unknown_to_another(principal: str | None, tmp_path: Path) -> None:
    async def run(url: str) -> None:
        text = await call(url, "ada", "execute_tools", code="transfer(5)")
        found = re.search(r"run_id '([0-9a-f]+)'", text)
        assert found is not None, text
        assert "transfer" in await call(url, "ada", "resume_program", run_id=found[1])
        assert "there is no such run of this client" in await call(url, "eve", "resume_program", run_id=found[1])

    with Toolkit([transfer], journal=tmp_path / "runs.db") as toolkit, served(toolkit, principal) as url:
        asyncio.run(asyncio.wait_for(run(url), 60))
