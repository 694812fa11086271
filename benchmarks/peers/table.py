"""The figures as text: one table with this library's share of each peer's figure, and the targets below it."""

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.peers.results import Verdict

__all__ = ["figure_text", "table_lines", "verdict_line"]

_NONE: Final = "–"
_THREE_DIGITS: Final = 100
_TWO_DIGITS: Final = 10
_SMALL_RATIO: Final = 0.1


def figure_text(figure: float | None, unit: str) -> str:
    """Return a figure with its unit, three digits of it."""
    if figure is None:
        return _NONE
    if unit == "seconds":
        for size, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if figure >= size:
                return f"{_digits(figure / size)} {name}"
        return f"{_digits(figure / 1e-9)} ns"
    if unit == "bytes":
        return f"{_digits(figure / 1e6)} MB"
    if unit == "flag":
        return "yes" if figure else "no"
    return f"{figure:,.0f}/s"


def _digits(number: float) -> str:
    return f"{number:,.{0 if number >= _THREE_DIGITS else 1 if number >= _TWO_DIGITS else 2}f}"


def table_lines(
    rows: Sequence[tuple[str, str, str]], columns: Mapping[str, str], medians: Mapping[tuple[str, str], float]
) -> list[str]:
    """Return the table.

    Args:
        rows: The name, title and unit of each measure.
        columns: The name and title of each subject; the first one is compared with the others.
        medians: The figures, by measure and subject.
    """
    ours = next(iter(columns))
    lines = [["", *columns.values()]]
    for name, title, unit in rows:
        own = medians.get((name, ours))
        cells = [_cell(medians.get((name, column)), own if column != ours else None, unit) for column in columns]
        lines.append([title, *cells])
    widths = [max(len(line[number]) for line in lines) for number in range(len(lines[0]))]
    return ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines]


def _cell(figure: float | None, own: float | None, unit: str) -> str:
    text = figure_text(figure, unit)
    if not figure or own is None or unit == "flag":
        return text
    ratio = own / figure
    return f"{text} ×{_digits(ratio) if ratio >= _SMALL_RATIO else f'{ratio:.2g}'}"


def verdict_line(verdict: Verdict, title: str, unit: str, peer: str | None) -> str:
    """Return one target as a line: what was aimed at, what was measured, and whether that is enough."""
    target = verdict.target
    if target.relative_to is None:
        limit, found = figure_text(target.limit, unit), figure_text(verdict.figure, unit)
    else:
        limit = f"{target.limit:g} × {peer}"
        found = _NONE if verdict.figure is None else f"{verdict.figure:.2f} ×"
    aim = limit if unit == "flag" else f"{target.kind} {limit}"
    return f"{'met   ' if verdict.met else 'MISSED'}  {title}: {found} (target: {aim})"
