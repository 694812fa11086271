"""A journal on a PostgreSQL server beside one in a file, and what one server holds: ``--only servers``.

The address is in EZ_PTC_TEST_POSTGRES; `python -m tests.journal.stores.server` starts a server for a command.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

from benchmarks.journal.asking import ask
from benchmarks.journal.kills import ROOT, python_of
from benchmarks.journal.subjects.ours_costs import PARALLEL, STEPS, echo
from ez_ptc import Journal, Limits, ProcessSandbox, Toolkit

__all__ = ["HAS_SERVER", "capacity_lines", "main", "server_lines"]

_ADDRESS: Final = "EZ_PTC_TEST_POSTGRES"
HAS_SERVER: Final = _ADDRESS in os.environ
_PROCESSES: Final = (1, 2, 4, 8)
_RUNS: Final = 60
_CALLS: Final = 5
_WORKER: Final = "import sys; from benchmarks.journal.servers import main; main(int(sys.argv[1]))"


def server_lines(rounds: int, steps: int) -> list[str]:
    """Return a table in Markdown: wall-clock and CPU time of a call, in a file and on a server, in turn, and DBOS's."""
    programs = {"one after another": STEPS.format(steps), "`parallel`, 20 at a time": PARALLEL.format(steps)}
    lines = ["| calls | | µs a call | beside SQLite | µs of CPU in the host |", "|---|---|---:|---:|---:|"]
    in_file = dict.fromkeys(programs, 0.0)
    with tempfile.TemporaryDirectory() as folder, ProcessSandbox() as sandbox:
        for title, program in programs.items():
            figures: dict[str, list[tuple[float, float]]] = {"SQLite": [], "PostgreSQL": []}
            for _ in range(rounds):
                for name, place in (("SQLite", str(Path(folder) / "runs.db")), ("PostgreSQL", os.environ[_ADDRESS])):
                    figures[name].append(_time(place, program, sandbox))
            in_file[title] = statistics.median(wall for wall, _ in figures["SQLite"])
            lines += [_line(title, name, pairs, steps, in_file[title]) for name, pairs in figures.items()]
    return [*lines, *_dbos_lines(rounds, steps, in_file[next(iter(programs))])]


def _line(title: str, name: str, pairs: Sequence[tuple[float, float]], steps: int, in_file: float) -> str:
    wall, cpu = (statistics.median(pair[number] for pair in pairs) for number in range(2))
    return f"| {title} | {name} | {wall / steps * 1e6:,.0f} | {wall / in_file:.2f} | {cpu / steps * 1e6:,.0f} |"


def _time(place: str, program: str, sandbox: ProcessSandbox) -> tuple[float, float]:
    """Return the seconds of a program, and those of CPU in this process."""
    with Journal(place, retention=None) as journal:
        toolkit = Toolkit([echo], journal=journal, sandbox=sandbox, limits=Limits(timeout=600))
        toolkit.execute("echo(0)")
        began = time.perf_counter(), time.process_time()
        assert toolkit.execute(program).success
        return time.perf_counter() - began[0], time.process_time() - began[1]


def _dbos_lines(rounds: int, steps: int, in_file: float) -> list[str]:
    """Return the row of DBOS on the same server, if it is installed."""
    if not python_of("dbos_sqlite"):
        return []
    os.environ["EZ_PTC_BENCH_DBOS"] = os.environ[_ADDRESS]
    pairs = [cast("tuple[float, float]", ask("dbos_sqlite", "times", steps)) for _ in range(rounds)]
    del os.environ["EZ_PTC_BENCH_DBOS"]
    return [_line("one after another", "DBOS on PostgreSQL", pairs, steps, in_file)]


def capacity_lines(processes: Sequence[int] = _PROCESSES) -> list[str]:
    """Return a table in Markdown: what so many processes record a second, each with one program at a time."""
    lines = [
        "| processes | runs a second | events a second | CPU of the processes, ms a run |",
        "|---:|---:|---:|---:|",
    ]
    for count in processes:
        command = [sys.executable, "-c", _WORKER, str(_RUNS)]
        workers = [
            subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(count)
        ]
        try:
            for worker in workers:
                assert worker.stdout is not None
                worker.stdout.readline()
            began = time.perf_counter()
            outputs = [worker.communicate("\n", timeout=600)[0] for worker in workers]
            seconds = time.perf_counter() - began
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        cpu = sum(map(float, outputs)) / (count * _RUNS) * 1e3
        runs = count * _RUNS / seconds
        lines.append(f"| {count} | {runs:,.0f} | {runs * (2 + 2 * _CALLS):,.0f} | {cpu:.1f} |")
    return lines


def main(runs: int) -> None:
    """Run programs once the starter says so, and print the seconds of CPU of this process."""
    with Journal(os.environ[_ADDRESS], retention=None) as journal, ProcessSandbox(ready=2) as sandbox:
        toolkit = Toolkit([echo], journal=journal, sandbox=sandbox)
        program = STEPS.format(_CALLS)
        toolkit.execute(program)
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.process_time()
        for _ in range(runs):
            assert toolkit.execute(program).success
        print(time.process_time() - began)
