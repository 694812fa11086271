"""Users whom the SDK's authorization names: each sees the runs of its own only, on one server and with one session."""

import asyncio
import json
import re
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp_types import CallToolResult, TextContent
from pydantic import AnyHttpUrl

from ez_ptc import Journal, Toolkit, ez_tool
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
def served(
    toolkit: Toolkit, principal: str | None, *, has_users: bool = True, is_stateless: bool = False
) -> Generator[str]:
    listeners = open_listeners(HttpSettings(port=0))
    auth = AuthSettings(issuer_url=AnyHttpUrl("https://login.example"), resource_server_url=None)
    users: dict[str, Any] = {"auth": auth, "token_verifier": Verifier()} if has_users else {}
    shop = toolkit.as_mcp_server(mode="programs", principal=principal)
    server = app_server(shop.server.streamable_http_app(stateless_http=is_stateless, **users))
    thread = threading.Thread(target=server.run, args=(listeners,))
    thread.start()
    try:
        yield f"{base_url(listeners)}/mcp"
    finally:
        server.should_exit = True
        thread.join(30)
        for listener in listeners:
            listener.close()


async def call(
    url: str,
    user: str,
    tool: str,
    *,
    mode: str = "auto",
    headers: Mapping[str, str] | None = None,
    sent: list[httpx2.Headers] | None = None,
    **arguments: object,
) -> str:
    async def note(request: httpx2.Request) -> None:
        if sent is not None:
            sent.append(request.headers)

    headers = {"Authorization": f"Bearer {user}:token", **(headers or {})}
    async with (
        httpx2.AsyncClient(headers=headers, event_hooks={"request": [note]}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
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


def test_same_user_of_another_server_is_another_caller(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "runs.db")
    for principal in (None, "shop", "bank"):
        with Toolkit([transfer], journal=journal) as toolkit, served(toolkit, principal) as url:
            asyncio.run(asyncio.wait_for(call(url, "ada", "execute_tools", code="transfer(5)"), 60))
    callers = {journal.run(run.id).principal for run in journal.runs()}
    assert len(callers) == 3
    assert all(re.fullmatch("mcp-user:[0-9a-f]{32}", caller or "") for caller in callers)


def test_recorded_caller_is_no_credential(tmp_path: Path) -> None:
    sent: list[httpx2.Headers] = []
    journal = Journal(tmp_path / "runs.db")
    with Toolkit([transfer], journal=journal) as toolkit:
        for has_users in (True, False):
            with served(toolkit, None, has_users=has_users) as url:
                request = call(url, "olga", "execute_tools", mode="legacy", sent=sent, code="transfer(5)")
                asyncio.run(asyncio.wait_for(request, 60))
    recorded = "".join(json.dumps(event) for run in journal.runs() for event in journal.export(run.id))
    principals = [journal.run(run.id).principal or "" for run in journal.runs()]
    assert sorted(principal.partition(":")[0] for principal in principals) == ["mcp-session", "mcp-user"]
    for secret in {
        headers[name] for headers in sent for name in ("mcp-session-id", "authorization") if name in headers
    }:
        assert secret.removeprefix("Bearer ") not in recorded + "".join(principals)
    assert "olga" not in recorded + "".join(principals)


@pytest.mark.parametrize("is_stateless", [False, True])
def test_header_that_a_client_chooses_names_no_caller(tmp_path: Path, *, is_stateless: bool) -> None:
    """Without a handshake, the id of a session is what the client says; it is not looked up."""
    journal = Journal(tmp_path / "runs.db")
    mode = "legacy" if is_stateless else "auto"
    with (
        Toolkit([transfer], journal=journal) as toolkit,
        served(toolkit, None, has_users=False, is_stateless=is_stateless) as url,
    ):
        for session in ("adas", "eves"):
            headers = {"Mcp-Session-Id": session}
            request = call(url, "eve", "execute_tools", mode=mode, headers=headers, code="transfer(5)")
            asyncio.run(asyncio.wait_for(request, 60))
    assert [journal.run(run.id).principal for run in journal.runs()] == ["mcp-http", "mcp-http"]
