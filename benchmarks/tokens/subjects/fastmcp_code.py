"""FastMCP's code mode: a client's model searches, reads the schemas of what it has found, and runs a program."""

import asyncio
import importlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.tokens.subjects import Peer, PeerTurn

__all__ = ["start"]


def start(functions: Sequence[Callable[..., object]]) -> Peer:
    """Return a server over the functions."""
    return _Server(functions)


class _Server:
    def __init__(self, functions: Sequence[Callable[..., object]]) -> None:
        library: Any = importlib.import_module("fastmcp")
        code_mode: Any = importlib.import_module("fastmcp.experimental.transforms.code_mode")
        tools: Any = importlib.import_module("fastmcp.tools")
        self._client: Any = library.Client
        self._server: Any = library.FastMCP("tools", transforms=[code_mode.CodeMode()])
        for function in functions:
            try:
                tool = tools.Tool.from_function(function)
            except Exception:  # noqa: BLE001 - pydantic refuses a TypedDict of Python 3.11 as a return type
                function.__annotations__.pop("return", None)
                tool = tools.Tool.from_function(function)
            self._server.add_tool(tool)

    def turns(self, question: str, names: Sequence[str], code: str, answer: str) -> list[PeerTurn]:
        return asyncio.run(self._ask(question, names, code, answer))

    async def _ask(self, question: str, names: Sequence[str], code: str, answer: str) -> list[PeerTurn]:
        async with self._client(self._server) as client:
            listed = await client.list_tools()
            tools = json.dumps(
                [
                    {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
                    for tool in listed
                ]
            )
            turns: list[PeerTurn] = []
            for name, arguments in (("search", {"query": question}), ("get_schema", {"tools": list(names)})):
                done = await client.call_tool(name, arguments)
                told = "\n".join(part.text for part in done.content)
                turns.append((tools, f"{name} {json.dumps(arguments)}", told))
        for name in names:
            code = code.replace(f"{name}(", f"await call_tool('{name}', ")
        return [*turns, (tools, f"execute {json.dumps({'code': code})}", answer), (tools, answer, "")]
