"""Figures of a journal with many runs, and of a program with many pauses."""

import statistics
from typing import Final, cast

from benchmarks.journal.asking import ask
from benchmarks.journal.subjects import OURS

__all__ = ["upkeep_lines"]

_RUNS: Final = 10_000


def upkeep_lines(rounds: int, runs: int = _RUNS) -> list[str]:
    """Return a table in Markdown. Each round is a new process with a new journal of so many runs."""
    answers = [cast("dict[str, list[float]]", ask(OURS, "upkeep", runs)) for _ in range(rounds)]
    lines = [f"| {runs:,} runs | median | lowest – highest |", "|---|---:|---:|"]
    for title in answers[0]:
        values = [value for answer in answers for value in answer[title]]
        lines.append(f"| {title} | {statistics.median(values):.2f} | {min(values):.2f} – {max(values):.2f} |")
    return lines
