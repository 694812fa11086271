"""What a toolkit without a journal pays for the journal's existence: the library before it had one, side by side."""

import os
import statistics
import subprocess
from pathlib import Path
from typing import Final

from benchmarks.journal.kills import ROOT, python_of
from benchmarks.journal.subjects import OURS

__all__ = ["off_lines"]

_MEASURES: Final = ("fresh_in_a_row", "fresh_spaced", "call_small")


def off_lines(before: Path, rounds: int) -> list[str]:
    """Return a table in Markdown: this library, and the checkout `before`."""
    figures = _measure([ROOT, before.absolute()], rounds)
    lines = ["| | now, µs | before, µs | now ÷ before, medians | lowest ÷ lowest |", "|---|---:|---:|---:|---:|"]
    for measure in _MEASURES:
        now, then = ([seconds * 1e6 for seconds in figures[measure, number]] for number in range(2))
        medians = statistics.median(now), statistics.median(then)
        lines.append(
            f"| {measure} | {medians[0]:.1f} | {medians[1]:.1f} | {medians[0] / medians[1]:.3f} | "
            f"{min(now) / min(then):.3f} |"
        )
    return lines


def _measure(checkouts: list[Path], rounds: int) -> dict[tuple[str, int], list[float]]:
    """Return the figures of each measure in each checkout, whose processes answer in turns."""
    processes = [_start(path) for path in checkouts]
    figures: dict[tuple[str, int], list[float]] = {}
    try:
        for process in processes:
            _read_line(process)
        for turn in range(rounds):
            for measure in _MEASURES:
                # Each round another one begins.
                for number in (turn % 2, 1 - turn % 2):
                    print(measure, file=processes[number].stdin, flush=True)
                    figures.setdefault((measure, number), []).append(float(_read_line(processes[number])))
    finally:
        for process in processes:
            process.communicate()
    return figures


def _start(checkout: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python_of(OURS), "-m", "benchmarks.peers.measurer", OURS],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.fspath(checkout / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()
