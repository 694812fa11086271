"""The demo's shop: a real SQLite file, the same in every run."""

import sqlite3
from pathlib import Path

import pytest

from examples.demo.shop import Shop
from ez_ptc.toolkit.toolkit import Toolkit

TABLES = ("customers", "products", "orders", "order_lines")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A new shop."""
    return Shop.create(tmp_path / "shop.db")


def test_the_shop_is_the_same_in_every_run(shop: Shop, tmp_path: Path) -> None:
    other = Shop.create(tmp_path / "other.db")
    for table in TABLES:
        rows = shop.query(f"select * from {table}")
        assert rows
        assert rows == other.query(f"select * from {table}")


def test_shop_numbers_are_independent_of_interpreter(shop: Shop) -> None:
    assert shop.query("select count(*) as lines, sum(quantity) as units from order_lines") == [
        {"lines": 76, "units": 201}
    ]


def test_every_order_has_a_customer_and_products(shop: Shop) -> None:
    sql = """
        select count(*) as number from orders where customer_id not in (select customer_id from customers)
        or order_id not in (select order_id from order_lines join products using (product_id))
    """
    assert shop.query(sql) == [{"number": 0}]


def test_the_tools_only_read(shop: Shop) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        shop.query("delete from orders")


def test_the_tools_agree_with_the_tables(shop: Shop) -> None:
    (ada,) = [customer for customer in shop.find_customers("Lisbon") if customer["name"] == "Ada Moreno"]
    orders = shop.list_orders(ada["customer_id"])
    assert orders
    prices = {str(row["name"]): float(str(row["price"])) for row in shop.query("select name, price from products")}
    for order in orders:
        lines = shop.list_order_lines(order["order_id"])
        assert order["total"] == pytest.approx(sum(line["quantity"] * prices[line["product"]] for line in lines))


def test_demand_counts_open_orders(shop: Shop) -> None:
    (shelf,) = [product for product in shop.find_products("furniture") if product["name"] == "Bookshelf"]
    assert shop.get_demand(shelf["product_id"]) == 13
    assert shop.get_demand(999) == 0


def test_a_program_reaches_the_shop_through_its_tools(shop: Shop) -> None:
    with Toolkit(shop.tools(), assist_tool_chaining=True) as toolkit:
        result = toolkit.execute("print([customer.name for customer in find_customers('Milan')])")
        assert result.output == "['Elena Rossi']\n"
        assert "# Returns: list[{customer_id: int, name: str, city: str}]" in toolkit.prompt()
