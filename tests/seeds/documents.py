"""The documents this library began with, as their sections, code blocks, tables and statements."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Seed", "Statement", "quotes", "read", "statements", "text_of"]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"^(?:[-*]|\d+\.) ")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*])")


@dataclass(frozen=True)
class Seed:
    """A document: its sections by heading, each with its text and its code blocks as (language, code)."""

    sections: dict[str, str]
    blocks: dict[str, list[tuple[str, str]]]

    def python(self, heading: str, index: int = 0) -> str:
        return [code for language, code in self.blocks[heading] if language == "python"][index]

    def printed(self, heading: str, index: int = 0) -> str:
        return [code for language, code in self.blocks[heading] if not language][index]

    def rows(self, heading: str) -> list[list[str]]:
        lines = [line for line in self.sections[heading].splitlines() if line.startswith("|")]
        return [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


@dataclass(frozen=True)
class Statement:
    """A sentence, a list item, a row of a table or a line of code, and the heading that it stands under."""

    heading: str
    text: str
    block: int | None = None
    """The number of its code block under the heading, for a line of code."""


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def quotes(tests: Mapping[str, object], prefix: str = "test_") -> dict[str, str]:
    """Return what the docstrings of a module's tests quote, a statement a line, with the name of the test."""
    documented = {name: test.__doc__ or "" for name, test in tests.items() if name.startswith(prefix)}
    return {_squeezed(line): name for name, text in documented.items() for line in text.splitlines() if line.strip()}


def read(folder: Path, number: str) -> Seed:
    text = _path(folder, number).read_text(encoding="utf-8")
    hidden = _FENCE.sub(lambda block: block[0].replace("\n#", "\n\0"), text)  # a comment is no heading
    parts = re.split(r"^#+ (.+)$", hidden, flags=re.MULTILINE)
    sections = {heading: body.replace("\n\0", "\n#") for heading, body in zip(parts[1::2], parts[2::2], strict=True)}
    return Seed(sections, {heading: _FENCE.findall(body) for heading, body in sections.items()})


def text_of(folder: Path, number: str) -> str:
    """Return a whole document, with one space wherever it has any."""
    return _squeezed(_path(folder, number).read_text(encoding="utf-8"))


def _path(folder: Path, number: str) -> Path:
    (path,) = folder.glob(f"seeds/{number}_*.txt")
    return path


def statements(folder: Path, number: str) -> list[Statement]:
    """Return every statement of a document, in order: nothing of it is left out but headings and empty lines."""
    found: list[Statement] = []
    for heading, body in read(folder, number).sections.items():
        found += [Statement(heading, text) for text in _prose(_FENCE.sub("\n", body))]
        for index, (_, code) in enumerate(_FENCE.findall(body)):
            lines = [_squeezed(line) for line in code.splitlines()]
            found += [Statement(heading, line, index) for line in lines if re.search(r"\w", line)]
    return found


def _prose(body: str) -> Iterator[str]:
    """Yield the rows of tables, without their heads, and the sentences of paragraphs and lists."""
    for paragraph in re.split(r"\n\s*\n", body):
        lines = paragraph.strip().splitlines()
        if lines and lines[0].startswith("|"):
            yield from (_squeezed(line.strip("| ")) for line in lines[2:])
            continue
        items = re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", paragraph)
        for item in items:
            yield from (_squeezed(each) for each in _SENTENCE_END.split(_MARKER.sub("", item.strip())) if each.strip())
