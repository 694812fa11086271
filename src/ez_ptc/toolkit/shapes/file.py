"""The SQLite file of shapes: one row for each tool and digest of its schema, readable by its owner only.

A connection is open only while rows are read or written, so none lives through a fork. A row has no names of fields but
those that may be shown; what has been merged into a map leaves none behind: SQLite overwrites what it deletes. Rows of
version 1 had the keys of each result, so they are removed.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ez_ptc._private_files import create_private_file, warn_of_other_users
from ez_ptc.errors import ShapesError
from ez_ptc.toolkit.shapes.observed import MAX_COUNT, LearnedShape, ObservedShape, ShapeKey
from ez_ptc.toolkit.shapes.stored import MAX_STORED, dump_shape, load_shape

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from os import PathLike

__all__ = ["ShapeFile"]

_APPLICATION_ID: Final = 0x657A7368  # "ezsh"
_VERSION: Final = 2
_VERSION_WITH_KEYS: Final = 1
_MAGIC: Final = b"SQLite format 3\0"
_MAX_ROWS: Final = 10_000
_MAX_NAME: Final = 200
# A program's caller waits so long for another process; what is not written is written after the next program.
_WAIT_SECONDS: Final = 0.5
_TABLE: Final = (
    "CREATE TABLE shapes (tool TEXT NOT NULL, digest TEXT NOT NULL, count INTEGER NOT NULL, shape TEXT NOT NULL, "
    "seen INTEGER NOT NULL, PRIMARY KEY (tool, digest))"
)
_WRITE: Final = (
    "INSERT INTO shapes VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET count = excluded.count, shape = excluded.shape, seen = excluded.seen"
)
_READ: Final = (
    "SELECT tool, digest, count, shape FROM shapes WHERE length(tool) <= ? AND length(shape) <= ? "
    "ORDER BY tool, seen DESC LIMIT ?"
)


class ShapeFile:
    """A file of shapes. Any thread and process may use it; each method raises ShapesError if the file is not usable."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path: Final = Path(path).absolute()

    def create(self) -> None:
        """Create the file unless there is one, and check that it is a file of shapes."""
        with self._open():
            warn_of_other_users(self.path)

    def read(self) -> dict[ShapeKey, ObservedShape]:
        """Return all shapes, by tool; rows that are damaged are left out."""
        with self._open() as database:
            rows = database.execute(_READ, (_MAX_NAME, MAX_STORED, _MAX_ROWS)).fetchall()
        found: dict[ShapeKey, ObservedShape] = {}
        for tool, digest, count, text in rows:
            observed = _load(count, text)
            if observed is not None and isinstance(tool, str) and isinstance(digest, str):
                found[ShapeKey(tool, digest)] = observed
        return found

    def merge(self, learned: Mapping[ShapeKey, LearnedShape]) -> dict[ShapeKey, LearnedShape]:
        """Add what was learned to the shapes of the file, in one transaction, and return what is known then."""
        merged: dict[ShapeKey, LearnedShape] = {}
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            for key, shape in learned.items():
                found = database.execute(
                    "SELECT count, shape FROM shapes WHERE tool = ? AND digest = ?", key
                ).fetchone()
                merged[key] = shape.with_file(None if found is None else _load(*found))
                known = merged[key].known
                merged[key] = replace(merged[key], filed=known, unsaved=0)
                if len(key.tool) <= _MAX_NAME:
                    database.execute(_WRITE, (*key, known.count, dump_shape(known.shape), int(time.time())))
            database.execute(
                "DELETE FROM shapes WHERE rowid IN (SELECT rowid FROM shapes ORDER BY seen DESC LIMIT -1 OFFSET ?)",
                (_MAX_ROWS,),
            )
            database.execute("COMMIT")
        return merged

    def forget(self, tools: Iterable[str] | None = None) -> int:
        """Remove the shapes of these tools, by default of all, and return how many were removed."""
        with self._open() as database:
            if tools is None:
                return database.execute("DELETE FROM shapes").rowcount
            return sum(database.execute("DELETE FROM shapes WHERE tool = ?", (tool,)).rowcount for tool in set(tools))

    @contextlib.contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        try:
            create_private_file(self.path)
            if 0 < self.path.stat().st_size < len(_MAGIC):
                raise ShapesError(self._not_usable("it is not an SQLite database"))
            address = f"{self.path.as_uri()}?mode=rw"
            database = sqlite3.connect(address, uri=True, timeout=_WAIT_SECONDS, isolation_level=None)
            with contextlib.closing(database):
                self._prepare(database)
                yield database
        except OSError as error:
            message = f"cannot use the shapes file {self.path}: {error.strerror}; give another path"
            raise ShapesError(message) from error
        except sqlite3.Error as error:
            raise ShapesError(self._not_usable(str(error))) from error

    def _prepare(self, database: sqlite3.Connection) -> None:
        """Set up a connection, and the table of a new file or of one of an earlier version."""
        for setting in ("trusted_schema = OFF", "cell_size_check = ON", "secure_delete = ON", "synchronous = OFF"):
            database.execute(f"PRAGMA {setting}").fetchall()
        if self._is_ready(database):
            return
        database.execute("BEGIN IMMEDIATE")
        if not self._is_ready(database):  # another process may have made the table
            database.execute("DROP TABLE IF EXISTS shapes")
            database.execute(_TABLE)
            database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute("COMMIT")

    def _is_ready(self, database: sqlite3.Connection) -> bool:
        """Return whether the file has its table, or False if it is empty or of an earlier version."""
        ((application_id,),) = database.execute("PRAGMA application_id").fetchall()
        ((version,),) = database.execute("PRAGMA user_version").fetchall()
        schema = database.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 2").fetchall()
        if not application_id and not schema:
            return False
        if application_id != _APPLICATION_ID:
            raise ShapesError(self._not_usable("it is another application's database"))
        if version not in {_VERSION, _VERSION_WITH_KEYS} or schema != [(_TABLE,)]:
            raise ShapesError(self._not_usable(f"expected version {_VERSION} of its table, got another one"))
        return version == _VERSION

    def _not_usable(self, reason: str) -> str:
        return f"{self.path} is not a usable file of shapes: {reason}; give the path of another file"


def _load(count: object, text: object) -> ObservedShape | None:
    """Return a row's shape, or None if the row is damaged."""
    if not isinstance(count, int) or not 0 < count <= MAX_COUNT:
        return None
    try:
        return ObservedShape(count, load_shape(text))
    except (ValueError, RecursionError):
        return None
