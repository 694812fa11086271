"""Checking the rows outside of single runs: numbers, contents and the format of a journal's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ez_ptc.errors import JournalCorruptError
from ez_ptc.journal.chain import content_hash, pruned_hash
from ez_ptc.journal.storage.tables import READER
from ez_ptc.schema.safe_repr import safe_repr

if TYPE_CHECKING:
    import sqlite3

__all__ = ["verify_rest"]

# Each finds a number that is in one table only, or in both; the numbers of runs begin with 1.
_NUMBERS: Final = """
    SELECT number FROM (SELECT number FROM runs UNION ALL SELECT number FROM pruned)
"""
_SEQUENCE: Final = "SELECT name, seq FROM sqlite_sequence LIMIT 2"
# What each query finds is a hash that should not be there.
_CONTENT_PROBLEMS: Final = {
    "uses was removed": (
        "SELECT content FROM (SELECT run, content FROM events WHERE content IS NOT NULL EXCEPT"
        " SELECT run, content FROM uses) LIMIT 1"
    ),
    "uses was added": (
        "SELECT content FROM (SELECT run, content FROM uses EXCEPT SELECT run, content FROM events) LIMIT 1"
    ),
    "contents was added": "SELECT hash FROM contents EXCEPT SELECT content FROM uses LIMIT 1",
}


def verify_rest(database: sqlite3.Connection) -> None:
    """Check all but the runs. Raises JournalCorruptError, naming the first bad row."""
    if database.execute("SELECT id, reader FROM format").fetchall() != [(1, READER)]:
        _raise_bad("the row of the table format is missing or was changed")
    for (number,) in database.execute("SELECT number FROM runs WHERE number < 1 LIMIT 1").fetchall():
        _raise_bad(f"row {number} of the table runs was added or changed: its number is not positive")
    _verify_numbers(database)
    for problem, query in _CONTENT_PROBLEMS.items():
        for (content,) in database.execute(query).fetchall():
            _raise_bad(f"a row of the table {problem}: {_hex(content)}")
    for table, *_ in database.execute("PRAGMA foreign_key_check"):
        _raise_bad(f"a row of the table {table} was added: it belongs to no run")
    for own_hash, data in database.execute("SELECT hash, data FROM contents"):
        if content_hash(data) != own_hash:
            _raise_bad(f"a row of the table contents was changed: {_hex(own_hash)}")


def _verify_numbers(database: sqlite3.Connection) -> None:
    """Check that no run is missing, but for those that were pruned."""
    columns: tuple[object, ...]
    for columns in database.execute("SELECT number, id, time, hash FROM pruned"):
        number, run_id, seconds, own_hash = columns
        is_typed = isinstance(number, int) and isinstance(run_id, str) and isinstance(seconds, float)
        if not is_typed or own_hash != pruned_hash(number, run_id, seconds):
            _raise_bad(f"row {number} of the table pruned was changed or added")
    sequence = database.execute(_SEQUENCE).fetchall()
    last = 0
    if sequence:
        ((name, last),) = sequence[:1]
        if len(sequence) > 1 or name != "runs" or type(last) is not int:
            _raise_bad("a row of the table sqlite_sequence was changed or added: it is not the number of the last run")
    expected = 1
    for (number,) in database.execute(f"{_NUMBERS} ORDER BY number"):
        if number < expected:
            _raise_bad(f"row {number} of the table pruned was changed or added")
        if number > expected:
            break
        expected += 1
    if expected != last + 1:
        _raise_bad(f"row {min(expected, last + 1)} of the table runs was removed or added, though not by prune()")


def _hex(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else safe_repr(value)


def _raise_bad(message: str) -> None:
    raise JournalCorruptError(message)
