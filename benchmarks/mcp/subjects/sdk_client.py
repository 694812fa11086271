"""The official SDK's own client."""

import timing
from mcp import Client, StdioServerParameters


async def measure(command: list[str], calls: int) -> None:
    """Measure the SDK."""
    async with Client(StdioServerParameters(command=command[0], args=command[1:])) as client:
        await client.list_tools()
        await timing.report(timing.started(), lambda: client.call_tool("echo", {"text": "hello"}), None, calls)


timing.run(measure)
