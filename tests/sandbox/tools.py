"""The tools that the programs under test call."""

from __future__ import annotations

from ez_ptc import Tool, ToolError, ez_tool

__all__ = ["TOOLS", "add", "echo", "fail", "find_order", "get_weather", "stop"]


@ez_tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@ez_tool(read_only=True)
def get_weather(city: str, unit: str = "celsius") -> dict[str, object]:
    """Say how the weather is in a city."""
    return {"city": city, "temp": 22, "unit": unit, "wind": {"speed": 3.5, "from": "NW"}}


@ez_tool(read_only=True)
def find_order(number: int) -> dict[str, object]:
    """Find an order."""
    orders: dict[int, dict[str, object]] = {7: {"number": 7, "items": ["tea", "cups"], "total": 12.5}}
    return orders[number]


@ez_tool(read_only=True)
def echo(value: object) -> object:
    """Return what was sent."""
    return value


@ez_tool(read_only=True)
def fail(how: str) -> str:
    """Fail in one of several ways."""
    errors: dict[str, Exception] = {
        "value": ValueError("the value is wrong"),
        "key": KeyError("tea"),
        "tool": ToolError("the shop is closed"),
        "os": FileNotFoundError(2, "No such file", "/srv/private/orders.db"),
        "own": _ShopClosedError("until Monday"),
        "mute": RuntimeError(),
    }
    raise errors[how]


class _ShopClosedError(LookupError):
    """An error of the developer's own."""


@ez_tool
def stop() -> str:
    """Stop an iteration, which is an exception like any other."""
    raise StopIteration(5)


TOOLS: tuple[Tool[..., object], ...] = (add, get_weather, find_order, echo, fail, stop)
