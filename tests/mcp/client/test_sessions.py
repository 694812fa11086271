"""Sessions the user has opened, and what clients and servers agree on: roots and OAuth."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import uvicorn
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.stdio import stdio_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.types import Receive, Scope, Send

from ez_ptc import McpServerError, Toolkit, amcp_tools, mcp_tools
from ez_ptc.mcp.client import sessions
from ez_ptc.mcp.server.http import HttpSettings, http_app
from tests.mcp.servers.shop import toolkit

Command = Callable[[str], list[str]]

MAX_SECONDS = 20
TOKEN = "a-token-of-many-characters"
ON_ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@asynccontextmanager
async def open_session(command: list[str]) -> AsyncGenerator[ClientSession]:
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(parameters) as (reads, writes), ClientSession(reads, writes) as session:
        yield session


# Open sessions --------------------------------------------------------------------------------------------------------


@ON_ASYNCIO
async def test_open_session_is_used_and_stays_open(raw_server: Command, anyio_backend: object) -> None:
    async with open_session(raw_server("plain")) as session:
        await session.initialize()
        async with await amcp_tools(session) as tools:
            with Toolkit(tools) as open_toolkit:
                result = await open_toolkit.aexecute("print(echo('a'), where()['pid'] > 0)")
        again = await session.call_tool("echo", {"text": "b"})

    assert result.output == "a True\n"
    assert again.content[0].model_dump()["text"] == "b"


@ON_ASYNCIO
async def test_connected_client_is_an_open_session(raw_server: Command, anyio_backend: object) -> None:
    command = raw_server("plain")
    async with Client(StdioServerParameters(command=command[0], args=command[1:])) as client:
        async with await Toolkit.afrom_mcp(client) as tools:
            assert (await tools.aexecute("print(echo('a'))")).output == "a\n"
        assert not (await client.call_tool("echo", {"text": "b"})).is_error


@ON_ASYNCIO
async def test_open_session_is_called_from_other_threads(raw_server: Command, anyio_backend: object) -> None:
    async with open_session(raw_server("plain")) as session:
        await session.initialize()
        with Toolkit(await amcp_tools(session)) as open_toolkit:
            result = await asyncio.to_thread(open_toolkit.execute, "print(echo('a'))")

    assert result.output == "a\n"


@ON_ASYNCIO
async def test_blocking_its_own_loop_is_explained(
    raw_server: Command, anyio_backend: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_MAX_BLOCKED_SECONDS", 0.2)
    async with open_session(raw_server("plain")) as session:
        await session.initialize()
        with Toolkit(await amcp_tools(session)) as open_toolkit:
            result = open_toolkit.execute("echo('a')")

    assert "await toolkit.aexecute(...) instead of execute(...)" in (result.error or "")


@ON_ASYNCIO
async def test_open_session_without_initialization_is_refused(raw_server: Command, anyio_backend: object) -> None:
    async with open_session(raw_server("plain")) as session:
        with pytest.raises(McpServerError, match=r"await session\.initialize\(\) first"):
            await amcp_tools(session)


@ON_ASYNCIO
async def test_end_of_an_open_sessions_server_is_an_error(raw_server: Command, anyio_backend: object) -> None:
    async with open_session(raw_server("plain")) as session:
        await session.initialize()
        with Toolkit(await amcp_tools(session)) as open_toolkit:
            first = await open_toolkit.aexecute("die()")
            second = await open_toolkit.aexecute("echo('a')")

    assert "ended during the call" in (first.error or "")
    assert not second.success


# Roots ----------------------------------------------------------------------------------------------------------------


def test_server_gets_the_roots_it_asks_for(raw_server: Command, tmp_path: Path) -> None:
    with Toolkit.from_mcp(raw_server("roots"), roots=[tmp_path, "file:///shop"]) as tools:
        roots = tools.execute("roots()").return_value

    assert [root["uri"] for root in roots["result"]["roots"]] == [tmp_path.as_uri(), "file:///shop"]


@pytest.mark.parametrize(
    ("roots", "error"),
    [(["https://shop.example"], "a folder or a file:// URI as a root"), ("/tmp", r"pass \[folder\]")],
)
def test_roots_that_no_server_understands_are_refused(raw_server: Command, roots: list[str], error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        mcp_tools(raw_server("roots"), roots=roots)


def test_server_without_roots_gets_none(raw_server: Command) -> None:
    with Toolkit.from_mcp(raw_server("roots")) as tools:
        assert "error" in tools.execute("roots()").return_value


# OAuth ----------------------------------------------------------------------------------------------------------------


class Tokens:
    """Keeps the tokens of a client in memory."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@contextmanager
def server_with_oauth() -> Generator[str]:
    """Serve the shop to holders of a token, beside the server that issues it; yield the origin."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
        inner = http_app(toolkit.as_mcp_server().server, HttpSettings(token=TOKEN), [listener])
        documents = {
            "/.well-known/oauth-protected-resource": {"resource": f"{origin}/mcp", "authorization_servers": [origin]},
            "/.well-known/oauth-authorization-server": {
                "issuer": origin,
                "authorization_endpoint": f"{origin}/authorize",
                "token_endpoint": f"{origin}/token",
                "response_types_supported": ["code"],
                "grant_types_supported": ["client_credentials"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            },
            "/token": {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600},
        }

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            document = documents.get(scope.get("path", ""))
            if document is None:
                await inner(scope, receive, send)
                return
            status = 200
            if scope["path"] == "/token" and b"client_secret=s3cret" not in (await receive())["body"]:
                status = 401
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": json.dumps(document).encode()})

        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield origin
        finally:
            server.should_exit = True
            thread.join(MAX_SECONDS)
    assert not thread.is_alive()


def test_oauth_of_the_sdk_gets_and_keeps_a_token() -> None:
    tokens = Tokens()
    with server_with_oauth() as origin:
        for secret in ("s3cret", "not used, because the token is kept"):
            auth = ClientCredentialsOAuthProvider(
                f"{origin}/mcp", tokens, "me", secret, token_endpoint_auth_method="client_secret_post", issuer=origin
            )
            with Toolkit.from_mcp(f"{origin}/mcp", auth=auth) as tools:
                assert tools.execute("print(whoami())").output == "Ada\n"

    assert tokens.tokens is not None
    assert tokens.tokens.access_token == TOKEN


def test_refused_oauth_is_a_clear_error_without_the_secret() -> None:
    with server_with_oauth() as origin:
        auth = ClientCredentialsOAuthProvider(
            f"{origin}/mcp", Tokens(), "me", "wrong", token_endpoint_auth_method="client_secret_post", issuer=origin
        )
        with pytest.raises(McpServerError, match=r"cannot connect to the MCP server 127\.0\.0\.1") as caught:
            mcp_tools(f"{origin}/mcp", auth=auth)

    assert "wrong" not in str(caught.value)
