"""What an MCP server over HTTP may send: a body has a size, compressed or not."""

from __future__ import annotations

import gzip

import pytest

from ez_ptc import McpServerError, mcp_tools
from ez_ptc.mcp.client.transports.pipes import MAX_MESSAGE_BYTES
from tests.providers.loopback import LoopbackServer, Reply

JSON = {"Content-Type": "application/json"}
TOO_LARGE = b" " * (MAX_MESSAGE_BYTES + 1)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("is_compressed", [False, True])
def test_answer_over_http_has_a_size(is_compressed: bool) -> None:
    reply = Reply(body=TOO_LARGE, headers=JSON)
    if is_compressed:
        reply = Reply(body=gzip.compress(TOO_LARGE), headers={**JSON, "content-encoding": "gzip"})
    with LoopbackServer(*[reply] * 3) as server, pytest.raises(McpServerError, match="more than 64 MiB"):
        mcp_tools(server.url, connect_timeout=30)


@pytest.mark.parametrize("encoding", ["br", "gzip, gzip"])
def test_encoding_over_http_that_was_not_asked_for_is_refused(encoding: str) -> None:
    reply = Reply(body=b"{}", headers={**JSON, "content-encoding": encoding})
    with (
        LoopbackServer(*[reply] * 3) as server,
        pytest.raises(McpServerError, match="expected an answer in gzip or deflate"),
    ):
        mcp_tools(server.url, connect_timeout=30)
