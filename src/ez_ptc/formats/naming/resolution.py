"""A model's spellings of a tool's name.

Models write the names of their training's templates around a tool's name (`functions.note`, `default_api.note`,
`note<|channel|>commentary`, `functions.note:0`), quotes or spaces, or another case. A name stands for a tool only if
exactly one tool fits: with two, such as `note` and `functions_note` for `functions.note`, it is unknown.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

from ez_ptc.formats.naming.spelling import NameRules, fit_name

__all__ = ["Spellings"]

# Models invent names of any length, and tools have at most 128 characters at every provider.
_MAX_LENGTH: Final = 512
_QUOTES: Final = " \t\r\n\"'`“”‘’«»"
_RECIPIENT: Final = re.compile(r"\bto=([^\s<]+)")
_SPECIAL_TOKEN: Final = re.compile(r"<\|[^|<>]*\|>")
_NAMESPACE: Final = re.compile(r"(?:functions?|tools?|default_(?:api|namespace)|api|tool_code)(?:\.|:{1,2}|/)(?=.)")
_INDEX: Final = re.compile(r":\d{1,6}\Z")
_CASE_CHANGE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS: Final = re.compile(r"[\W_]+")


class Spellings:
    """Finds tools by a model's spelling of their names.

    `names` are the tools' own names, by each name they are known by; `rules` are the provider's, if known.
    """

    def __init__(self, names: Mapping[str, str], rules: NameRules | None = None) -> None:
        self._names = names
        self._rules = rules
        self._folded: dict[str, set[str]] | None = None

    def find(self, name: str) -> str | None:
        """Return the own name of the one tool with this spelling, or None."""
        if name in self._names:
            return self._names[name]
        if len(name) > _MAX_LENGTH:
            return None
        readings = [*dict.fromkeys(_readings(name))]
        fitted = [fit_name(reading, self._rules) for reading in readings if self._rules is not None]
        tools = {self._names[reading] for reading in (*readings, *fitted) if reading in self._names}
        folded = self._index()
        for reading in readings:  # each, since a template's addition may be a part of another tool's name
            if reading not in self._names:
                tools |= {tool for key in _fold(reading) for tool in folded.get(key, ())}
        if len(tools) == 1:
            return tools.pop()
        return None

    def has(self, name: str) -> bool:
        """Return whether a name is a tool's, without the additions of a template."""
        return name in self._names or any(reading in self._names for reading in _readings(name[:_MAX_LENGTH]))

    def _index(self) -> dict[str, set[str]]:
        """Return the tools by folded name; made for the first unknown name, since most conversations have none."""
        if self._folded is None:
            folded: dict[str, set[str]] = {}
            for spelling, tool in self._names.items():
                for key in _fold(spelling):
                    folded.setdefault(key, set()).add(tool)
            self._folded = folded  # only once complete: another thread may read it
        return self._folded


def _readings(name: str) -> Iterator[str]:
    """Yield a name without the additions of templates, the longest reading first."""
    text = unicodedata.normalize("NFKC", name)
    if (recipient := _RECIPIENT.search(text)) is not None:
        text = recipient[1]
    elif "<|" in text:
        text = text.partition("<|")[0].strip(_QUOTES) or _SPECIAL_TOKEN.sub(" ", text)
    text = text.strip(_QUOTES).removesuffix("()").strip(_QUOTES)
    yield text
    while (namespace := _NAMESPACE.match(text)) is not None:
        text = text[namespace.end() :]
        yield text
    if _INDEX.search(text):
        yield _INDEX.sub("", text)


def _fold(name: str) -> set[str]:
    """Return a name's keys without case and separators: as written, and with camel case as several words."""
    text = unicodedata.normalize("NFKC", name)
    words = (_SEPARATORS.sub(" ", form).strip().casefold() for form in (text, _CASE_CHANGE.sub(" ", text)))
    return {key for key in words if key}
