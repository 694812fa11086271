"""The demo's shop: a SQLite file of customers, products and orders, and the tools that query it."""

import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar, cast

from ez_ptc.tools.tool import ez_tool

if TYPE_CHECKING:
    from ez_ptc.tools.tool import Tool

__all__ = ["Customer", "Order", "OrderLine", "Product", "Shop"]

_Row = TypeVar("_Row")

_TABLES: Final = """
create table customers (id integer primary key, name text not null, city text not null) strict;
create table products (
    id integer primary key, name text not null, category text not null, price real not null, stock integer not null
) strict;
create table orders (
    id integer primary key, customer_id integer not null references customers, date text not null, status text not null
) strict;
create table order_lines (
    order_id integer not null references orders, product_id integer not null references products,
    quantity integer not null, primary key (order_id, product_id)
) strict;
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
_STATUSES: Final = ("delivered", "delivered", "delivered", "open", "open", "cancelled")
_ORDERS: Final = 40
_FIRST_ORDER: Final = 1001
_SEED: Final = 2026

_ORDER: Final = """
select orders.id, customer_id, date, status, round(sum(quantity * price), 2) as total
from orders join order_lines on order_id = orders.id join products on products.id = product_id
"""


class Customer(TypedDict):
    """A customer as the tools show one."""

    id: int
    name: str
    city: str


class Product(TypedDict):
    """A product as the tools show one; the price is in euros."""

    id: int
    name: str
    category: str
    price: float
    stock: int


class Order(TypedDict):
    """An order as the tools show one; the total is in euros."""

    id: int
    customer_id: int
    date: str
    status: str
    total: float


class OrderLine(TypedDict):
    """One product of an order as the tools show it."""

    product_id: int
    quantity: int


class Shop:
    """A shop whose data lie in the SQLite file `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path) -> "Shop":
        """Write the shop's data, the same in every run, to a new SQLite file at `path`."""
        with closing(sqlite3.connect(path)) as database, database:
            database.executescript(_TABLES)
            database.executemany("insert into customers values (?, ?, ?)", _CUSTOMERS)
            database.executemany("insert into products values (?, ?, ?, ?, ?)", _PRODUCTS)
            _insert_orders(database)
        return cls(path)

    def tools(self) -> "list[Tool]":
        """Return what a model may ask of the shop."""
        return [
            ez_tool(self.list_customers),
            ez_tool(self.list_products),
            ez_tool(self.list_customer_orders),
            ez_tool(self.list_order_lines),
            ez_tool(self.get_product),
            ez_tool(self.count_open_units),
        ]

    def query(self, sql: str, *values: object) -> list[dict[str, object]]:
        """Return the rows of a query as records."""
        with self._connection() as database:
            return [dict(row) for row in database.execute(sql, values)]

    def list_customers(self) -> list[Customer]:
        """List all customers."""
        return self._rows(Customer, "select * from customers order by id")

    def list_products(self) -> list[Product]:
        """List all products with their price in euros and the units in stock."""
        return self._rows(Product, "select * from products order by id")

    def list_customer_orders(self, customer_id: int) -> list[Order]:
        """List the orders of one customer, each with its total in euros.

        The status of an order is "open", "delivered" or "cancelled".
        """
        return self._rows(Order, f"{_ORDER} where customer_id = ? group by orders.id order by orders.id", customer_id)

    def list_order_lines(self, order_id: int) -> list[OrderLine]:
        """List which products one order has, and how many units of each."""
        sql = "select product_id, quantity from order_lines where order_id = ? order by product_id"
        return self._rows(OrderLine, sql, order_id)

    def get_product(self, product_id: int) -> Product:
        """Get one product."""
        return self._rows(Product, "select * from products where id = ?", product_id)[0]

    def count_open_units(self, product_id: int) -> int:
        """Count the units of a product that customers wait for in open orders."""
        return 0

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            yield database

    def _rows(self, kind: type[_Row], sql: str, *values: object) -> list[_Row]:
        del kind
        return cast("list[_Row]", self.query(sql, *values))


def _insert_orders(database: sqlite3.Connection) -> None:
    numbers = random.Random(_SEED)  # noqa: S311 - sample data, the same in every run

    def below(count: int) -> int:
        # `random()` is the one method whose numbers Python promises never to change for a seed.
        return int(numbers.random() * count)

    for order in range(_FIRST_ORDER, _FIRST_ORDER + _ORDERS):
        date = f"2026-{1 + below(6):02}-{1 + below(28):02}"
        values = (order, 1 + below(len(_CUSTOMERS)), date, _STATUSES[below(len(_STATUSES))])
        database.execute("insert into orders values (?, ?, ?, ?)", values)
        chosen = {1 + below(len(_PRODUCTS)) for _ in range(1 + below(3))}
        lines = [(order, product, 1 + below(4)) for product in sorted(chosen)]
        database.executemany("insert into order_lines values (?, ?, ?)", lines)
