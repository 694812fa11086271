"""Our server driven by clients of others: the inspector's command line, and FastMCP's client."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.mcp.real.conftest import Peers

SERVERS = Path(__file__).parents[1] / "servers"
START = "import sys; from ez_ptc.cli.app import main; sys.exit(main(['serve', 'shop:toolkit', '--mode', 'both']))"
FASTMCP = """
import asyncio, json, sys
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def approve(message, response_type, params, context):
    return {"approve": True}


async def main():
    transport = StdioTransport(command=sys.argv[1], args=["-c", sys.argv[2]], cwd=sys.argv[3])
    async with Client(transport, elicitation_handler=approve) as client:
        orders = await client.call_tool("orders")
        program = await client.call_tool("execute_tools", {"code": "print(order(2)['total'])"})
        refund = await client.call_tool("refund", {"order_id": 1})
        texts = [program.content[0].text, refund.content[0].text]
        print(json.dumps([len(await client.list_tools()), len(orders.data), *texts]))


asyncio.run(main())
"""


def inspect(peers: Peers, *arguments: str) -> dict[str, Any]:
    """Call our server with the inspector, and return the JSON that it prints."""
    command = [*peers.node("inspector", "cli/build/cli.js"), "--cli", sys.executable, "-c", START, *arguments]
    done = subprocess.run(command, cwd=SERVERS, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)


def test_inspector_lists_and_calls(peers: Peers) -> None:
    listed = inspect(peers, "--method", "tools/list")
    assert "execute_tools" in [tool["name"] for tool in listed["tools"]]
    called = inspect(peers, "--method", "tools/call", "--tool-name", "order", "--tool-arg", "order_id=3")
    assert called["structuredContent"] == {"id": 3, "total": 12.5}


def test_fastmcp_client_calls_and_approves(peers: Peers) -> None:
    command = [peers.python("python"), "-c", FASTMCP, sys.executable, START, str(SERVERS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [9, 2, "12.5\n", "refunded 5.0 of 1"]
