"""Many tools for tests, and three among them that belong together."""

from __future__ import annotations

import functools
from typing import Any, TypedDict

from ez_ptc import Tool, ez_tool

__all__ = ["get_shipment", "list_orders", "many_tools", "named_tools", "refund_shipping"]

VERBS = ("get", "search", "create", "update", "delete", "count", "assign", "archive", "export", "tag")
NOUNS = ("invoice", "ticket", "supplier", "contract", "lead", "device", "course", "budget", "branch", "voucher")


class Order(TypedDict):
    """An order."""

    order_id: int
    total: float


@ez_tool(read_only=True)
def list_orders(customer: str, year: int) -> list[Order]:
    """List all orders that a customer placed in a year.

    Args:
        customer: Name of the customer.
        year: Calendar year.
    """
    return [{"order_id": number, "total": 10.0 * number + len(customer)} for number in range(1, year - 2000)]


@ez_tool(read_only=True)
def get_shipment(order_id: int) -> dict[str, int]:
    """Look up the shipment of an order, with how many days late it was."""
    return {"order_id": order_id, "days_late": order_id % 3}


@ez_tool
def refund_shipping(order_id: int, amount: float) -> str:
    """Refund the shipping cost of an order to the customer."""
    return f"refunded {amount} of {order_id}"


def _anything(**arguments: object) -> str:
    return ", ".join(arguments)


def named_tools(names: list[str], **options: Any) -> list[Tool[..., Any]]:
    """Return tools of these names, each with one parameter."""
    schema = {"type": "object", "properties": {"id": {"type": "string", "description": "Its number."}}}
    return [
        Tool.from_schema(name, f"Do what {name.replace('_', ' ')} says.", schema, _anything, **options)
        for name in names
    ]


def many_tools(count: int) -> list[Tool[..., Any]]:
    """Return the three tools of this module, and others up to a count."""
    return [*_many_tools(count)]


@functools.cache
def _many_tools(count: int) -> tuple[Tool[..., Any], ...]:
    systems = ("", *(f"site{number}_" for number in range(count // 100 + 1)))
    names = [f"{system}{verb}_{noun}" for system in systems for noun in NOUNS for verb in VERBS][: count - 3]
    return (*named_tools(names), list_orders, get_shipment, refund_shipping)
