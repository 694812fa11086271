"""The tables of the journal's file, and its versions.

A new file gets the tables of version 1 and then every migration, as an older file does. So there is one definition of
each table, and both have the same schema, to the letter.
"""

from __future__ import annotations

import contextlib
import sqlite3
from functools import cache
from typing import Final

__all__ = ["APPLICATION_ID", "READER", "VERSION", "create_tables", "expected_schema", "migrate", "reader_of", "schema"]

# "EzPj": the application id in the file's header.
APPLICATION_ID: Final = 0x457A506A
_VERSION_1: Final = """
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, session TEXT NOT NULL,
        state TEXT NOT NULL, created REAL NOT NULL, changed REAL NOT NULL,
        epoch INTEGER NOT NULL, owner TEXT NOT NULL, events INTEGER NOT NULL, head BLOB NOT NULL
    ) STRICT;
    CREATE INDEX runs_of_sessions ON runs (session) WHERE session != '';
    CREATE TABLE events (
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE, position INTEGER NOT NULL,
        kind TEXT NOT NULL, path TEXT NOT NULL, time REAL NOT NULL, data BLOB NOT NULL,
        payload BLOB, content BLOB, hash BLOB NOT NULL, PRIMARY KEY (run, position)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE contents (hash BLOB PRIMARY KEY, data BLOB NOT NULL) STRICT;
    CREATE TABLE uses (
        run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        content BLOB NOT NULL REFERENCES contents (hash), PRIMARY KEY (content, run)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE pruned (number INTEGER PRIMARY KEY, id TEXT NOT NULL, time REAL NOT NULL, hash BLOB NOT NULL) STRICT;
    CREATE TABLE commits (id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL) STRICT;
    INSERT INTO commits VALUES (1, 0)
"""
# Each brings a file from the version before to its own; the name is that of the first library that reads it.
_MIGRATIONS: Final = (
    # `is_open` tells a copy of the file alone, taken while its last records were in the log, from the whole.
    # `runs_of_states` finds the runs of a page, and `uses_of_runs` those that `prune` removes, without reading all.
    (
        "1.0.0",
        """
        ALTER TABLE commits ADD COLUMN is_open INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE format (id INTEGER PRIMARY KEY CHECK (id = 1), reader TEXT NOT NULL) STRICT;
        INSERT INTO format VALUES (1, '');
        CREATE INDEX runs_of_states ON runs (state);
        CREATE INDEX uses_of_runs ON uses (run)
        """,
    ),
    # The tables stay as they are. Events have more in them: the limit `program`, the rules for repairing sources,
    # slices and progress. Earlier libraries would claim such runs before they found what they cannot read.
    ("1.1.0", ""),
    # Pictures are events, and each is recorded once. Earlier libraries would not find those of a result.
    ("1.2.0", ""),
    # The calls of a run with an id of the caller's choice have its own idempotency keys. Earlier libraries would repeat
    # them under others.
    ("1.3.0", ""),
)
VERSION: Final = 1 + len(_MIGRATIONS)
READER: Final = _MIGRATIONS[-1][0]


def create_tables(database: sqlite3.Connection) -> None:
    """Create the tables in an empty file, within a transaction."""
    for statement in _VERSION_1.split(";"):
        database.execute(statement)
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrate(database, 1)


def migrate(database: sqlite3.Connection, version: int) -> None:
    """Bring the tables from an earlier version to the present one, within a transaction."""
    for reader, statements in _MIGRATIONS[version - 1 :]:
        for statement in statements.split(";"):
            database.execute(statement)
        database.execute("UPDATE format SET reader = ?", (reader,))
    database.execute(f"PRAGMA user_version = {VERSION}")


def reader_of(database: sqlite3.Connection) -> str:
    """Return the first version of ez-ptc to read the file of a later one, or other words for it."""
    with contextlib.suppress(sqlite3.Error):
        for (reader,) in database.execute("SELECT reader FROM format").fetchall():
            if isinstance(reader, str) and reader not in {name for name, _ in _MIGRATIONS}:
                return f"{reader} or later"
    return "the one that wrote it"


def schema(database: sqlite3.Connection) -> set[tuple[str, str]]:
    """Return the names and definitions in a file."""
    rows = database.execute("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    return {(name, text) for name, text in rows}


@cache
def expected_schema() -> frozenset[tuple[str, str]]:
    """Return the names and definitions in an intact file."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        create_tables(database)
        return frozenset(schema(database))
