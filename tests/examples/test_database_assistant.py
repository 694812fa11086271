"""The database assistant: what it asks about, what it changes, and what its queries cannot."""

import runpy
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import Toolkit
from tests.examples.running import EXAMPLES, environment_of

EXAMPLE = EXAMPLES / "database_assistant.py"


def price(folder: Path) -> float:
    """Return what the floor lamp costs."""
    connection = sqlite3.connect(folder / "shop.db")
    try:
        return connection.execute("SELECT price FROM products WHERE name = 'floor lamp'").fetchone()[0]
    finally:
        connection.close()


@pytest.mark.security
@pytest.mark.parametrize(
    ("typed", "said", "expected"),
    [("y\n", "Done: floor lamp costs 178.0", 178.0), ("no\n", "I have changed no price", 89.0)],
)
def test_price_changes_only_when_allowed(tmp_path: Path, typed: str, said: str, expected: float) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE],
        cwd=tmp_path,
        env=environment_of(),
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "set_price {'product': 'floor lamp', 'price': 178.0}: allow it? [y/N]" in done.stdout
    assert said in done.stdout
    assert price(tmp_path) == expected


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE products SET price = 0",
        "INSERT INTO products VALUES ('sofa', 1, 1)",
        "WITH all_names AS (SELECT name FROM products) DELETE FROM products WHERE name IN all_names",
        "DROP TABLE products",
        "ATTACH 'other.db' AS other",
        "PRAGMA user_version = 7",
        "VACUUM INTO 'copy.db'",
    ],
)
def test_query_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, statement: str) -> None:
    monkeypatch.setenv("SHOP", str(tmp_path / "shop.db"))
    monkeypatch.chdir(tmp_path)
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def note(path: str) -> sqlite3.Connection:
        connection = connect(path, check_same_thread=False)
        opened.append(connection)
        return connection

    monkeypatch.setattr(sqlite3, "connect", note)
    example: dict[str, Any] = runpy.run_path(str(EXAMPLE))

    with Toolkit([example["query"]]) as toolkit:
        refused = toolkit.execute(f"query({statement!r})")
        rows = toolkit.execute("query('SELECT name, price FROM products ORDER BY price')").return_value

    for connection in opened:  # of the named thread, which outlives the test
        connection.close()
    assert "authoriz" in str(refused.error)
    assert rows == [
        {"name": "desk lamp", "price": 39.5},
        {"name": "floor lamp", "price": 89.0},
        {"name": "desk", "price": 240.0},
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["shop.db"]
