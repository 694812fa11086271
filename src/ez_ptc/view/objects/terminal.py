"""Parts of an object for rich, which the caller has installed: foreign text is never read as its markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ez_ptc.view.markup import cut_middle, visible_text
from ez_ptc.view.objects.parts import (
    MAX_CELL,
    MAX_ROWS,
    NotePart,
    PicturesPart,
    TablePart,
    TextPart,
    ValuePart,
    is_table,
    records_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["draw_renderables"]

_MAX_TEXT: Final = 20_000
_STYLES: Final = {"text": "", "error": "red", "question": "yellow"}


def draw_renderables(parts: Iterable[ViewPart]) -> Iterator[RenderableType]:
    """Yield what rich prints for some parts."""
    for part in parts:
        match part:
            case TextPart(text, most, role) if text:
                yield _foreign(text.rstrip("\n"), most, _STYLES[role])
            case ValuePart(value) if is_table(value):
                yield from draw_renderables(records_table(value))
            case ValuePart(_, text, most) if text:
                yield _foreign(text, most)
            case NotePart(text) if text:
                yield _foreign(text, MAX_CELL, "dim")
            case TablePart():
                yield _draw_table(part)
            case PicturesPart(images) if images:
                yield _foreign(f"pictures: {len(images):,}", MAX_CELL, "dim")
            case _:
                continue


def _foreign(text: str, most: int, style: str = "") -> Text:
    from rich.text import Text

    # A Text, unlike a str, is not searched for markup, links and emoji.
    return Text(visible_text(cut_middle(text, min(most, _MAX_TEXT))), style=style, overflow="fold")


def _draw_table(part: TablePart) -> Table:
    from rich.table import Table

    title = part.title and _foreign(part.title, MAX_CELL, "dim")
    table = Table(title=title or None, title_justify="left", show_header=any(part.heads))
    for head in part.heads:
        table.add_column(_foreign(head, MAX_CELL), overflow="fold")
    for row in part.rows[:MAX_ROWS]:
        table.add_row(*(_foreign(cell, MAX_CELL) for cell in row))
    if len(part.rows) > MAX_ROWS:
        table.caption = f"… {len(part.rows) - MAX_ROWS:,} more"
    return table
