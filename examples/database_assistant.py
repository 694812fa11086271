"""A database assistant: it reads an SQLite file as it likes, and asks you before it changes a row.

python examples/database_assistant.py                            # a script stands in for a model
EZ_PTC_MODEL=anthropic python examples/database_assistant.py "Which products have sold out?"
"""

import os
import sqlite3
import sys
import threading
from typing import Any

from ez_ptc import PendingCall, Prompt, ScriptedProvider, ToolCall, Toolkit, ToolResultMessage, ez_tool, llm

READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
connections = threading.local()


def database() -> sqlite3.Connection:
    """Return the connection of this thread, with a few products if the file is new."""
    if not hasattr(connections, "database"):
        connection = connections.database = sqlite3.connect(os.environ.get("SHOP", "shop.db"))
        connection.row_factory = sqlite3.Row
        with connection:
            connection.execute("CREATE TABLE IF NOT EXISTS products (name TEXT UNIQUE, price REAL, stock INT)")
            products = [("desk lamp", 39.5, 4), ("floor lamp", 89.0, 0), ("desk", 240.0, 2)]
            connection.executemany("INSERT OR IGNORE INTO products VALUES (?, ?, ?)", products)
    return connections.database


def allow_reads(action: int, *_: str | None) -> int:
    """Let SQLite itself refuse every statement that is more than a query."""
    return sqlite3.SQLITE_OK if action in READS else sqlite3.SQLITE_DENY


@ez_tool(thread="db", timeout=10, read_only=True)
def query(sql: str) -> list[dict[str, Any]]:
    """Return the first 200 rows of a SELECT on the table products (name, price, stock).

    Args:
        sql: e.g. "SELECT name FROM products WHERE stock = 0"
    """
    database().set_authorizer(allow_reads)
    try:
        return [dict(row) for row in database().execute(sql).fetchmany(200)]
    finally:
        database().set_authorizer(None)


@ez_tool(thread="db", timeout=10, requires_approval=True)
def set_price(product: str, price: float) -> int:
    """Set the price of a product, in euros, and return the number of changed rows."""
    with database() as connection:
        return connection.execute("UPDATE products SET price = ? WHERE name = ?", [price, product]).rowcount


def ask(call: PendingCall) -> bool:
    """Ask the person at the terminal about a call."""
    return input(f"{call.tool} {call.arguments}: allow it? [y/N] ") == "y"


PROGRAM = """
for row in query("SELECT name, price FROM products WHERE stock = 0"):
    set_price(row.name, row.price * 2)
    print(row.name, "costs", row.price * 2)
"""


def report(prompt: Prompt) -> str:
    """Say what came of the program, as a model would."""
    result = prompt.entries[-1]
    assert isinstance(result, ToolResultMessage)
    if result.success:
        return f"Done: {result.result}".strip()
    return "I have changed no price, as you wish."


SCRIPT = ScriptedProvider(ToolCall("", "execute_tools", {"code": PROGRAM}), report)


def main() -> None:
    """Answer the question of the command line."""
    question = " ".join(sys.argv[1:]) or "Double the price of what has sold out."
    with Toolkit([query, set_price], approve=ask) as toolkit:
        print(llm().toolkit(toolkit).provider(os.environ.get("EZ_PTC_MODEL") or SCRIPT).prompt(question))


if __name__ == "__main__":
    main()
