"""A tool with long results, and how a text for a model keeps them."""

from __future__ import annotations

from datetime import date
from typing import Any

from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.toolkit.execution.results.scopes import ValueKeeper
from ez_ptc.tools.decorators import ez_tool

counted: list[int] = []


@ez_tool(read_only=True)
def rows(count: int) -> list[dict[str, Any]]:
    """List rows."""
    counted.append(count)
    return [{"number": number, "day": date(2026, 1, 1)} for number in range(count)]


@ez_tool(requires_approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


def keep(result: ExecutionResult, value: object = None) -> str:
    """Keep a result's value as a text for a model does that has no room for it."""
    assert isinstance(result.keeper, ValueKeeper)
    name = result.keeper.keep(result.return_value if value is None else value, source="the program")
    assert name is not None
    return name
