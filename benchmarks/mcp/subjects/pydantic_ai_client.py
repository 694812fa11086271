"""pydantic-ai's client."""

import timing
from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset


async def measure(command: list[str], calls: int) -> None:
    """Measure pydantic-ai."""
    toolset = MCPToolset(StdioTransport(command=command[0], args=command[1:]))
    async with toolset:
        await toolset.list_tools()
        await timing.report(timing.started(), lambda: toolset.direct_call_tool("echo", {"text": "hello"}), None, calls)


timing.run(measure)
