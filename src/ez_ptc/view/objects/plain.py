"""Parts of an object as lines of text: bounded, and with visible control characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ez_ptc.schema.safe_repr import safe_line
from ez_ptc.view.markup import cut_middle, visible_text
from ez_ptc.view.objects.parts import MAX_CELL, MAX_ROWS, NotePart, PicturesPart, TablePart, TextPart, ValuePart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["plain_lines"]

_MAX_COLUMN: Final = 60


def plain_lines(parts: Iterable[ViewPart]) -> str:
    """Return the text of some parts, in lines without an end."""
    texts = (_part_text(view_part) for view_part in parts)
    return "\n".join(text for text in texts if text)


def _part_text(part: ViewPart) -> str:
    match part:
        case TextPart(text, most) | ValuePart(_, text, most):
            return visible_text(cut_middle(text, most)).rstrip("\n")
        case NotePart(text):
            return visible_text(cut_middle(text, MAX_CELL))
        case TablePart():
            return "\n".join(_table_lines(part))
        case PicturesPart(images):
            return f"pictures: {len(images):,}" * bool(images)


def _table_lines(table: TablePart) -> Iterator[str]:
    if table.title is not None:
        yield table.title
    rows = [*([table.heads] * any(table.heads)), *table.rows[:MAX_ROWS]]
    # Each cell on one line.
    lines = [[safe_line(" ".join(cell[: _MAX_COLUMN + 1].split()), _MAX_COLUMN) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    if len(table.rows) > MAX_ROWS:
        yield f"… {len(table.rows) - MAX_ROWS:,} more"
