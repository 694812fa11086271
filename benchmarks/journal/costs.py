"""Costs of a journal: CPU time and waits for the disk a call, and the time to resume a long run."""

import re
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from typing import Final, cast

from benchmarks.journal.asking import ask
from benchmarks.journal.kills import python_of
from benchmarks.journal.subjects import OURS, SUBJECTS

__all__ = ["cost_lines", "count_syncs", "resume_lines"]

_TRACED_STEPS: Final = 100
_SYNC: Final = re.compile(r"\b(?:fsync|fdatasync)\(")


def count_syncs(trace: str) -> int:
    """Return how many waits for the disk there are in the output of strace."""
    return len(_SYNC.findall(trace))


def _syncs(subject: str, action: str) -> float | None:
    """Return the waits for the disk a step, or None without strace."""
    strace = shutil.which("strace")
    if strace is None:
        return None

    def count(steps: int) -> int:
        with tempfile.NamedTemporaryFile("r", prefix="trace-") as trace:
            ask(subject, action, steps, (strace, "-f", "-e", "trace=fsync,fdatasync", "-o", trace.name))
            return count_syncs(trace.read())

    return (count(_TRACED_STEPS) - count(0)) / _TRACED_STEPS


def cost_lines(subjects: Sequence[str], rounds: int, steps: int) -> list[str]:
    """Return a table in Markdown: CPU time of the process that keeps the journal and waits for the disk, of one step.

    Each round asks every row in turn; a figure is the median of its rounds.
    """
    rows = [(subject, "steps", SUBJECTS[subject]) for subject in subjects if python_of(subject)]
    if OURS in subjects:
        rows.insert(1, (OURS, "parallel", f"{SUBJECTS[OURS]}, calls of `parallel`, 20 at a time"))
        rows.insert(0, (OURS, "plain", f"{SUBJECTS[OURS]}, no journal"))
    figures: dict[str, list[float]] = {title: [] for _, _, title in rows}
    for _ in range(rounds):
        for subject, action, title in rows:
            figures[title].append(cast("float", ask(subject, action, steps)) / steps * 1e6)
    lines = ["| | µs of CPU a step | lowest – highest | waits for the disk a step |", "|---|---:|---:|---:|"]
    for subject, action, title in rows:
        syncs = _syncs(subject, action)
        text = "–" if syncs is None else f"{syncs:.2f}"
        values = figures[title]
        span = f"{min(values):,.0f} – {max(values):,.0f}"
        lines.append(f"| {title} | {statistics.median(values):,.0f} | {span} | {text} |")
    return lines


def resume_lines(rounds: int, calls: int) -> list[str]:
    """Return a table in Markdown: the time from `toolkit.resume` to the result of a run with recorded calls.

    A fresh worker runs it; the first row is the program of as many calls without a journal.
    """
    answers = [cast("dict[str, list[list[float]]]", ask(OURS, "resume", calls)) for _ in range(rounds)]
    lines = [f"| {calls:,} calls | ms | lowest – highest | ms of CPU | lowest |", "|---|---:|---:|---:|---:|"]
    for title in answers[0]:
        pairs = [pair for answer in answers for pair in answer[title]]
        wall, cpu = ([pair[number] * 1e3 for pair in pairs] for number in range(2))
        span = f"{min(wall):.0f} – {max(wall):.0f}"
        lines.append(
            f"| {title} | {statistics.median(wall):.0f} | {span} | {statistics.median(cpu):.0f} | {min(cpu):.0f} |"
        )
    return lines
