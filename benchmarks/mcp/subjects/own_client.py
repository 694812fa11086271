"""This library: a call of a tool, and a program in the sandbox."""

import timing

from ez_ptc import Toolkit, amcp_tools

CODE = "for number in range(100):\n    echo(text='hello')"


async def measure(command: list[str], calls: int) -> None:
    """Measure this library."""
    async with await amcp_tools(command) as tools:
        toolkit = Toolkit(tools)
        tool = next(iter(toolkit))
        connected = timing.started()

        async def program() -> None:
            result = await toolkit.aexecute(CODE)
            result.raise_for_error()

        arguments: dict[str, object] = {"text": "hello"} if tool.name == "echo" else {}
        await timing.report(connected, lambda: tool.acall(arguments), program if arguments else None, calls)
        toolkit.close()


timing.run(measure)
