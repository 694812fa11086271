"""Conversations kept in a file: an SQLite database."""

from __future__ import annotations

import os
import sqlite3
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Self, cast

from ez_ptc.conversation.saving.serialization import entry_from_json, entry_to_json
from ez_ptc.errors import HistoryError
from ez_ptc.formats.content import as_text
from ez_ptc.formats.lowering.sentences import without_surrogates
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolResultMessage
from ez_ptc.schema.safe_repr import shown

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from ez_ptc.conversation.loop.stream import Asked
    from ez_ptc.messages import Entry

__all__ = ["History", "HistoryRecord"]

# "EzPt": SQLite keeps it in the file's head, for programs to know their own files by.
_APPLICATION: Final = 0x457A5074
_VERSION: Final = 1
_MAGIC: Final = b"SQLite format 3\0"
_WAIT: Final = 30.0
_PRIVATE: Final = 0o600
# What SQLite takes for no file at all.
_IN_MEMORY: Final = ":memory:"
# The last byte of an error code is its primary code. These say that the file cannot be accessed; any other says that
# something in it is wrong.
_PRIMARY_CODE: Final = 0xFF
_ACCESS_ERRORS: Final = frozenset(
    {
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)
_TITLE: Final = 60
_UNTITLED: Final = "(no title)"
# The index of texts knows pieces of three characters and more.
_INDEXED: Final = 3
_LONGEST: Final = 1000

_TABLES: Final = """
    CREATE TABLE conversations (
        id TEXT PRIMARY KEY, title TEXT NOT NULL, searched_title TEXT NOT NULL, changed REAL NOT NULL
    ) STRICT;
    CREATE TABLE entries (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        json TEXT NOT NULL,
        searched TEXT NOT NULL,
        UNIQUE (conversation, place)
    ) STRICT;
"""
_RECORDS: Final = """
    SELECT id, title, changed, (SELECT coalesce(sum(messages), 0) FROM entries WHERE conversation = id)
    FROM conversations
"""
_LATEST_FIRST: Final = " ORDER BY changed DESC, conversations.rowid DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """What there is to know of a conversation before it is loaded; `changed` is when it was last saved, in UTC."""

    id: str
    title: str
    changed: datetime
    messages: int


class History:
    """Conversations in a file, which is created on first use.

    Only its owner may read the file. Several processes and threads may use one file at once. Nothing that was saved is
    ever written over: a conversation that is saved again grows, or becomes one of its own where it does not go on from
    what was saved.

    Raises HistoryError, from any method, for a file that is no history or that a newer ez-ptc has written, and OSError
    for one that cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Final = Path(path)
        self._lock: Final = RLock()
        self._opened: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def save(
        self,
        conversation: Asked | Iterable[Entry],
        *,
        title: str | None = None,
        id: str | None = None,  # noqa: A002 - what callers call it
    ) -> str:
        """Save a conversation and return its id, by which `load` gives exactly this one.

        Args:
            conversation: A builder, or the entries of one.
            title: What to list it by; at first its first question, and later what it was.
            id: The conversation that this one goes on with. Where that one has gone on otherwise in the meantime, or
                this one does not have all of it, it is saved as another, and that one's id is returned.

        Raises:
            HistoryError: An entry cannot be saved, as `to_json` says.
        """
        given: object = getattr(conversation, "entries", conversation)
        entries = tuple(cast("Iterable[Entry]", given))
        rows = [entry_to_json(entry) for entry in entries]
        with self._writing() as database:
            known = without_surrogates(id or "") or uuid.uuid4().hex
            saved = [
                row
                for (row,) in _rows(database, "SELECT json FROM entries WHERE conversation = ? ORDER BY place", known)
            ]
            if rows[: len(saved)] != saved:
                title = title or _title_of(database, known)
                known, saved = uuid.uuid4().hex, []
            self._keep(database, known, title, entries)
            for place in range(len(saved), len(rows)):
                entry = entries[place]
                database.execute(
                    "INSERT INTO entries (conversation, place, messages, json, searched) VALUES (?, ?, ?, ?, ?)",
                    (known, place, _messages(entry), rows[place], _searched(_text(entry))),
                )
        return known

    def load(self, id: str) -> tuple[Entry, ...]:  # noqa: A002 - what callers call it
        """Return the entries of a conversation, for `llm().continued(*entries)`. Raises KeyError for an unknown id."""
        known = without_surrogates(id)
        with self._reading() as database:
            if not _rows(database, "SELECT 1 FROM conversations WHERE id = ?", known):
                raise KeyError(self._unknown(id))
            rows = _rows(database, "SELECT json FROM entries WHERE conversation = ? ORDER BY place", known)
        return tuple(entry_from_json(row) for (row,) in rows)

    def list(self, limit: int = 50) -> tuple[HistoryRecord, ...]:
        """Return the conversations that were saved last, the latest first."""
        with self._reading() as database:
            return _records(database, "", (), limit)

    def search(self, text: str, limit: int = 50) -> tuple[HistoryRecord, ...]:
        """Return the conversations whose title, or one of whose entries, has all words of a text in it.

        Case does not matter, and a part of a word will do. The latest comes first. Without any word there is none.
        """
        words = _searched(text[:_LONGEST]).split()
        if not words:
            return ()
        with self._reading() as database:
            indexed = [word for word in words if len(word) >= _INDEXED]
            if indexed and self._index(database):
                matching = " AND ".join('"' + word.replace('"', '""') + '"' for word in indexed)
                found, given = "number IN (SELECT rowid FROM words WHERE words MATCH ?) AND ", [matching]
            else:
                found, given = "", []
            like = [f"%{_escaped(word)}%" for word in words]
            by_entry = f"SELECT conversation FROM entries WHERE {found}{_all('searched', like)}"  # noqa: S608 - values are bound
            where = f" WHERE id IN ({by_entry}) OR ({_all('searched_title', like)})"
            return _records(database, where, (*given, *like, *like), limit)

    def delete(self, id: str) -> None:  # noqa: A002 - what callers call it
        """Delete a conversation. Raises KeyError for an unknown id."""
        known = without_surrogates(id)
        with self._writing() as database:
            if _has_index(database):
                database.execute(
                    "DELETE FROM words WHERE rowid IN (SELECT number FROM entries WHERE conversation = ?)", (known,)
                )
            if not database.execute("DELETE FROM conversations WHERE id = ?", (known,)).rowcount:
                raise KeyError(self._unknown(id))

    def _unknown(self, id: str) -> str:  # noqa: A002 - what callers call it
        return f"{self.path} has no conversation {shown(id)}: list() and search() say which there are"

    def _keep(self, database: sqlite3.Connection, id: str, title: str | None, entries: Sequence[Entry]) -> None:  # noqa: A002 - what callers call it
        named = title or _title_of(database, id) or _title(entries)
        database.execute(
            "INSERT INTO conversations VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
            " SET title = excluded.title, searched_title = excluded.searched_title, changed = excluded.changed",
            (id, without_surrogates(named), _searched(named), datetime.now(UTC).timestamp()),
        )

    def _index(self, database: sqlite3.Connection) -> bool:
        """Bring the index of texts up to date; return whether there is one. A process may have had none to fill."""
        try:
            with _transaction(database):
                database.execute("CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, tokenize = 'trigram')")
                database.execute(
                    "INSERT INTO words (rowid, text) SELECT number, searched FROM entries"
                    " WHERE number > (SELECT coalesce(max(rowid), 0) FROM words)"
                )
        except sqlite3.OperationalError:  # an SQLite without the index, or a file that may only be read
            return False
        return True

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._reading() as database, _transaction(database):
            yield database

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            try:
                if self._opened is None:
                    self._opened = self._open()
                yield self._opened
            except sqlite3.DatabaseError as error:
                # Errors that the module raises itself have no code.
                if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY_CODE in _ACCESS_ERRORS:
                    message = f"the history {self.path} cannot be used: {error}"
                    raise OSError(message) from error
                raise HistoryError(self._no_history(str(error))) from error

    def _open(self) -> sqlite3.Connection:
        # What SQLite finds too short for a database it takes for an empty one, and writes over it.
        if self.path.is_file() and self.path.stat().st_size:
            with self.path.open("rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    raise HistoryError(self._no_history("it is no SQLite database"))
        elif str(self.path) != _IN_MEMORY and not self.path.exists():
            self._create_file()
        database = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        try:
            database.execute("PRAGMA foreign_keys = ON")
            # In one transaction: while it is looked at, another process may be making the tables.
            with _transaction(database, "DEFERRED"):
                is_ours = self._is_ours(database)
            if not is_ours:
                with _transaction(database):
                    if not self._is_ours(database):
                        _create(database)
            # Where another process opens the file at this moment, that one does it, or whoever opens it next.
            with suppress(sqlite3.OperationalError):
                database.execute("PRAGMA journal_mode = WAL")
        except BaseException:  # an interruption too must not leave the file open
            database.close()
            raise
        return database

    def _create_file(self) -> None:
        """Create the file with access for its owner only; SQLite gives its companion files the same permissions."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, _PRIVATE))
        except OSError as error:
            message = f"the history {self.path} cannot be used: {error}"
            raise OSError(message) from error

    def _is_ours(self, database: sqlite3.Connection) -> bool:
        """Whether the file has our tables; it may be empty. Raises HistoryError for one that has others."""
        ((application,),) = _rows(database, "PRAGMA application_id")
        ((version,),) = _rows(database, "PRAGMA user_version")
        if application == 0 and not _rows(database, "SELECT 1 FROM sqlite_schema"):
            return False
        if application != _APPLICATION:
            raise HistoryError(self._no_history("it is a database of another program"))
        if version != _VERSION:
            raise HistoryError(self._no_history(f"it has the version {version}, and this ez-ptc reads {_VERSION}"))
        return True

    def _no_history(self, reason: str) -> str:
        return f"{self.path} is no history that can be used here: {reason}; give the path of another file"


@contextmanager
def _transaction(database: sqlite3.Connection, kind: str = "IMMEDIATE") -> Generator[None]:
    database.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:  # an interruption too must not leave half of it to the next commit
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _create(database: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";"):
        database.execute(statement)
    database.execute(f"PRAGMA application_id = {_APPLICATION}")
    database.execute(f"PRAGMA user_version = {_VERSION}")


def _rows(database: sqlite3.Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    return database.execute(query, values).fetchall()


def _records(
    database: sqlite3.Connection, where: str, values: Sequence[object], limit: int
) -> tuple[HistoryRecord, ...]:
    rows = _rows(database, f"{_RECORDS}{where}{_LATEST_FIRST}", *values, limit)
    return tuple(
        HistoryRecord(id, title, _time(changed), messages)
        for id, title, changed, messages in rows  # noqa: A001 - what callers call it
    )


def _time(seconds: Any) -> datetime:  # noqa: ANN401 - whatever a file has
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        message = f"a conversation of this history was saved at {shown(seconds)}, which is not a time; use another file"
        raise HistoryError(message) from error


def _has_index(database: sqlite3.Connection) -> bool:
    return bool(_rows(database, "SELECT 1 FROM sqlite_schema WHERE name = 'words'"))


def _all(column: str, patterns: Sequence[str]) -> str:
    return " AND ".join([f"{column} LIKE ? ESCAPE '!'"] * len(patterns))


def _escaped(word: str) -> str:
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _searched(text: str) -> str:
    """Return a text as it is searched: without case, and without what SQLite takes for no text."""
    return without_surrogates(text.casefold().replace("\0", " "))


def _text(entry: Entry) -> str:
    if isinstance(entry, Answer):
        return entry.text
    if isinstance(entry, ToolResultMessage):
        return as_text(entry.result)
    return entry.text if isinstance(entry, TextMessage) else ""


def _messages(entry: Entry) -> int:
    return len(entry.messages) if isinstance(entry, Answer) else 1


def _title_of(database: sqlite3.Connection, id: str) -> str | None:  # noqa: A002 - what callers call it
    rows = _rows(database, "SELECT title FROM conversations WHERE id = ?", id)
    return rows[0][0] if rows else None


def _title(entries: Sequence[Entry]) -> str:
    """Return the beginning of what a person said first."""
    said = (each.text for each in entries if isinstance(each, TextMessage) and each.role is MessageRole.USER)
    line = " ".join(next((text for text in said if text.strip()), _UNTITLED).split())
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"
