"""Programs that run right, as models write them and as their authors try to mislead a check: none is refused."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict

import pytest

from ez_ptc import Toolkit, ez_tool


class Size(TypedDict):
    width: float
    height: float


class Product(TypedDict):
    sku: str
    name: str
    category: str
    price: float
    stock: int
    tags: list[str]
    dimensions: Size


class Order(TypedDict):
    order_id: str
    customer_id: str
    sku: str
    quantity: int
    status: str


class Customer(TypedDict):
    customer_id: str
    name: str
    email: str
    city: str


@dataclass
class Person:
    login: str
    name: str
    manager: str | None


@dataclass
class Event:
    id: int
    title: str
    start: dt.datetime
    duration: dt.timedelta
    people: list[Person]


class Point(NamedTuple):
    x: int
    y: float


LAMP: Product = {
    "sku": "A1",
    "name": "Lamp",
    "category": "home",
    "price": 20.0,
    "stock": 5,
    "tags": ["light", "sale"],
    "dimensions": {"width": 1.0, "height": 2.0},
}
CHAIR: Product = {**LAMP, "sku": "B2", "name": "Chair", "price": 80.5, "stock": 0, "tags": []}
PEN: Product = {**LAMP, "sku": "C3", "name": "Pen", "category": "office", "price": 1.5, "stock": 100}
PRODUCTS = [LAMP, CHAIR, PEN]
ORDERS: list[Order] = [
    {"order_id": "O1", "customer_id": "K1", "sku": "A1", "quantity": 2, "status": "open"},
    {"order_id": "O2", "customer_id": "K2", "sku": "C3", "quantity": 10, "status": "shipped"},
    {"order_id": "O3", "customer_id": "K1", "sku": "C3", "quantity": 1, "status": "open"},
]
CUSTOMERS: list[Customer] = [
    {"customer_id": "K1", "name": "Ann", "email": "ann@x.org", "city": "Rome"},
    {"customer_id": "K2", "name": "Ben", "email": "ben@x.org", "city": "Oslo"},
]
PEOPLE = [Person("ann", "Ann", None), Person("ben", "Ben", "ann")]
EVENTS = [
    Event(1, "Standup", dt.datetime(2024, 1, 1, 9), dt.timedelta(minutes=15), PEOPLE),
    Event(2, "Review", dt.datetime(2024, 1, 2, 14), dt.timedelta(hours=1), PEOPLE[:1]),
]


@ez_tool
def list_products(category: str | None = None) -> list[Product]:
    """List products."""
    return [product for product in PRODUCTS if category in {None, product["category"]}]


@ez_tool
def get_product(sku: str) -> Product:
    """Get a product."""
    return next(product for product in PRODUCTS if product["sku"] == sku)


@ez_tool
def list_orders(status: Literal["open", "shipped"] | None = None) -> list[Order]:
    """List orders."""
    return [order for order in ORDERS if status in {None, order["status"]}]


@ez_tool
def get_customer(customer_id: str) -> Customer:
    """Get a customer."""
    return next(customer for customer in CUSTOMERS if customer["customer_id"] == customer_id)


@ez_tool
def list_customers() -> list[Customer]:
    """List customers."""
    return CUSTOMERS


@ez_tool
def stock_level(sku: str) -> int:
    """Get a product's stock."""
    return get_product(sku)["stock"]


@ez_tool
def search(query: str, limit: int = 10) -> list[str]:
    """Search products by name."""
    return [product["sku"] for product in PRODUCTS if query.lower() in product["name"].lower()][:limit]


@ez_tool
def set_price(sku: str, price: float) -> bool:
    """Set a price."""
    return True


@ez_tool
def send_mail(to: str, subject: str, body: str = "") -> str:
    """Send mail."""
    return "sent"


@ez_tool
def list_events(day: dt.date | None = None) -> list[Event]:
    """List events."""
    return [event for event in EVENTS if day in {None, event.start.date()}]


@ez_tool
def get_event(number: int) -> Event:
    """Get an event."""
    return next(event for event in EVENTS if event.id == number)


@ez_tool
async def find_person(login: str) -> Person | None:
    """Find a person."""
    return next((person for person in PEOPLE if person.login == login), None)


@ez_tool
def now() -> dt.datetime:
    """Get the time."""
    return dt.datetime(2024, 1, 1, 8)


@ez_tool
def hours() -> dict[str, float]:
    """Get the hours by login."""
    return {"ann": 2.0, "ben": 3.5}


@ez_tool
def names() -> list[str]:
    """Get the logins."""
    return ["ann", "ben"]


@ez_tool
def bounds() -> tuple[int, str]:
    """Get the bounds."""
    return (1, "a")


@ez_tool
def where(login: str) -> Point:
    """Get a person's place."""
    return Point(1, 2.5)


@ez_tool
def free(login: str, at: dt.datetime) -> bool:
    """Ask whether a person is free."""
    return True


@ez_tool
def rank(login: str) -> int:
    """Get a person's rank."""
    return 3


@ez_tool
def create_event(title: str, start: dt.datetime, minutes: int = 30) -> int:
    """Create an event."""
    return 7


SHOP = [
    list_products,
    get_product,
    list_orders,
    get_customer,
    list_customers,
    stock_level,
    search,
    set_price,
    send_mail,
]
CALENDAR = [list_events, get_event, find_person, now, hours, names, bounds, where, free, rank, create_event]


@pytest.fixture(scope="module")
def shop() -> Iterator[Toolkit]:
    with Toolkit(SHOP) as toolkit:
        yield toolkit


@pytest.fixture(scope="module")
def calendar() -> Iterator[Toolkit]:
    with Toolkit(CALENDAR) as toolkit:
        yield toolkit


@pytest.mark.parametrize(
    "program",
    [
        "for tool, value in [(get_product, 1), (stock_level, 1)]:\n    print(tool(value))",
        "tools = [list_products, list_customers]\nprint([tool() for tool in tools])",
        "tool = list_products if len('x') else list_customers\nprint(tool())",
    ],
)
def test_tools_in_a_list_stay_different(shop: Toolkit, program: str) -> None:
    assert shop.check(program) == []


PROGRAMS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("right_programs.toml").read_text())


@pytest.mark.parametrize("program", PROGRAMS["shop"])
@pytest.mark.sampled(every=3)
def test_right_program_over_records_runs(shop: Toolkit, program: str) -> None:
    assert shop.check(program) == []
    result = shop.execute(program)
    assert result.success, result.error_output


@pytest.mark.parametrize("program", PROGRAMS["calendar"])
def test_right_program_over_objects_runs(calendar: Toolkit, program: str) -> None:
    assert calendar.check(program) == []
    result = calendar.execute(program)
    assert result.success, result.error_output
