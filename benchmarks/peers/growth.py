"""Fresh programs of 1, 10, 100 and 1,000 callers at a time: ``python -m benchmarks.peers.growth SUBJECT``.

It prints one line of JSON for each number of callers: the median and the 99th percentile of the programs' times in
seconds, and the CPU time of an execution, of all processes together, in seconds. Standard library only, as `subject`.
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import Final

from benchmarks.peers.memory import cpu_seconds
from benchmarks.peers.newborn import ROOT
from benchmarks.peers.subject import Subject, elapsed
from benchmarks.peers.subjects import start
from benchmarks.peers.table import figure_text

__all__ = ["CALLERS", "GROWING", "Growth", "growth_lines", "measure_growth"]

CALLERS: Final = (1, 10, 100, 1_000)
GROWING: Final = ("ours", "ours_restored", "monty", "monty_once")
"""The subjects that 1,000 callers can use at a time."""
_PROGRAMS: Final = 600
_SMALL: Final = "x = 1 + 1\nx"
_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class Growth:
    """What one execution takes with so many callers at a time, in seconds."""

    callers: int
    median: float
    percentile_99: float
    cpu: float


def measure_growth(subject: str) -> list[Growth]:
    """Return the figures of a subject, measured in a process of its own; none if it cannot be measured."""
    command = [sys.executable, "-m", "benchmarks.peers.growth", subject]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_SECONDS)
    return [Growth(**json.loads(line)) for line in done.stdout.splitlines()]


def growth_lines(title: str, rows: list[Growth]) -> list[str]:
    """Return the figures of one subject as lines."""
    return [f"{title}: not measured"] * (not rows) + [
        f"{title}, {row.callers:,} at a time: p50 {figure_text(row.median, 'seconds')}, p99 "
        f"{figure_text(row.percentile_99, 'seconds')}, CPU {figure_text(row.cpu, 'seconds')} an execution"
        for row in rows
    ]


def _grow(subject: Subject, callers: int) -> Growth:
    each = max(2, _PROGRAMS // callers)
    times: list[float] = []
    together = threading.Barrier(callers)

    def call() -> None:
        together.wait()
        times.extend([elapsed(lambda: subject.run(_SMALL)) for _ in range(each)])

    before = cpu_seconds(os.getpid())
    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # The last processes are replaced after their results are out.
    time.sleep(0.5)
    cpu = cpu_seconds(os.getpid()) - before
    return Growth(callers, statistics.median(times), statistics.quantiles(times, n=100)[98], cpu / len(times))


def main(name: str) -> None:
    """Measure the subject ``name`` and print its figures."""
    subject = start(name)
    try:
        subject.run(_SMALL)
        for callers in CALLERS:
            print(json.dumps(asdict(_grow(subject, callers))), flush=True)
    finally:
        subject.close()


if __name__ == "__main__":
    main(sys.argv[1])
