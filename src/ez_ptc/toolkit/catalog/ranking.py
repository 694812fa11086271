"""Ranking tools by a query: BM25 over their names, descriptions, parameters and categories.

SQLite's full-text search does it, with Porter's stems; in builds without the extension FTS5, `PlainIndex` does. Words
are compared without case, and names split at `_` and capitals. A query is any text: only its words reach SQLite,
each as a string, so none of its operators do.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
import weakref
from collections import Counter, defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ez_ptc._forks import on_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ez_ptc.tools.tool import Tool

__all__ = [
    "MAX_QUERY",
    "WEIGHTS",
    "FullTextIndex",
    "PlainIndex",
    "ToolDocument",
    "ToolIndex",
    "ToolRanker",
    "make_index",
    "query_words",
    "stem",
    "text_words",
    "tool_document",
]


def text_words(text: str, most: int) -> Iterator[str]:
    """Yield the words of the first `most` characters of a text, in order."""
    for match in _WORD.finditer(text[:most]):
        for word in _CAPITAL.split(match[0]):
            yield word.casefold()


def query_words(query: str) -> list[str]:
    """Return the first different words of a query."""
    return list(islice(dict.fromkeys(text_words(query, MAX_QUERY)), _MAX_WORDS))


def stem(word: str) -> str:
    """Return an English word without its ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word.removesuffix(ending)
    return word


MAX_QUERY: Final = 10_000
"""The maximum characters of a query; the rest is ignored."""
_MAX_WORDS: Final = 64
# A word of a language with spaces; each character of one without.
_WORD: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+", re.UNICODE
)
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Longest first. What is left of a word has at least three letters.
_ENDINGS: Final = ("ations", "ation", "ments", "ment", "ings", "ing", "ies", "ers", "ed", "er", "es", "s", "y", "e")
_MIN_STEM: Final = 3

ToolIndex: TypeAlias = "FullTextIndex | PlainIndex"
"""Documents to be ranked by a query."""
ToolRanker: TypeAlias = "Callable[[str, Mapping[str, str]], Iterable[str]]"
"""Ranks tools: it gets a query and the text about each tool, by name, and returns names, best first."""

# The characters of a description that are searched: a foreign one may have any length.
_MAX_TEXT: Final = 10_000
WEIGHTS: Final = (3.0, 1.0, 0.5, 1.0)
"""How much a word counts in the name, the description, the parameters and the category."""
# BM25's usual parameters, which SQLite has too.
_K1, _B = 1.2, 0.75


class ToolDocument(NamedTuple):
    """The words about a tool to compare a query with, separated by spaces."""

    name: str
    title: str
    description: str
    parameters: str
    category: str


def tool_document(tool: Tool[..., Any]) -> ToolDocument:
    """Return the words about a tool."""
    description = tool.docstring
    if tool.prose not in description:
        description = f"{tool.prose}\n{description}"
    texts = (tool.name, description, " ".join(tool.parameter_names), tool.category or "")
    return ToolDocument(tool.name, *(" ".join(text_words(text, _MAX_TEXT)) for text in texts))


class PlainIndex:
    """Documents in a dict, for builds of SQLite without full-text search. Any thread may use it."""

    def __init__(self, documents: Sequence[ToolDocument]) -> None:
        self._postings: dict[str, dict[str, float]] = defaultdict(dict)
        self._lengths: dict[str, int] = {}
        for document in documents:
            counts, length = Counter[str](), 0
            for text, weight in zip(document[1:], WEIGHTS, strict=True):
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
