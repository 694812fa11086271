"""Ranking tools by SQLite's full-text search, with its BM25 and Porter's stems."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from typing import TYPE_CHECKING

from ez_ptc._forks import on_fork
from ez_ptc.toolkit.catalog.ranking import WEIGHTS, PlainIndex
from ez_ptc.toolkit.catalog.words import query_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.toolkit.catalog.ranking import ToolDocument, ToolIndex

__all__ = ["FullTextIndex", "make_index"]


def make_index(documents: Sequence[ToolDocument]) -> ToolIndex:
    """Return the best index there is."""
    try:
        return FullTextIndex(documents)
    except sqlite3.OperationalError as error:
        if "fts5" not in str(error):
            raise
        return PlainIndex(documents)


class FullTextIndex:
    """Documents in a table of SQLite's full-text search, in memory. Any thread may use it."""

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        """Index the documents. Raises sqlite3.OperationalError if this build of SQLite has no FTS5."""
        self._documents = documents
        self._lock = threading.Lock()
        self._table: sqlite3.Connection | None = self._open()
        self._inherited: list[sqlite3.Connection | None] = []
        on_fork(self, FullTextIndex._after_fork)

    def _open(self) -> sqlite3.Connection:
        table = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        table.execute(
            "CREATE VIRTUAL TABLE tools USING fts5(name UNINDEXED, title, description, parameters, category, "
            "tokenize='porter unicode61')"
        )
        table.execute("BEGIN")
        table.executemany("INSERT INTO tools VALUES (?, ?, ?, ?, ?)", self._documents)
        table.execute("COMMIT")
        self._closing = weakref.finalize(self, table.close)
        return table

    def _after_fork(self) -> None:
        # Another thread may have held a lock at the time of the fork, which closing the connection would wait for.
        self._closing.detach()
        self._inherited.append(self._table)
        self._lock, self._table = threading.Lock(), None

    def rank(self, query: str, most: int) -> list[str]:
        """Return the names of up to `most` tools with words of a query, the best ones first."""
        words = query_words(query)
        if not words:
            return []
        expression = " OR ".join(f'"{word}"' for word in words)
        with self._lock:
            if self._table is None:
                self._table = self._open()
            rows = self._table.execute(
                "SELECT name FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, 0, ?, ?, ?, ?), name LIMIT ?",
                (expression, *WEIGHTS, most),
            ).fetchall()
        return [name for (name,) in rows]
