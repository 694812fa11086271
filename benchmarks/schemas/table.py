"""The figures as text: one table in which every figure is a multiple of one subject's."""

from collections.abc import Mapping

from benchmarks.peers.table import figure_text

__all__ = ["table_lines"]


def table_lines(
    rows: Mapping[str, str], columns: Mapping[str, str], medians: Mapping[tuple[str, str], float], *, reference: str
) -> list[str]:
    """Return the table.

    Args:
        rows: The title of each measure, by its name.
        columns: The title of each subject, by its name.
        medians: The figures in seconds, by measure and subject.
        reference: The subject that the others are compared with.
    """
    lines = [["", *columns.values()]]
    for name, title in rows.items():
        least = medians.get((name, reference))
        cells = [_cell(medians.get((name, column)), least if column != reference else None) for column in columns]
        lines.append([title, *cells])
    widths = [max(len(line[number]) for line in lines) for number in range(len(lines[0]))]
    return ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines]


def _cell(figure: float | None, least: float | None) -> str:
    text = figure_text(figure, "seconds")
    return text if not figure or not least else f"{text} ×{figure / least:.2f}"
