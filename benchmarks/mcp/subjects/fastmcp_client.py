"""FastMCP's client, and its code mode over a proxy of the server."""

import timing
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy

CODE = "for number in range(100):\n    await call_tool('echo', {'text': 'hello'})\nreturn 1"


async def measure(command: list[str], calls: int) -> None:
    """Measure FastMCP."""
    transport = StdioTransport(command=command[0], args=command[1:])
    async with Client(transport) as client:
        await client.list_tools()
        connected = timing.started()
        proxy = create_proxy(client)
        proxy.add_transform(CodeMode(max_tool_calls=1000))
        async with Client(proxy) as programs:

            async def program() -> None:
                await programs.call_tool("execute", {"code": CODE})

            await timing.report(connected, lambda: client.call_tool("echo", {"text": "hello"}), program, calls)


timing.run(measure)
