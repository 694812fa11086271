"""What a cell of a notebook shows: bounded, without a script, and in the notebook's own colors.

Notebooks remove scripts, and many their styles, so that each element has what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ez_ptc.view.markup import element, indented_json, markup_text, structure_json
from ez_ptc.view.pictures import draw_pictures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["draw_box", "draw_note", "draw_records", "draw_result", "draw_table", "draw_text", "is_table"]

_MAX_CALLS: Final = 50
_MAX_ROWS: Final = 50
_MAX_COLUMNS: Final = 20
_MAX_CELL: Final = 200
_MAX_IMAGES: Final = 20
_PRE: Final = (
    "margin:.2em 0;font-family:monospace;white-space:pre-wrap;overflow-wrap:anywhere;max-height:30em;overflow:auto"
)
_CELL: Final = "text-align:left;vertical-align:top;white-space:pre-wrap;overflow-wrap:anywhere"


def draw_result(result: Any, questions: Sequence[str]) -> str:  # noqa: ANN401 - an ExecutionResult, of a layer above
    """Return a program's result: its output, value, error, questions, pictures and calls."""
    most: int = result.max_text
    value: object = result.return_value
    parts = [draw_text(result.output, most)]
    if is_table(value):
        parts.append(draw_records(cast("list[dict[str, object]]", value)))
    elif value is not None:
        parts.append(draw_text(indented_json(value, most), most))
    else:
        parts.append(draw_text(result.described, most))
    parts.append(draw_text(result.error_output or result.error or "", most))
    parts += [draw_text(question, most) for question in questions]
    parts += [draw_pictures(result.images[:_MAX_IMAGES]), _draw_calls(result.tool_calls)]
    run = ""
    if result.run_id is not None:
        run = f", run {result.run_id}"
    parts.append(draw_note(f"{result.status} in {result.duration_ms:,.0f} ms{run}"))
    return draw_box(*parts)


def draw_box(*parts: str) -> str:
    """Return the element with all that a cell shows; texts keep their own direction."""
    return element("div", "".join(parts), style="unicode-bidi:isolate")


def draw_text(text: str, most: int) -> str:
    """Return text in its own lines, or "" without any."""
    if not text:
        return ""
    return element("pre", markup_text(text, most), style=_PRE)


def draw_note(text: str) -> str:
    """Return a remark of ours below a result."""
    return element("p", markup_text(text, _MAX_CELL), style="margin:.2em 0;opacity:.75;font-size:85%")


def draw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts; long ones are cut."""
    lines = [_draw_row("th", heads), *(_draw_row("td", row) for row in rows)]
    return element("table", element("tbody", "".join(lines)))


def is_table(value: object) -> bool:
    """Return whether a value is a table, as programs return frames: a list of dicts with the same keys."""
    if type(value) is not list or not value:
        return False
    rows = cast("list[object]", value)
    if set(map(type, rows)) != {dict}:
        return False
    keys = cast("dict[object, object]", rows[0]).keys()
    return bool(keys) and all(cast("dict[object, object]", row).keys() == keys for row in rows)


def draw_records(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows with the same keys as a table: the first 50 rows and 20 columns, and the number of the rest."""
    names = list(rows[0])[:_MAX_COLUMNS]
    table = draw_table(list(map(str, names)), ([_cell(row[name]) for name in names] for row in rows[:_MAX_ROWS]))
    return table + draw_note(f"{len(rows):,} rows × {len(rows[0]):,} columns")


def _cell(value: object) -> str:
    if type(value) is str:
        return value
    return structure_json(value, _MAX_CELL)


def _draw_row(tag: str, cells: Iterable[str]) -> str:
    return element("tr", "".join(element(tag, markup_text(cell, _MAX_CELL), style=_CELL) for cell in cells))


def _draw_calls(calls: Sequence[Mapping[str, Any]]) -> str:
    """Return the calls of a program, folded; `calls` are their records."""
    if not calls:
        return ""
    rows: list[Sequence[str]] = []
    for call in calls[:_MAX_CALLS]:
        arguments = [_cell(value) for value in call["args"]]
        arguments += [f"{name}={_cell(value)}" for name, value in call["kwargs"].items()]
        outcome = call["error"] or _cell(call["result"])
        rows.append((call["path"], f"{call['name']}({', '.join(arguments)})", outcome))
    if len(calls) > _MAX_CALLS:
        rows.append(("", f"… {len(calls) - _MAX_CALLS:,} more", ""))
    summary = element("summary", f"calls: {len(calls):,}")
    return element("details", summary + draw_table(("", "call", "result"), rows))
