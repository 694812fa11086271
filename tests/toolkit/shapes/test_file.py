"""Files of shapes that are locked, damaged, hostile, or shared with a fork."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from ez_ptc import ShapesError, Toolkit, ez_tool
from ez_ptc.toolkit.shapes.file import ShapeFile
from ez_ptc.toolkit.shapes.observed import MAX_COUNT, LearnedShape, ShapeKey
from ez_ptc.toolkit.shapes.observing import ResultObserver, ShapeMemory
from ez_ptc.toolkit.shapes.reading import shape_of
from ez_ptc.toolkit.shapes.stored import MAX_STORED
from ez_ptc.toolkit.shapes.witnesses import Witness

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EMPTY = b'{"kinds":[]}'


@ez_tool
def find_order(number: int) -> dict[str, Any]:
    """Find an order."""
    return {"id": number, "note": "x"}


@ez_tool
def find_ages(number: int) -> dict[str, Any]:
    """Find ages by address."""
    return {"ann@shop.example": number}


TOOLS = [find_order, find_ages]
_ORDER, _AGES = map(ShapeKey.of, TOOLS)
assert _ORDER is not None
assert _AGES is not None
ORDER, AGES = _ORDER, _AGES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with five results of each tool, in a folder of its own."""
    folder = tmp_path / "folder"
    folder.mkdir()
    observer = observe(folder / "shapes.db")
    observer.settle()
    return folder / "shapes.db"


def observe(path: Path, count: int = 5) -> ResultObserver:
    """Return an observer, as of a process of its own, that has seen some results of both tools."""
    observer = ResultObserver(TOOLS, ShapeMemory(ShapeFile(path)))
    for number in range(count):
        observer.observe("find_order", find_order(number), number)
        observer.observe("find_ages", find_ages(number), number)
    return observer


def counts(path: Path) -> dict[str, int | None]:
    """Return the number of results of each tool in a file, None for rows that are not readable."""
    stored = ShapeFile(path).read()
    return {key.tool: observed and observed.count for key, observed in stored.items()}


def change(path: Path, sql: str, *values: object) -> None:
    """Change a file of shapes as no toolkit does."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(sql, values)


def settle(observer: ResultObserver) -> list[str]:
    """End a program, and return the warnings of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        observer.settle()
    return [str(warning.message) for warning in caught]


def nest(depth: int) -> bytes:
    """Return a stored shape of records with ten fields on so many levels."""
    inner = nest(depth - 1) if depth else EMPTY
    return b'{"fields":{%s}}' % b",".join(b'"%c":%s' % (letter, inner) for letter in b"abcdefghij")


