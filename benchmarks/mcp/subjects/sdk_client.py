"""The official SDK's own client."""

import timing
from mcp import Client, StdioServerParameters


async def measure(command: list[str], calls: int) -> None:
    """Measure the SDK; its listings come in pages."""
    async with Client(StdioServerParameters(command=command[0], args=command[1:])) as client:
        page = await client.list_tools()
        tools = page.tools
        while page.next_cursor is not None:
            page = await client.list_tools(cursor=page.next_cursor)
            tools += page.tools
        await timing.report(timing.started(), lambda: client.call_tool("echo", {"text": "hello"}), None, calls)


timing.run(measure)
