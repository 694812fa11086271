"""The words of tools and queries, as rankers compare them: names split at `_` and capitals, without case."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_QUERY", "query_words", "stem", "text_words"]

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
