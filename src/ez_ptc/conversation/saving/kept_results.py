"""The kept results of saved conversations: rows of the history file, read when a program or a call asks for them."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ez_ptc.errors import HistoryError
from ez_ptc.messages import Message
from ez_ptc.results.store import KeptResult, ResultGoneError
from ez_ptc.schema.standard.sentences import without_surrogates

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from ez_ptc.messages import Entry

    Reading = Callable[[], AbstractContextManager[sqlite3.Connection]]
    """Returns the open file."""

__all__ = ["SavedResults", "has_other_results", "kept_by_name", "save_results", "with_saved_results"]

# Created when it is needed, so that a file without kept results stays one that earlier versions have written.
_CREATE_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS kept_results (
        conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        name TEXT NOT NULL, kind BLOB NOT NULL, body BLOB NOT NULL, PRIMARY KEY (conversation, name)
    ) STRICT
"""
_HAS_TABLE: Final = "SELECT 1 FROM sqlite_schema WHERE name = 'kept_results'"
_INSERT: Final = "INSERT OR IGNORE INTO kept_results VALUES (?, ?, ?, ?)"
_JOINED: Final = "conversations were joined, of which each has a result of this name"
_SELECT: Final = "SELECT body FROM kept_results WHERE conversation = ? AND name = ?"


class SavedResults:
    """The results of one saved conversation; its file stays as it is, whatever becomes of a loaded copy."""

    def __init__(self, reading: Reading, conversation: str) -> None:
        self._reading = reading
        self._conversation = conversation

    def write(self, body: bytes) -> str:
        """Refuse: results are saved with their conversation."""
        raise OSError(errno.EROFS, f"a saved conversation takes no result of {len(body)} bytes")

    def read(self, name: str) -> bytes:
        """Return the bytes of a result. Raises OSError if they cannot be read."""
        try:
            with self._reading() as database:
                rows = database.execute(_SELECT, (self._conversation, without_surrogates(name))).fetchall()
        except HistoryError as error:
            raise OSError(errno.EIO, str(error)) from error
        if not rows or type(rows[0][0]) is not bytes:
            raise OSError(errno.ENOENT, "the history file does not have it")
        return rows[0][0]

    def remove(self, name: str) -> None:
        """Leave the row to `History.delete`."""


def kept_by_name(entries: Iterable[Entry]) -> dict[str, KeptResult]:
    """Return a conversation's kept results. A name of several values, in joined branches, is that of a lost one."""
    kept: dict[str, KeptResult] = {}
    for message in _messages(entries):
        for name, result in (message.kept or {}).items():
            known = kept.setdefault(name, result)
            if not _is_equal(known, result):
                kept[name] = KeptResult(result.kind, b"", known.source)
                kept[name].drop(_JOINED)
    return kept


def _is_equal(result: KeptResult, other: KeptResult) -> bool:
    try:
        return result is other or (result.kind == other.kind and result.read() == other.read())
    except ResultGoneError:
        return False


def has_other_results(database: sqlite3.Connection, conversation: str, entries: Iterable[Entry]) -> bool:
    """Return whether a saved conversation has another value under a name than these entries.

    A text for a model does not show it: different values can have equal ends.
    """
    if not database.execute(_HAS_TABLE).fetchall():
        return False
    for name, result in kept_by_name(entries).items():
        for (body,) in database.execute(_SELECT, (conversation, without_surrogates(name))):
            if not result.is_gone and result.read() != body:
                return True
    return False


def save_results(database: sqlite3.Connection, conversation: str, entries: Iterable[Entry]) -> None:
    """Save the values of a conversation's kept results, as far as they still exist."""
    kept = kept_by_name(entries)
    if not kept:
        return
    database.execute(_CREATE_TABLE)
    for name, result in kept.items():
        try:
            row = conversation, without_surrogates(name), result.kind, result.read()
        except ResultGoneError:
            continue
        database.execute(_INSERT, row)


def with_saved_results(reading: Reading, conversation: str, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return the entries of a saved conversation, whose kept results are read from the file."""
    if not any(message.kept for message in _messages(entries)):
        return entries
    with reading() as database:
        names: set[str] = set()
        if database.execute(_HAS_TABLE).fetchall():
            rows = database.execute("SELECT name FROM kept_results WHERE conversation = ?", (conversation,)).fetchall()
            names.update(name for (name,) in rows)
    saved = SavedResults(reading, conversation)
    return tuple(_with_results(entry, saved, names) for entry in entries)


def _with_results(entry: Entry, saved: SavedResults, names: set[str]) -> Entry:
    if not isinstance(entry, Message) or not entry.kept:
        return entry
    kept: dict[str, KeptResult] = {
        name: KeptResult(result.kind, (saved, name), result.source) if name in names else result
        for name, result in entry.kept.items()
    }
    return replace(entry, kept=kept)


def _messages(entries: Iterable[Entry]) -> Iterator[Message]:
    return (entry for entry in entries if isinstance(entry, Message))
