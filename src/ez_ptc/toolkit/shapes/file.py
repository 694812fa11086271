"""The SQLite file of shapes: one row for each tool and digest of its schema, readable by its owner only.

A connection is open only while rows are read or written. A row has no names of fields but those that may be shown; what
has been merged into a map leaves none behind: SQLite overwrites what it deletes. Rows of version 1 had the keys of each
result, so they are removed.

The file may be hostile. No row of more than `_MAX_ROW_BYTES` is read, text is decoded row by row, and a row that is not
readable is left out. A file of more rows or longer names than this class writes is not used: SQLite would read all of
them for each row that is looked up.
"""

from __future__ import annotations

import contextlib
import sqlite3
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ez_ptc._private_files import create_private_file, warn_of_other_users
from ez_ptc.errors import ShapesError
from ez_ptc.toolkit.shapes.observed import MAX_COUNT, LearnedShape, ObservedShape, ShapeKey
from ez_ptc.toolkit.shapes.stored import MAX_STORED, dump_shape, load_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from os import PathLike

__all__ = ["ShapeFile"]

_APPLICATION_ID: Final = 0x657A7368  # "ezsh"
_VERSION: Final = 2
_VERSION_WITH_KEYS: Final = 1
_MAGIC: Final = b"SQLite format 3\0"
_MAX_ROWS: Final = 10_000
_MAX_NAME: Final = 200
_MAX_ROW_BYTES: Final = 2 * MAX_STORED
# All rows of the maximum length, and SQLite's pages around them.
_MAX_BYTES: Final = 1 << 30
# What is read at a time, in characters: 10,000 usual rows, and 2 s of CPU time for hostile ones. To check a part takes
# as long as to parse so many characters.
_MAX_READ: Final = 1 << 24
_CHARACTERS_OF_PART: Final = 64
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
_FIND: Final = "SELECT count, shape FROM shapes WHERE tool = ? AND digest = ?"
_NAMES: Final = (
    "SELECT tool, digest FROM shapes WHERE typeof(tool) = 'text' AND typeof(digest) = 'text' ORDER BY tool, digest"
)
_IS_FULL: Final = "SELECT 1 FROM shapes LIMIT 1 OFFSET ?"
_REMOVE_OLDEST: Final = (
    "DELETE FROM shapes WHERE rowid IN (SELECT rowid FROM shapes ORDER BY seen DESC LIMIT -1 OFFSET ?)"
)
# As a BLOB, since the length of a text ends at its first NUL.
_HAS_LONG_NAME: Final = (
    "SELECT 1 FROM shapes WHERE length(CAST(tool AS BLOB)) > ? OR length(CAST(digest AS BLOB)) > ? LIMIT 1"
)


