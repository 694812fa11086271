"""The transports and revisions of the protocol by which a test's clients reach a served toolkit."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, ErrorData

from ez_ptc.mcp.server.http import HttpSettings
from ez_ptc.mcp.server.serving import McpServer
from tests.mcp.servers.over_http import TOKEN, Served, served

PLACES = {
    "in process, 2025": ("legacy", False, True),
    "in process, 2026": ("auto", False, True),
    "http, 2025": ("legacy", True, True),
    "http, 2025, no standalone stream": ("legacy", True, False),
    "http, 2026": ("auto", True, True),
    "http, 2026, no standalone stream": ("auto", True, False),
}


class _NoStream(httpx2.AsyncHTTPTransport):
    """A client's HTTP that opens no standalone stream."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(405, request=request)
        return await super().handle_async_request(request)


class Place:
    """A transport and a revision, by which a server is reached."""

    def __init__(self, server: McpServer, mode: str, over: Served | None, *, standalone: bool = True) -> None:
        self.server, self.mode, self.over, self.standalone = server, mode, over, standalone

    @asynccontextmanager
    async def client(self, answer: object = ..., **options: Any) -> AsyncGenerator[Client]:
        """Connect a client, which answers questions so if there is an answer; None never comes."""

        async def elicit(context: object, params: object) -> ElicitResult | ErrorData:
            self.questions.append(params)
            if answer is None:
                await asyncio.Event().wait()
            return cast("ElicitResult", answer)

        self.questions: list[Any] = []
        if answer is not ...:
            options["elicitation_callback"] = elicit
        if self.over is None:
            async with Client(self.server.server, mode=self.mode, **options) as client:
                yield client
            return
        transport = httpx2.AsyncHTTPTransport() if self.standalone else _NoStream()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(transport=transport, headers=headers, timeout=30) as http:
            streams = streamable_http_client(f"http://{self.over.host}/mcp", http_client=http)
            async with Client(streams, mode=self.mode, **options) as client:
                yield client


@asynccontextmanager
async def open_place(name: str, server: McpServer) -> AsyncGenerator[Place]:
    """Serve in one of the `PLACES`."""
    mode, is_http, standalone = PLACES[name]
    if not is_http:
        yield Place(server, mode, None)
        return
    with served(HttpSettings(token=TOKEN), server) as over:
        yield Place(server, mode, over, standalone=standalone)
