"""What a cell of a notebook shows: bounded, without a script, and in the notebook's own colors.

Notebooks remove scripts, and many their styles, so that each element has what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ez_ptc.view.markup import element, indented_json, markup_text
from ez_ptc.view.objects.parts import (
    MAX_CELL,
    NotePart,
    PicturesPart,
    TablePart,
    TextPart,
    ValuePart,
    is_table,
    records_table,
)
from ez_ptc.view.pictures import draw_pictures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ez_ptc.view.objects.parts import ViewPart

__all__ = ["draw_parts"]

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
