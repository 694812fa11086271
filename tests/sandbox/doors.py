"""A channel over plain functions: what a host needs to run programs without the rest of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ez_ptc.messages import ToolResult
from ez_ptc.sandbox.protocol.execution import Grant, Grants
from ez_ptc.tools.call_lifetime import CallLife

__all__ = ["Door"]


class Door:
    """Calls functions by their names, with what a program sends, unchecked."""

    has_listeners = True
    recorder = None
    observer = None
    results = None
    finders = None

    def __init__(self, *functions: Callable[..., object]) -> None:
        self._functions = {function.__name__: function for function in functions}
        self.grants = Grants(Grant(name) for name in self._functions)
        self.records: list[dict[str, Any]] = []

    def call(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Call the function in this thread."""
        return ToolResult(success=True, output=self._functions[name](*args, **kwargs))

    async def acall(self, name: str, args: tuple[object, ...], kwargs: dict[str, object], life: CallLife) -> ToolResult:
        """Do the same, blocking the loop."""
        return self.call(name, args, kwargs, life)

    def report_call(self, record: dict[str, Any]) -> None:
        """Keep the record."""
        self.records.append(record)
