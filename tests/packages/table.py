"""The table of the documentation that says which packages work, and what they take."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .catalog import Package

__all__ = ["COLUMNS", "PAGE", "Cost", "replace_rows", "rough", "row", "rows_of"]

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "packages.md"
COLUMNS: Final = ("package", "works", "tried with", "first program", "memory")
_BEGIN, _END = "<!-- packages, by make test-packages -->", "<!-- end of packages -->"
_SECTION: Final = re.compile(f"{re.escape(_BEGIN)}\n(.*?){re.escape(_END)}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cost:
    """How long the first program took, in seconds, and the memory of what all programs are forked from, in MB."""

    seconds: float
    megabytes: float


def rough(number: float) -> str:
    """Return a positive number with its first digit only: another machine has other ones."""
    unit = 10.0 ** math.floor(math.log10(number))
    return f"{round(number / unit) * unit:.10g}"


def row(package: Package, cost: Cost) -> str:
    """Return the line of one package."""
    answer = "no" if package.error else "yes"
    works = f"{answer}: {package.note}" if package.note else answer
    cells = (f"`{package.name}`", works, package.version, f"{rough(cost.seconds)} s", f"{rough(cost.megabytes)} MB")
    return f"| {' | '.join(cells)} |"


def replace_rows(page: str, rows: Iterable[str]) -> str:
    """Return a page with these rows in its table."""
    head = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"
    section = "\n".join([_BEGIN, head, *rows, _END])
    return _SECTION.sub(lambda _: section, page)


def rows_of(page: str) -> list[list[str]]:
    """Return the cells of the table of a page, its first line included, and without the line below that."""
    found = _SECTION.search(page)
    lines = found[1].splitlines() if found else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")]
