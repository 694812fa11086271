"""The demo's shop: an SQLite file of customers, products and orders, with tools for querying it."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from ez_ptc.tools.decorators import ez_tool

if TYPE_CHECKING:
    from pathlib import Path

    from ez_ptc.tools.tool import Tool

__all__ = ["Customer", "Order", "OrderLine", "Product", "Shop"]

_TABLES: Final = """
create table customers (customer_id integer primary key, name text not null, city text not null);
create table products (
    product_id integer primary key, name text not null, category text not null, price real not null,
    stock integer not null
);
create table orders (
    order_id integer primary key, customer_id integer not null references customers, date text not null,
    status text not null
);
create table order_lines (
    order_id integer not null references orders, product_id integer not null references products,
    quantity integer not null, primary key (order_id, product_id)
);
"""
_ORDERS_OF_CUSTOMER: Final = """
select order_id, date, status, round(sum(quantity * price), 2) as total
from orders join order_lines using (order_id) join products using (product_id)
where customer_id = ? group by order_id order by order_id
"""
_LINES_OF_ORDER: Final = """
select name as product, quantity from order_lines join products using (product_id)
where order_id = ? order by product_id
"""
_DEMAND_FOR_PRODUCT: Final = """
select coalesce(sum(quantity), 0) as units
from orders join order_lines using (order_id) where status = 'open' and product_id = ?
"""
_CUSTOMERS: Final = (
    (1, "Ada Moreno", "Lisbon"),
    (2, "Ben Okafor", "Porto"),
    (3, "Chloe Laurent", "Lyon"),
    (4, "Dmitri Petrov", "Porto"),
    (5, "Elena Rossi", "Milan"),
    (6, "Farid Haddad", "Lyon"),
    (7, "Greta Lind", "Malmö"),
    (8, "Hugo Silva", "Lisbon"),
)
_PRODUCTS: Final = (
    (1, "Oak desk", "furniture", 420.0, 6),
    (2, "Office chair", "furniture", 189.5, 14),
    (3, "Bookshelf", "furniture", 129.0, 9),
    (4, "Desk lamp", "lighting", 39.9, 25),
    (5, "Floor lamp", "lighting", 84.0, 5),
    (6, "Light strip", "lighting", 19.5, 60),
    (7, "Notebook", "stationery", 4.2, 200),
    (8, "Fountain pen", "stationery", 32.0, 18),
    (9, "Ink bottle", "stationery", 9.8, 40),
    (10, "Desk mat", "accessories", 24.9, 12),
    (11, "Cable box", "accessories", 17.4, 30),
    (12, "Monitor arm", "accessories", 99.0, 7),
)
_STATUSES: Final = ("delivered", "delivered", "delivered", "open", "open")
_ORDER_COUNT: Final = 40
_FIRST_ORDER: Final = 1001
_SEED: Final = 2026


class Customer(TypedDict):
    """A customer, as returned by the tools."""

    customer_id: int
    name: str
    city: str


class Product(TypedDict):
    """A product, as returned by the tools; the price is in euros."""

    product_id: int
    name: str
    category: str
    price: float
    stock: int


class Order(TypedDict):
    """An order, as returned by the tools; the total is in euros."""

    order_id: int
    date: str
    status: str
    total: float


class OrderLine(TypedDict):
    """One product of an order, as returned by the tools."""

    product: str
    quantity: int


class Shop:
    """A shop with its data in the SQLite file `path`."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    @classmethod
    def create(cls, path: Path) -> Shop:
        """Write the shop's data, the same in every run, to a new SQLite file."""
        with closing(sqlite3.connect(path)) as database, database:
            database.executescript(_TABLES)
            database.executemany("insert into customers values (?, ?, ?)", _CUSTOMERS)
            database.executemany("insert into products values (?, ?, ?, ?, ?)", _PRODUCTS)
            numbers = random.Random(_SEED)

            def below(count: int) -> int:
                # Python only promises the same numbers for a seed from `random()`.
                return int(numbers.random() * count)

            for order in range(_FIRST_ORDER, _FIRST_ORDER + _ORDER_COUNT):
                date = f"2026-{1 + below(6):02}-{1 + below(28):02}"
                values = (order, 1 + below(len(_CUSTOMERS)), date, _STATUSES[below(len(_STATUSES))])
                database.execute("insert into orders values (?, ?, ?, ?)", values)
                products = {1 + below(len(_PRODUCTS)) for _ in range(1 + below(3))}
                lines = [(order, product, 1 + below(4)) for product in sorted(products)]
                database.executemany("insert into order_lines values (?, ?, ?)", lines)
        return cls(path)

    def tools(self) -> list[Tool[..., Any]]:
        """Return the tools for querying the shop."""
        return [
            ez_tool(self.find_customers),
            ez_tool(self.list_orders),
            ez_tool(self.list_order_lines),
            ez_tool(self.find_products),
            ez_tool(self.get_demand),
        ]

    def query(self, sql: str, *values: object) -> list[dict[str, object]]:
        """Return the rows of a query as records."""
        with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(sql, values)]

    def find_customers(self, city: str) -> list[Customer]:
        """Find the customers who live in a city.

        Args:
            city: Name of the city, e.g. "Milan"
        """
        return cast("list[Customer]", self.query("select * from customers where city = ?", city))

    def list_orders(self, customer_id: int) -> list[Order]:
        """List the orders of one customer, with their totals in euros.

        Args:
            customer_id: The customer's id
        """
        return cast("list[Order]", self.query(_ORDERS_OF_CUSTOMER, customer_id))

    def list_order_lines(self, order_id: int) -> list[OrderLine]:
        """List the products of one order, with the number of units.

        Args:
            order_id: The order's id
        """
        return cast("list[OrderLine]", self.query(_LINES_OF_ORDER, order_id))

    def find_products(self, category: str) -> list[Product]:
        """Find the products of a category, with their price in euros and the units in stock.

        Args:
            category: "furniture", "lighting", "stationery" or "accessories"
        """
        return cast("list[Product]", self.query("select * from products where category = ?", category))

    def get_demand(self, product_id: int) -> int:
        """Get the number of units of one product that customers are waiting for.

        Args:
            product_id: The product's id
        """
        return cast("int", self.query(_DEMAND_FOR_PRODUCT, product_id)[0]["units"])
