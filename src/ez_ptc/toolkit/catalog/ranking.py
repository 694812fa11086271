"""Ranking tools by a query: BM25 over their names, descriptions, parameters and categories.

SQLite's full-text search does it, with Porter's stems; in builds without the extension FTS5, `PlainIndex` does. A
query is any text: only its words reach SQLite, each as a string, so none of its operators do.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import weakref
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from ez_ptc._sync import on_fork
from ez_ptc.toolkit.catalog.words import query_words, stem, text_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ez_ptc.tools.tool import Tool

__all__ = ["FullTextIndex", "PlainIndex", "ToolDocument", "ToolIndex", "ToolRanker", "make_index", "tool_document"]

ToolRanker: TypeAlias = "Callable[[str, Mapping[str, str]], Iterable[str]]"
"""Ranks tools: it gets a query and the text about each tool, by name, and returns names, best first."""

# The characters of a description that are searched: a foreign one may have any length.
_MAX_TEXT: Final = 10_000
# How much a word counts in the name, the description, the parameters and the category.
_WEIGHTS: Final = (3.0, 1.0, 0.5, 1.0)
# BM25's usual parameters, which SQLite has too.
_K1, _B = 1.2, 0.75


class ToolDocument(NamedTuple):
    """The words about a tool to compare a query with, separated by spaces."""

    name: str
    title: str
    description: str
    parameters: str
    category: str


class ToolIndex(Protocol):
    """Documents to be ranked by a query."""

    def rank(self, query: str, most: int) -> list[str]:
        """Return the names of up to `most` tools with words of a query, the best ones first."""
        ...


def tool_document(tool: Tool[..., Any]) -> ToolDocument:
    """Return the words about a tool."""
    description = tool.docstring
    if tool.prose not in description:
        description = f"{tool.prose}\n{description}"
    texts = (tool.name, description, " ".join(tool.parameter_names), tool.category or "")
    return ToolDocument(tool.name, *(" ".join(text_words(text, _MAX_TEXT)) for text in texts))


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
                (expression, *_WEIGHTS, most),
            ).fetchall()
        return [name for (name,) in rows]


class PlainIndex:
    """Documents in a dict, for builds of SQLite without full-text search. Any thread may use it."""

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        self._postings: dict[str, dict[str, float]] = defaultdict(dict)
        self._lengths: dict[str, int] = {}
        for document in documents:
            counts, length = Counter[str](), 0
            for text, weight in zip(document[1:], _WEIGHTS, strict=True):
                for word in text.split():
                    counts[stem(word)] += weight  # pyright: ignore[reportArgumentType] - a Counter of weights
                    length += 1
            self._lengths[document.name] = length
            for word, count in counts.items():
                self._postings[word][document.name] = count
        self._mean = sum(self._lengths.values()) / max(len(self._lengths), 1) or 1.0

    def rank(self, query: str, most: int) -> list[str]:
        """Return the names of up to `most` tools with words of a query, the best ones first."""
        scores: dict[str, float] = defaultdict(float)
        for word in dict.fromkeys(map(stem, query_words(query))):
            postings = self._postings.get(word, {})
            rarity = math.log(1 + (len(self._lengths) - len(postings) + 0.5) / (len(postings) + 0.5))
            for name, count in postings.items():
                norm = _K1 * (1 - _B + _B * self._lengths[name] / self._mean)
                scores[name] += rarity * count * (_K1 + 1) / (count + norm)
        return sorted(scores, key=lambda name: (-scores[name], name))[:most]
