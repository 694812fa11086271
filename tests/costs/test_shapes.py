"""Hostile files of shapes cost time and memory linear in their size, up to a bound."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ez_ptc import ShapesError, ez_tool
from ez_ptc.toolkit.shapes.file import ShapeFile
from ez_ptc.toolkit.shapes.observed import ShapeKey
from ez_ptc.toolkit.shapes.observing import ResultObserver, ShapeMemory
from ez_ptc.toolkit.shapes.stored import load_shape
from tests.costs.growth import check_growth

pytestmark = pytest.mark.security


@ez_tool
def find_order(number: int) -> dict[str, Any]:
    """Find an order."""
    return {"id": number}


KEY = ShapeKey.of(find_order)


def _nested(width: int, depth: int) -> str:
    inner = _nested(width, depth - 1) if depth else '{"kinds":["int"]}'
    fields = ",".join(f'"{letter}":{inner}' for letter in "abcdefghijkl"[:width])
    return f'{{"kinds":["str"],"fields":{{{fields}}},"values":{{"kinds":["int"]}},"optional":["a"]}}'


Rows = Iterator[tuple[str, str, int, str, int]]
ROWS: dict[str, Callable[[int], Rows]] = {
    "rows of other tools": lambda size: (("other", str(n), 1, "{}", 0) for n in range(size)),
    "long rows of other tools": lambda size: (("other", str(n), 1, "x" * 60_000, 0) for n in range(size // 100)),
    "rows of another version of the tool": lambda size: (("find_order", str(n), 1, "{}", 0) for n in range(size)),
    "one row of any length": lambda size: iter([(*_names(), 1, "x" * size * 1_000, 0)]),
    "one row of many parts": lambda size: iter([(*_names(), 1, f'{{"items":{"[{}]," * size}', 0)]),
    "one row of many kinds": lambda size: iter([(*_names(), 1, f'{{"kinds":[{"1," * size}1]}}', 0)]),
    "a name of any length": lambda size: iter([("x" * size * 1_000, "d", 1, "{}", 0)]),
    "long names": lambda size: (("x" * 700 + str(n), "d", 1, "{}", 0) for n in range(size)),
}


def _names() -> tuple[str, str]:
    assert KEY is not None
    return KEY


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_using_a_hostile_file_takes_linear_time(rows: Callable[[int], Rows], tmp_path: Path) -> None:
    numbers = count()

    def make(size: int) -> Path:
        path = tmp_path / f"{next(numbers)}.db"
        ShapeFile(path).create()
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.executemany("INSERT INTO shapes VALUES (?, ?, ?, ?, ?)", rows(size))
        return path

    def run(path: Path) -> None:
        with contextlib.suppress(ShapesError):
            ShapeFile(path).read()
        observer = ResultObserver([find_order], ShapeMemory(ShapeFile(path)))
        observer.observe("find_order", {"id": 1}, 1)
        with contextlib.suppress(UserWarning):
            observer.settle()

    check_growth(make, run, start=500, most=4_000, bytes_each=10_000)


def test_costly_rows_are_read_up_to_a_bound(tmp_path: Path) -> None:
    file = ShapeFile(tmp_path / "shapes.db")
    file.create()
    costly = _nested(4, 3)
    load_shape(costly)
    with contextlib.closing(sqlite3.connect(file.path)) as database, database:
        rows = ((f"tool{number}", "d", 1, costly, 0) for number in range(1_000))
        database.executemany("INSERT INTO shapes VALUES (?, ?, ?, ?, ?)", rows)
    assert sum(observed is not None for observed in file.read().values()) < 400
