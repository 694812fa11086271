"""The parts of an object in notebooks and terminals; each of them draws the parts in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from ez_ptc.view.markup import structure_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ez_ptc.messages import ImageMessage

__all__ = [
    "MAX_CELL",
    "MAX_ROWS",
    "NotePart",
    "PicturesPart",
    "TablePart",
    "TextPart",
    "ValuePart",
    "ViewPart",
    "cell_text",
    "is_table",
    "records_table",
]

MAX_CELL: Final = 200
"""The characters of one cell, and of a remark."""

MAX_ROWS: Final = 50
"""The rows of one table."""

_MAX_COLUMNS: Final = 20


@dataclass(frozen=True, slots=True)
class TextPart:
    """Foreign text in its own lines, of which `most` characters are shown."""

    text: str
    most: int
    role: Literal["text", "error", "question"] = "text"


@dataclass(frozen=True, slots=True)
class NotePart:
    """A remark of ours; foreign text in it is cut."""

    text: str


@dataclass(frozen=True, slots=True)
class TablePart:
    """Rows of texts below their heads; one with a title may be folded."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ValuePart:
    """A value by its structure, or as a table if it is one; a terminal shows `text` instead of structure."""

    value: object
    text: str
    most: int


@dataclass(frozen=True, slots=True)
class PicturesPart:
    """Pictures."""

    images: Sequence[ImageMessage]


ViewPart: TypeAlias = TextPart | NotePart | TablePart | ValuePart | PicturesPart


def is_table(value: object) -> bool:
    """Return whether a value is a table, as programs return frames: a list of dicts with the same keys."""
    if type(value) is not list or not value:
        return False
    rows = cast("list[object]", value)
    if set(map(type, rows)) != {dict}:
        return False
    keys = cast("dict[object, object]", rows[0]).keys()
    return bool(keys) and all(cast("dict[object, object]", row).keys() == keys for row in rows)


def records_table(value: Any) -> tuple[TablePart, NotePart]:  # noqa: ANN401 - what `is_table` is true for
    """Return rows with the same keys as a table: the first 50 rows and 20 columns, and the number of all."""
    rows: list[dict[object, object]] = value
    names = list(rows[0])[:_MAX_COLUMNS]
    table = TablePart(
        [str(name) for name in names], [[cell_text(row[name]) for name in names] for row in rows[:MAX_ROWS]]
    )
    return table, NotePart(f"{len(rows):,} rows × {len(rows[0]):,} columns")


def cell_text(value: object) -> str:
    """Return a value as the text of a cell."""
    if type(value) is str:
        return value
    return structure_json(value, MAX_CELL)
