"""fastmcp: a tool of its server, run with a dict, on an event loop that runs already."""

import asyncio
import importlib
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.schemas.subject import Function, Subject, undisturbed

__all__ = ["start"]


def start() -> Subject:
    """Return what makes a server's tools."""
    return _Fastmcp()


class _Fastmcp:
    def __init__(self) -> None:
        self._make: Any = importlib.import_module("fastmcp.tools").Tool.from_function

    def describe(self, function: Function) -> Mapping[str, Any]:
        return self._make(function).parameters

    def call(self, function: Function, arguments: dict[str, Any], times: int) -> float:
        tool = self._make(function)

        async def run() -> float:
            with undisturbed():
                began = time.perf_counter()
                for _ in range(times):
                    await tool.run(arguments)
                return time.perf_counter() - began

        return asyncio.run(run())
