"""Views of objects: as HTML for notebooks, and as what rich prints.

Notebooks remove scripts, and many their styles, so that each element has what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ez_ptc.view.markup import cut_middle, draw_pictures, element, indented_json, markup_text, visible_text
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

__all__ = ["draw_parts", "draw_renderables"]

_PRE: Final = (
    "margin:.2em 0;font-family:monospace;white-space:pre-wrap;overflow-wrap:anywhere;max-height:30em;overflow:auto"
)
_MARKED: Final = f"{_PRE};border-left:.2em solid;padding-left:.6em"
_CELL: Final = "text-align:left;vertical-align:top;white-space:pre-wrap;overflow-wrap:break-word;max-width:60ch"
_NOTE: Final = "margin:.2em 0;opacity:.75;font-size:85%"


def draw_parts(parts: Iterable[ViewPart]) -> str:
    """Return the element with all parts; texts keep their own direction."""
    return element("div", "".join(map(_draw_part, parts)), style="unicode-bidi:isolate")


def _draw_part(part: ViewPart) -> str:
    match part:
        case TextPart(text, most, role) if text:
            style = _PRE
            if role != "text":
                style = _MARKED
            return element("pre", markup_text(text, most), style=style)
        case ValuePart(value, _, most):
            if is_table(value):
                return "".join(map(_draw_part, records_table(value)))
            return element("pre", markup_text(indented_json(value, most), most), style=_PRE)
        case NotePart(text) if text:
            return element("p", markup_text(text, MAX_CELL), style=_NOTE)
        case TablePart():
            return _draw_table(part)
        case _:
            return draw_pictures(part.images if isinstance(part, PicturesPart) else ())


def _draw_table(part: TablePart) -> str:
    """Return a table, folded if it has a title; long cells are cut."""
    rows = [_draw_row("td", row) for row in part.rows]
    if any(part.heads):
        rows.insert(0, _draw_row("th", part.heads))
    table = element("div", element("table", element("tbody", "".join(rows))), style="overflow:auto")
    if part.title is None:
        return table
    return element("details", element("summary", markup_text(part.title, MAX_CELL)) + table)


def _draw_row(tag: str, cells: Iterable[str]) -> str:
    return element("tr", "".join(element(tag, markup_text(cell, MAX_CELL), style=_CELL) for cell in cells))


_MAX_TEXT: Final = 20_000
_STYLES: Final = {"text": "", "error": "red", "question": "yellow"}


def draw_renderables(parts: Iterable[ViewPart]) -> Iterator[RenderableType]:
    """Yield what rich prints for some parts."""
    for view_part in parts:
        match view_part:
            case TextPart(text, most, role) if text:
                yield _foreign(text.rstrip("\n"), most, _STYLES[role])
            case ValuePart(value) if is_table(value):
                yield from draw_renderables(records_table(value))
            case ValuePart(_, text, most) if text:
                yield _foreign(text, most)
            case NotePart(text) if text:
                yield _foreign(text, MAX_CELL, "dim")
            case TablePart():
                yield _build_rich_table(view_part)
            case PicturesPart(images) if images:
                yield _foreign(f"pictures: {len(images):,}", MAX_CELL, "dim")
            case _:
                continue


def _foreign(text: str, most: int, style: str = "") -> Text:
    from rich.text import Text

    # A Text, unlike a str, is not searched for markup, links and emoji.
    return Text(visible_text(cut_middle(text, min(most, _MAX_TEXT))), style=style, overflow="fold")


def _build_rich_table(part: TablePart) -> Table:
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