UNREADABLE: dict[str, tuple[str, bytes]] = {
    "no UTF-8": ("UPDATE shapes SET shape = CAST(? AS TEXT)", b'{"kinds":["\xff"]}'),
    "a NUL before what is too long": ("UPDATE shapes SET shape = CAST(? AS TEXT)", b"\0" + b"x" * 10**6),
    "a little too long": ("UPDATE shapes SET shape = CAST(? AS TEXT)", EMPTY + b" " * MAX_STORED),
    "too many parts": ("UPDATE shapes SET shape = CAST(? AS TEXT)", nest(2)),
    "a name that is not shown": ("UPDATE shapes SET shape = CAST(? AS TEXT)", b'{"fields":{"call_pay_with_ann":{}}}'),
    "a count that is too large": (f"UPDATE shapes SET shape = CAST(? AS TEXT), count = {MAX_COUNT + 1}", EMPTY),
    "a count of nothing": ("UPDATE shapes SET shape = CAST(? AS TEXT), count = 0", EMPTY),
    "a count that is a text": ("UPDATE shapes SET shape = CAST(? AS TEXT), count = 'many'", EMPTY),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable_row_is_named_once_and_replaced(case: str, path: Path) -> None:
    sql, value = UNREADABLE[case]
    change(path, f"{sql} WHERE tool = 'find_order'", value)
    assert counts(path) == {"find_ages": 5, "find_order": None}

    observer = observe(path, 1)
    assert observer.texts()["find_ages"] == "Returns (observed 6 times): dict[str, int]"
    assert [text.partition(", so ")[2] for text in settle(observer)] == [
        "these tools are learned from the start: find_order"
    ]
    assert settle(observer) == []
    assert counts(path) == {"find_ages": 6, "find_order": 1}


@pytest.mark.parametrize("column", ["tool", "digest"])
@pytest.mark.parametrize("value", ["CAST(x'66ff' AS TEXT)", "x'66ff'", "char(0)", "''"])
def test_rows_of_strange_names_do_not_count(value: str, column: str, path: Path) -> None:
    change(path, f"UPDATE shapes SET {column} = {value} WHERE tool = 'find_order'")
    observer = observe(path, 1)
    assert settle(observer) == []
    stored = ShapeFile(path).read()
    assert [stored[key] and stored[key].count for key in (ORDER, AGES)] == [1, 6]  # pyright: ignore[reportOptionalMemberAccess] - not None


def test_row_that_becomes_unreadable_is_written_again(path: Path) -> None:
    observer = observe(path, 1)
    observer.settle()
    change(path, "UPDATE shapes SET shape = CAST(x'ff' AS TEXT)")
    for name in ("find_order", "find_ages"):
        observer.observe(name, {"id": 1, "note": "x"}, 7)
    assert counts(path) == {"find_ages": None, "find_order": None}
    settle(observer)
    assert counts(path) == {"find_ages": 7, "find_order": 7}


def lock(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    return database


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def remove_folder(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()


FAILURES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a lock": (lock, "another process has locked it"),
    "other content": (lambda path: path.write_bytes(b"by someone else" * 100), "not a database"),
    "a few bytes": (lambda path: path.write_bytes(b"by"), "not an SQLite database"),
    "half of it": (lambda path: os.truncate(path, path.stat().st_size // 2), "malformed"),
    "damaged pages": (lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 8192), "malformed"),
    "too many bytes": (lambda path: os.truncate(path, 1 << 31), "it is larger than 1,073,741,824 bytes"),
    "a folder": (replace_by_folder, "not a regular file"),
    "a pipe": (replace_by_pipe, "not a regular file"),
    "no folder": (remove_folder, "No such file"),
    "a device": (lambda path: (path.unlink(), path.symlink_to("/dev/full")), "not a regular file"),
    "a link to itself": (lambda path: (path.unlink(), path.symlink_to(path)), "symbolic links"),
    "another table": (lambda path: change(path, "CREATE TABLE more (id)"), "expected version 2 of its table"),
    "no table": (lambda path: change(path, "DROP TABLE shapes"), "expected version 2 of its table"),
    "a table of no UTF-8": (
        lambda path: path.write_bytes(path.read_bytes().replace(b"seen INTEGER", b"see\xff INTEGER")),
        "expected version 2 of its table",
    ),
    "a table whose name is no UTF-8": (
        lambda path: path.write_bytes(path.read_bytes().replace(b"shapesshapes", b"shape\xffshape\xff")),
        "it has text that is not UTF-8",
    ),
    "a long name": (lambda path: change(path, "UPDATE shapes SET tool = ?", "x" * 801), "more than 200 characters"),
    "a longer name": (lambda path: change(path, "UPDATE shapes SET tool = ?", "x" * 10**6), "too big"),
    "a long digest": (lambda path: change(path, "UPDATE shapes SET digest = ?", "x" * 801), "more than 200 characters"),
    "many rows": (
        lambda path: change(
            path,
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) "
            "INSERT INTO shapes SELECT 'tool', i, 1, '{}', 0 FROM n",
        ),
        "more than 10,000 rows",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("moment", ["before the first use", "between programs"])
def test_file_that_fails_leaves_shapes_in_memory(
    moment: str, failure: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ez_ptc.toolkit.shapes.file._WAIT_SECONDS", 0.01)
    fail, reason = FAILURES[failure]
    is_first = moment == "before the first use"
    observer = ResultObserver(TOOLS, ShapeMemory(ShapeFile(path)))
    count = 0
    if not is_first:
        assert observer.describe("find_ages") == "Returns (observed 5 times): dict[str, int]"
        count = 5
    kept = fail(path)

    for number in range(5):
        observer.observe("find_ages", find_ages(number), number)
        caught = settle(observer)
        assert [reason in text for text in caught] == ([True] if number == 0 else []), caught
    assert observer.texts() == {"find_ages": f"Returns (observed {count + 5} times): dict[str, int]"} | (
        {} if is_first else {"find_order": "Returns (observed 5 times): {id: int, note: str}"}
    )
    if isinstance(kept, sqlite3.Connection):
        kept.close()
        observer.observe("find_ages", find_ages(5), 5)
        assert settle(observer) == []
        assert counts(path) == {"find_ages": 11, "find_order": 5}


def test_programs_run_on_a_locked_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ez_ptc.toolkit.shapes.file._WAIT_SECONDS", 0.01)
    other = lock(path)
    with Toolkit(TOOLS, shapes=path) as toolkit:
        assert "find_order" in toolkit.prompt()
        with pytest.warns(UserWarning, match="kept in memory only: .* is in use: another process has locked it"):
            assert toolkit.execute("find_order(1)['id']").return_value == 1
        failed = toolkit.execute("find_order(1)['other']")
        assert "Results of find_order() (observed 2 times): dict" in failed.facts
        assert "find_order" in toolkit.stubs()
        other.close()
    assert counts(path) == {"find_ages": 5, "find_order": 7}


def test_shapes_of_another_application_are_refused(path: Path) -> None:
    change(path, "PRAGMA application_id = 7")
    with pytest.raises(ShapesError, match="another application's database"):
        Toolkit(TOOLS, shapes=path)


def test_only_rows_of_wanted_tools_are_read(path: Path) -> None:
    change(path, "UPDATE shapes SET shape = CAST(x'ff' AS TEXT) WHERE tool = 'find_order'")
    assert list(ShapeFile(path).read(AGES.__eq__)) == [AGES]
    observer = ResultObserver([find_ages], ShapeMemory(ShapeFile(path)))
    assert observer.texts() == {"find_ages": "Returns (observed 5 times): dict[str, int]"}
    assert settle(observer) == []


def test_shapes_read_at_a_time_are_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ez_ptc.toolkit.shapes.file._MAX_READ", MAX_STORED + 150)
    change(path, "UPDATE shapes SET shape = ?", EMPTY.decode() + " " * (MAX_STORED - len(EMPTY)))
    assert counts(path) == {"find_ages": 5, "find_order": None}


def test_oldest_rows_are_removed_from_a_full_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ez_ptc.toolkit.shapes.file._MAX_ROWS", 3)
    change(path, "UPDATE shapes SET seen = 1 WHERE tool = 'find_order'")
    file = ShapeFile(path)
    for number in range(2):
        file.merge({ShapeKey(f"tool{number}", "d"): LearnedShape().after(shape_of(1))})
    assert list(counts(path)) == ["find_ages", "tool0", "tool1"]


def test_long_name_of_a_tool_is_not_written(path: Path) -> None:
    learned = LearnedShape().after(shape_of({"id": 1}, Witness(0, 0)))
    ShapeFile(path).merge({ShapeKey("x" * 200, "d"): learned, ShapeKey("y" * 201, "d"): learned})
    assert [name[:1] for name in counts(path)] == ["f", "f", "x"]


def test_fork_does_not_count_the_results_of_its_parent(path: Path) -> None:
    observer = observe(path, 3)
    pid = os.fork()
    if not pid:
        observer.settle()  # nothing of its own
        observer.observe("find_order", find_order(1), 1)
        observer.settle()
        os._exit(counts(path) != {"find_ages": 5, "find_order": 6})
    assert os.waitpid(pid, 0)[1] == 0
    observer.settle()
    assert counts(path) == {"find_ages": 8, "find_order": 9}


def test_process_forks_only_between_uses_of_the_file(path: Path) -> None:
    """A fork in the middle of one inherited SQLite's locks."""
    memory = ShapeMemory(ShapeFile(path))
    begun, statuses = threading.Event(), list[int]()

    def fork() -> None:
        begun.set()
        pid = os.fork()
        if not pid:
            os._exit(not memory.lock.acquire(blocking=False))
        statuses.append(os.waitpid(pid, 0)[1])

    forking = threading.Thread(target=fork)
    with memory.lock:  # as a thread holds it for the time of a use
        forking.start()
        assert begun.wait(60)
        forking.join(0.05)
        assert statuses == []
    forking.join(60)
    assert statuses == [0]