class ShapeFile:
    """A file of shapes. Any thread and process may use it; each method raises ShapesError if the file is not usable."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path: Final = Path(path).absolute()

    def create(self) -> None:
        """Create the file unless there is one, and check that it is a file of shapes, unless it is locked just now."""
        try:
            with self._open():
                warn_of_other_users(self.path)
        except ShapesError as error:
            if not _is_locked(error.__cause__):
                raise

    def read(self, is_wanted: Callable[[ShapeKey], bool] = lambda _: True) -> dict[ShapeKey, ObservedShape | None]:
        """Return the shapes of the wanted tools in the order of their names; None for a row that is not readable."""
        observed: dict[ShapeKey, ObservedShape | None] = {}
        left = _MAX_READ
        with self._open() as database:
            database.execute("BEGIN")
            for names in database.execute(_NAMES).fetchall():
                key = ShapeKey(*(str(name, errors="backslashreplace") for name in names))
                if is_wanted(key):
                    count, shape = _find(database, key) or (None, None)
                    if isinstance(shape, bytes):
                        left -= len(shape) + _CHARACTERS_OF_PART * shape.count(b"{")
                    observed[key] = None if left < 0 else _load(count, shape)
        return observed

    def merge(self, learned: Mapping[ShapeKey, LearnedShape]) -> dict[ShapeKey, LearnedShape]:
        """Add what was learned to the shapes of the file, in one transaction, and return what is known then."""
        merged: dict[ShapeKey, LearnedShape] = {}
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            for key, shape in learned.items():
                row = _find(database, key)
                # A row that has become unreadable is written again.
                filed = ObservedShape() if row is None else _load(*row) or shape.filed
                merged[key] = shape.with_file(filed)
                known = merged[key].known
                merged[key] = replace(merged[key], filed=known, unsaved=0)
                if len(key.tool) <= _MAX_NAME:
                    database.execute(_WRITE, (*key, known.count, dump_shape(known.shape), int(time.time())))
            if database.execute(_IS_FULL, (_MAX_ROWS,)).fetchone():
                database.execute(_REMOVE_OLDEST, (_MAX_ROWS,))
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
            status = self.path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise ShapesError(self._not_usable("it is not a regular file"))
            if 0 < status.st_size < len(_MAGIC):
                raise ShapesError(self._not_usable("it is not an SQLite database"))
            if status.st_size > _MAX_BYTES:
                raise ShapesError(self._not_usable(f"it is larger than {_MAX_BYTES:,} bytes"))
            address = f"{self.path.as_uri()}?mode=rw"
            database = sqlite3.connect(address, uri=True, timeout=_WAIT_SECONDS, isolation_level=None)
            with contextlib.closing(database):
                self._prepare(database)
                yield database
        except OSError as error:
            message = f"cannot use the shapes file {self.path}: {error.strerror}; give another path"
            raise ShapesError(message) from error
        except UnicodeDecodeError as error:  # of a message in which SQLite quotes the file
            raise ShapesError(self._not_usable("it has text that is not UTF-8")) from error
        except sqlite3.Error as error:
            message = self._not_usable(str(error))
            if _is_locked(error):
                message = (
                    f"the shapes file {self.path} is in use: another process has locked it; end that one if it hangs"
                )
            raise ShapesError(message) from error

    def _prepare(self, database: sqlite3.Connection) -> None:
        """Set up a connection, and the table of a new file or of one of an earlier version."""
        database.text_factory = bytes
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_ROW_BYTES)
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
        if version not in {_VERSION, _VERSION_WITH_KEYS} or schema != [(_TABLE.encode(),)]:
            raise ShapesError(self._not_usable(f"expected version {_VERSION} of its table, got another one"))
        if database.execute(_IS_FULL, (_MAX_ROWS,)).fetchone():
            raise ShapesError(self._not_usable(f"it has more than {_MAX_ROWS:,} rows"))
        if database.execute(_HAS_LONG_NAME, (4 * _MAX_NAME,) * 2).fetchone():
            raise ShapesError(self._not_usable(f"the name of a tool has more than {_MAX_NAME} characters"))
        return version == _VERSION

    def _not_usable(self, reason: str) -> str:
        return f"{self.path} is not a usable file of shapes: {reason}; give the path of another file"


def _find(database: sqlite3.Connection, key: ShapeKey) -> tuple[object, object] | None:
    """Return the stored count and shape of a tool, both None if the row is too long, or None for an unknown tool."""
    try:
        return cast("tuple[object, object] | None", database.execute(_FIND, key).fetchone())
    except sqlite3.DataError:  # it is longer than the limit of the connection
        return None, None


def _load(count: object, shape: object) -> ObservedShape | None:
    """Return a row's shape, or None if the row is not readable."""
    if not isinstance(count, int) or not 0 < count <= MAX_COUNT or not isinstance(shape, bytes):
        return None
    try:
        return ObservedShape(count, load_shape(shape.decode()))
    except (ValueError, RecursionError):
        return None


def _is_locked(error: BaseException | None) -> bool:
    # The lower byte of an extended code is the code itself.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
