"""Conversation history: an SQLite file."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from ez_ptc._closing import Closable
from ez_ptc._private_files import create_private_file, path_problem, warn_of_other_users
from ez_ptc._wrong_calls import check_id, check_path, explain_calls
from ez_ptc.conversation.saving.history_tables import (
    APPLICATION_ID,
    CREATE_TABLES,
    LATEST_FIRST,
    MAGIC,
    RECORDS,
    SELECT_ENTRIES,
    VERSION,
)
from ez_ptc.conversation.saving.kept_results import has_other_results, save_results, with_saved_results
from ez_ptc.conversation.saving.serialization import entry_from_json, entry_to_json
from ez_ptc.errors import HistoryError
from ez_ptc.formats.content import as_text
from ez_ptc.messages import Answer, MessageRole, TextMessage, ToolResultMessage
from ez_ptc.schema.safe_repr import safe_repr
from ez_ptc.schema.standard.sentences import without_surrogates
from ez_ptc.view.objects.viewable import Viewable

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from ez_ptc.messages import Entry
    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["History", "HistoryRecord"]


class _HasEntries(Protocol):
    """A builder."""

    @property
    def entries(self) -> tuple[Entry, ...]: ...


_LOCK_TIMEOUT_SECONDS: Final = 30.0
# SQLite creates no file for this name.
_IN_MEMORY: Final = ":memory:"
# The last byte of an error code is its primary code. These mean that the file cannot be accessed; any other means that
# its content is invalid.
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
_MAX_TITLE: Final = 60
_UNTITLED: Final = "(no title)"
# The text index is made of trigrams.
_MIN_INDEXED_LENGTH: Final = 3
_MAX_SEARCH_LENGTH: Final = 1000


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """A saved conversation: its id, title, time of the last save (`changed`, in UTC), and number of messages."""

    id: str
    title: str
    changed: datetime
    messages: int


@explain_calls(checks="conversation:str delete(id) limit load(id) path")
class History(Closable, Viewable):
    """Saved conversations in a file, which is created on first use, and which only its owner may read.

        with History("chats.db") as history:
            saved = history.load(history.save(conversation))

    Several processes and threads may use one file. Saved entries are never overwritten, but for a result that waited
    for a decision: a conversation grows, or is saved as a new one if it does not start with the saved entries. Methods
    raise HistoryError if the file is not a history or is from a newer ez-ptc, and OSError if it cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        problem = path_problem(check_path(path, "a history"), "a history is a file")
        if problem is not None and str(path) != _IN_MEMORY:
            raise HistoryError(problem)
        self.path: Final = Path(path)
        self._lock: Final = RLock()
        self._opened: sqlite3.Connection | None = None

    def _view_parts(self) -> tuple[ViewPart, ...]:
        """Return the last 20 conversations; a file that is not there is not created."""
        from ez_ptc.view.objects.parts import NotePart, TablePart

        if self._opened is None and not self.path.is_file():
            return (NotePart(f"{self.path}: no conversation is saved"),)
        rows = [
            (record.id, record.title, f"{record.changed:%Y-%m-%d %H:%M:%S} UTC", f"{record.messages:,}")
            for record in self.list(20)
        ]
        return TablePart(("conversation", "title", "changed", "messages"), rows), NotePart(str(self.path))

    def close(self) -> None:
        """Close the file; the next method call opens it again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def save(
        self,
        conversation: _HasEntries | Iterable[Entry],
        *,
        title: str | None = None,
        id: str | None = None,  # noqa: A002 - what callers call it
    ) -> str:
        """Save a conversation and return its id, for `load`.

        Args:
            conversation: A builder, or its entries.
            title: The title in lists (default: the previous title, or the first question).
            id: The saved conversation that this one continues. If this one does not start with all of its entries (the
                other was continued differently, say), it is saved as a new conversation, with a new id.

        Raises:
            HistoryError: An entry cannot be saved (see `to_json`).
        """
        listed: object = getattr(conversation, "entries", conversation)
        entries = tuple(cast("Iterable[Entry]", listed))
        rows = [entry_to_json(entry) for entry in entries]
        with self._writing() as database:
            conversation_id = without_surrogates(id or "") or uuid.uuid4().hex
            saved = [row for (row,) in _rows(database, SELECT_ENTRIES, conversation_id)]
            if not _continues(saved, rows) or has_other_results(database, conversation_id, entries):
                title = title or _title_of(database, conversation_id)
                conversation_id, saved = uuid.uuid4().hex, []
            title = title or _title_of(database, conversation_id) or _default_title(entries)
            database.execute(
                "INSERT INTO conversations VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
                " SET title = excluded.title, searched_title = excluded.searched_title, changed = excluded.changed",
                (conversation_id, without_surrogates(title), _fold(title), datetime.now(UTC).timestamp()),
            )
            for position, row in enumerate(saved):
                if row != rows[position]:  # it has waited for a decision
                    database.execute(
                        "UPDATE entries SET json = ?, searched = ? WHERE conversation = ? AND place = ?",
                        (rows[position], _fold(_entry_text(entries[position])), conversation_id, position),
                    )
            for position in range(len(saved), len(rows)):
                entry = entries[position]
                count = 1
                if isinstance(entry, Answer):
                    count = len(entry.messages)
                database.execute(
                    "INSERT INTO entries (conversation, place, messages, json, searched) VALUES (?, ?, ?, ?, ?)",
                    (conversation_id, position, count, rows[position], _fold(_entry_text(entry))),
                )
            save_results(database, conversation_id, entries)
        return conversation_id

    def load(self, id: str) -> tuple[Entry, ...]:  # noqa: A002 - what callers call it
        """Return a conversation's entries, for `llm().continued(*entries)`. Raises HistoryError for an unknown id."""
        conversation_id = without_surrogates(check_id(id, "a conversation"))
        with self._reading() as database:
            if not _rows(database, "SELECT 1 FROM conversations WHERE id = ?", conversation_id):
                raise HistoryError(self._unknown_id(id))
            rows = _rows(database, SELECT_ENTRIES, conversation_id)
        entries = tuple(entry_from_json(row) for (row,) in rows)
        return with_saved_results(self._reading, conversation_id, entries)

    def list(self, limit: int = 50) -> tuple[HistoryRecord, ...]:
        """Return the most recently saved conversations, the latest first."""
        with self._reading() as database:
            return _records(database, "", (), limit)

    def search(self, text: str, limit: int = 50) -> tuple[HistoryRecord, ...]:
        """Return the conversations with all words of a text in the title or in one entry, the latest first.

        Case is ignored, and parts of words match. A text without words matches nothing.
        """
        words = _fold(text[:_MAX_SEARCH_LENGTH]).split()
        if not words:
            return ()
        with self._reading() as database:
            indexed = [word for word in words if len(word) >= _MIN_INDEXED_LENGTH]
            prefilter, values = "", []
            if indexed and self._update_index(database):
                prefilter = "number IN (SELECT rowid FROM words WHERE words MATCH ?) AND "
                values = [" AND ".join('"' + word.replace('"', '""') + '"' for word in indexed)]
            escape = str.maketrans({"!": "!!", "%": "!%", "_": "!_"})
            patterns = [f"%{word.translate(escape)}%" for word in words]
            by_entry = f"SELECT conversation FROM entries WHERE {prefilter}{_all_like('searched', patterns)}"  # noqa: S608 - values are bound
            condition = f" WHERE id IN ({by_entry}) OR ({_all_like('searched_title', patterns)})"
            return _records(database, condition, (*values, *patterns, *patterns), limit)

    def delete(self, id: str) -> None:  # noqa: A002 - what callers call it
        """Delete a conversation. Raises HistoryError for an unknown id."""
        conversation_id = without_surrogates(check_id(id, "a conversation"))
        with self._writing() as database:
            if _rows(database, "SELECT 1 FROM sqlite_schema WHERE name = 'words'"):
                database.execute(
                    "DELETE FROM words WHERE rowid IN (SELECT number FROM entries WHERE conversation = ?)",
                    (conversation_id,),
                )
            if not database.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,)).rowcount:
                raise HistoryError(self._unknown_id(id))

    def _unknown_id(self, id: str) -> str:  # noqa: A002 - what callers call it
        return f"{self.path} has no conversation {safe_repr(id)}: see list() and search()"

    def _update_index(self, database: sqlite3.Connection) -> bool:
        """Add new entries to the text index; return whether this SQLite has one."""
        try:
            with _transaction(database):
                database.execute("CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, tokenize = 'trigram')")
                database.execute(
                    "INSERT INTO words (rowid, text) SELECT number, searched FROM entries"
                    " WHERE number > (SELECT coalesce(max(rowid), 0) FROM words)"
                )
        except sqlite3.OperationalError:  # an SQLite without FTS5, or a read-only file
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
                # Errors that Python's module raises itself have no code.
                if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY_CODE in _ACCESS_ERRORS:
                    raise OSError(self._cannot_open(error)) from error
                raise HistoryError(self._not_usable(str(error))) from error
            except UnicodeDecodeError as error:  # of a message of SQLite's that quotes a damaged schema
                raise HistoryError(self._not_usable(str(error))) from error

    def _open(self) -> sqlite3.Connection:
        # SQLite takes a file that is too short for a database for an empty one, and would overwrite it.
        if self.path.is_file() and self.path.stat().st_size:
            with self.path.open("rb") as file:
                if file.read(len(MAGIC)) != MAGIC:
                    raise HistoryError(self._not_usable("it is not an SQLite database"))
        if str(self.path) != _IN_MEMORY:
            # SQLite gives the permissions of this file to its companion files.
            try:
                create_private_file(self.path)
                warn_of_other_users(self.path)
            except OSError as error:
                raise OSError(self._cannot_open(error)) from error
        database = sqlite3.connect(
            self.path, timeout=_LOCK_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            database.execute("PRAGMA foreign_keys = ON")
            self._ensure_tables(database)
            # If another process has the file open, that process has done this, or the next one to open it will.
            with suppress(sqlite3.OperationalError):
                database.execute("PRAGMA journal_mode = WAL")
        except BaseException:  # an interruption must not leave the file open
            database.close()
            raise
        return database

    def _ensure_tables(self, database: sqlite3.Connection) -> None:
        # Each look in one transaction: another process may be creating the tables at this moment.
        with _transaction(database, "DEFERRED"):
            if self._has_tables(database):
                return
        with _transaction(database):
            if not self._has_tables(database):
                for statement in CREATE_TABLES.split(";"):
                    database.execute(statement)

    def _cannot_open(self, error: Exception) -> str:
        return f"cannot open the history file {self.path}: {'it is a folder' if self.path.is_dir() else error}"

    def _has_tables(self, database: sqlite3.Connection) -> bool:
        """Return whether the file has our tables, or False if it is empty. Raises HistoryError if it has others."""
        ((application_id,),) = _rows(database, "PRAGMA application_id")
        ((version,),) = _rows(database, "PRAGMA user_version")
        if application_id == 0 and not _rows(database, "SELECT 1 FROM sqlite_schema"):
            return False
        if application_id != APPLICATION_ID:
            raise HistoryError(self._not_usable("it is another application's database"))
        if version != VERSION:
            raise HistoryError(self._not_usable(f"expected version {VERSION}, got {version}"))
        return True

    def _not_usable(self, reason: str) -> str:
        return f"{self.path} is not a usable history file: {reason}; give the path of another file"


@contextmanager
def _transaction(database: sqlite3.Connection, mode: str = "IMMEDIATE") -> Generator[None]:
    database.execute(f"BEGIN {mode}")
    try:
        yield
    except BaseException:  # an interruption must not leave half of it to the next commit
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _rows(database: sqlite3.Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    return database.execute(query, values).fetchall()


def _records(
    database: sqlite3.Connection, where: str, values: Sequence[object], limit: int
) -> tuple[HistoryRecord, ...]:
    rows = _rows(database, f"{RECORDS}{where}{LATEST_FIRST}", *values, limit)
    return tuple(
        HistoryRecord(id, title, _time(changed), messages)
        for id, title, changed, messages in rows  # noqa: A001 - what callers call it
    )


def _time(seconds: Any) -> datetime:  # noqa: ANN401 - any value in a file
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        message = f"invalid history file: expected the time of a save, got {safe_repr(seconds)}; use another file"
        raise HistoryError(message) from error


def _all_like(column: str, patterns: Sequence[str]) -> str:
    return " AND ".join([f"{column} LIKE ? ESCAPE '!'"] * len(patterns))


def _fold(text: str) -> str:
    """Return a text in the form in which texts are searched: casefolded, and valid for SQLite."""
    return without_surrogates(text.casefold().replace("\0", " "))


def _entry_text(entry: Entry) -> str:
    if isinstance(entry, ToolResultMessage):
        return as_text(entry.result)
    if isinstance(entry, Answer | TextMessage):
        return entry.text
    return ""


def _continues(saved: Sequence[str], rows: Sequence[str]) -> bool:
    """Return whether a conversation starts with the saved entries, where results may have taken the place of waits."""
    if len(rows) < len(saved):
        return False
    return all(old == new or _replaces(old, new) for old, new in zip(saved, rows, strict=False))


def _replaces(old: str, new: str) -> bool:
    """Return whether an entry is the result of a saved one that waits for a decision."""
    waiting, result = entry_from_json(old), entry_from_json(new)
    if isinstance(waiting, Answer) or waiting.paused is None or type(result) is not type(waiting):
        return False
    if isinstance(waiting, ToolResultMessage) and isinstance(result, ToolResultMessage):
        return waiting.tool_call_id == result.tool_call_id
    return True


def _title_of(database: sqlite3.Connection, conversation_id: str) -> str | None:
    rows = _rows(database, "SELECT title FROM conversations WHERE id = ?", conversation_id)
    return rows[0][0] if rows else None


def _default_title(entries: Sequence[Entry]) -> str:
    """Return the beginning of the user's first message."""
    texts = [entry.text for entry in entries if isinstance(entry, TextMessage) and entry.role is MessageRole.USER]
    line = " ".join(next((text for text in texts if text.strip()), _UNTITLED).split())
    if len(line) <= _MAX_TITLE:
        return line
    return f"{line[: _MAX_TITLE - 1]}…"
