"""Ranking tools by a query: BM25 over their names, descriptions, parameters and categories.

SQLite's full-text search does it, in `full_text`, with Porter's stems; in builds without the extension FTS5,
`PlainIndex` does. A query is any text: only its words reach SQLite, each as a string, so none of its operators do.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from ez_ptc.toolkit.catalog.words import query_words, stem, text_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ez_ptc.tools.tool import Tool

__all__ = ["WEIGHTS", "PlainIndex", "ToolDocument", "ToolIndex", "ToolRanker", "tool_document"]

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
