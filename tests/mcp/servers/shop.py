"""A toolkit that the tests serve: `ez-ptc serve shop:toolkit`."""

import asyncio
from pathlib import Path
from typing import TypedDict

from ez_ptc import Context, ImageMessage, ToolError, Toolkit, ez_tool


class Order(TypedDict):
    """An order."""

    id: int
    total: float


@ez_tool(read_only=True)
def order(order_id: int) -> Order:
    """Return an order."""
    if order_id > 100:
        message = "there is no such order"
        raise ToolError(message)
    return {"id": order_id, "total": 12.5}


@ez_tool(read_only=True)
def orders() -> list[Order]:
    """Return all orders."""
    return [{"id": 1, "total": 12.5}, {"id": 2, "total": 3.0}]


@ez_tool(requires_approval=True)
def refund(order_id: int, amount: float = 5.0) -> str:
    """Refund an order."""
    return f"refunded {amount} of {order_id}"


@ez_tool
def whoami(user: Context[str]) -> str:
    """Return the user's name."""
    return user


@ez_tool
def picture() -> ImageMessage:
    """Return a picture."""
    return ImageMessage(b"\x89PNG\r\n\x1a\n")


def _leave(marker: str) -> None:
    Path(marker).write_text("cancelled", encoding="utf-8")


@ez_tool
async def slow(seconds: float, marker: str) -> str:
    """Wait; leave a file if that was not cancelled."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        _leave(marker)
        raise
    return "done"


toolkit = Toolkit([order, orders, refund, whoami, picture, slow], context="Ada")
