"""The functions that every subject describes and calls: one as most are, and one with much in its signature."""

import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, NotRequired
from uuid import UUID

from typing_extensions import TypedDict

__all__ = ["EXAMPLES", "Example"]


class Priority(Enum):
    """How urgent an order is."""

    LOW = "low"
    HIGH = "high"


class Item(TypedDict):
    """What is ordered."""

    sku: str
    quantity: int
    kind: Literal["book", "tea"]
    tags: NotRequired[set[str]]


@dataclass
class Address:
    """Where somebody lives."""

    street: str
    city: str
    country: str = "CH"


@dataclass
class Customer:
    """Who orders."""

    customer_id: UUID
    name: str
    address: Address
    emails: list[str]


def get_weather(city: str, days: int = 3) -> str:
    """Get the weather of a city.

    Args:
        city: Its name.
        days: How many days ahead.
    """
    del days
    return city


def place_order(
    customer: Customer,
    items: list[Item],
    placed: datetime,
    deliver_on: date | None = None,
    priority: Priority = Priority.LOW,
    discounts: dict[str, Decimal] | None = None,
) -> str:
    """Place an order.

    Args:
        customer: Who orders.
        items: What they order.
        placed: When they ordered.
        deliver_on: When they want it.
        priority: How urgent it is.
        discounts: What is taken off, by reason.
    """
    del items, placed, deliver_on, priority, discounts
    return customer.name


@dataclass(frozen=True, slots=True)
class Example:
    """A function, the arguments of one call as a model sends them, and those that shall reach the function."""

    name: str
    function: Callable[..., object]
    arguments: dict[str, Any]
    expected: dict[str, object]

    def spy(self) -> tuple[Callable[..., object], list[dict[str, object]]]:
        """Return a function of the same signature, and the list in which it keeps what it is called with."""
        calls: list[dict[str, object]] = []
        signature = inspect.signature(self.function)

        @functools.wraps(self.function)
        def keep(*args: object, **kwargs: object) -> str:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            calls.append(bound.arguments)
            return ""

        return keep, calls

    @contextmanager
    def renew(self, times: int) -> Generator[list[Callable[..., object]]]:
        """Yield the function so many times, each with classes of its own, as those of other modules are."""
        functions: list[Callable[..., object]] = []
        names = [f"{__name__}_{number}" for number in range(times)]
        for name in names:
            spec: Any = importlib.util.spec_from_file_location(name, __file__)
            sys.modules[name] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            functions.append(getattr(module, self.function.__name__))
        yield functions
        for name in names:
            del sys.modules[name]


EXAMPLES: Final[tuple[Example, ...]] = (
    Example("simple", get_weather, {"city": "Zürich", "days": 5}, {"city": "Zürich", "days": 5}),
    Example(
        "rich",
        place_order,
        {
            "customer": {
                "customer_id": "8f14e45f-ceea-467f-a0e6-6d2b8c1c2f3d",
                "name": "Ada",
                "address": {"street": "Seeweg 1", "city": "Zug"},
                "emails": ["ada@example.com", "al@example.com"],
            },
            "items": [
                {"sku": "tea-1", "quantity": 2, "kind": "tea", "tags": ["green", "loose"]},
                {"sku": "book-7", "quantity": 1, "kind": "book"},
            ],
            "placed": "2024-05-06T07:08:09Z",
            "deliver_on": "2024-05-10",
            "priority": "high",
            "discounts": {"loyalty": "0.05"},
        },
        {
            "customer": Customer(
                UUID("8f14e45f-ceea-467f-a0e6-6d2b8c1c2f3d"),
                "Ada",
                Address("Seeweg 1", "Zug"),
                ["ada@example.com", "al@example.com"],
            ),
            "items": [
                {"sku": "tea-1", "quantity": 2, "kind": "tea", "tags": {"green", "loose"}},
                {"sku": "book-7", "quantity": 1, "kind": "book"},
            ],
            "placed": datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
            "deliver_on": date(2024, 5, 10),
            "priority": Priority.HIGH,
            "discounts": {"loyalty": Decimal("0.05")},
        },
    ),
)
