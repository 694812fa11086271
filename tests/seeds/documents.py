"""The documents this library began with, as their sections, code blocks and tables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Seed", "misquoted", "read"]


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


def misquoted(folder: Path, number: str, tests: Mapping[str, object]) -> list[str]:
    """Return what the docstrings of a module's tests quote, a statement a line, and the document does not say."""
    (path,) = folder.glob(f"seeds/{number}_*.txt")
    text = " ".join(path.read_text(encoding="utf-8").split())
    quoting = [each.__doc__ or "" for name, each in tests.items() if name.startswith("test_") and callable(each)]
    lines = [line.strip() for quotes in quoting for line in quotes.splitlines() if line.strip()]
    return [line for line in lines if " ".join(line.split()) not in text]


def read(folder: Path, number: str) -> Seed:
    (path,) = folder.glob(f"seeds/{number}_*.txt")
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    text = path.read_text(encoding="utf-8")
    hidden = fence.sub(lambda block: block[0].replace("\n#", "\n\0"), text)  # a comment is no heading
    parts = re.split(r"^#+ (.+)$", hidden, flags=re.MULTILINE)
    sections = {heading: body.replace("\n\0", "\n#") for heading, body in zip(parts[1::2], parts[2::2], strict=True)}
    return Seed(sections, {heading: fence.findall(body) for heading, body in sections.items()})
