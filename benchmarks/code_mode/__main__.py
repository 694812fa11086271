"""Compare code modes in Pydantic AI's agent loop: ``make bench-code-mode``.

A scripted model writes one program with four calls of two tools, and repeats its output. The rounds of the subjects
alternate, and medians are printed. CPU is that of the agent's process, without the sandbox.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

__all__ = ["main"]

_SUBJECTS = {"pydantic-ai-harness": "harness", "ez-ptc, CodeMode": "code_mode", "ez-ptc, export_tools": "export_tools"}
_SCRIPT = Path(__file__).with_name("subject.py")
_MAX_SECONDS = 300


def measure(python: str, subject: str, runs: int) -> dict[str, float]:
    """Run a subject in its own process, and return its figures."""
    command = [python, str(_SCRIPT), subject, str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_MAX_SECONDS, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.code_mode", description=__doc__)
    parser.add_argument("--python", required=True, metavar="PYTHON", help="the interpreter with all of them")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each is measured (3)")
    parser.add_argument("--runs", type=int, default=40, metavar="N", help="runs of the agent in a round (40)")
    options = parser.parse_args(arguments)
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in _SUBJECTS}
    for _ in range(options.rounds):
        for name, subject in _SUBJECTS.items():
            figures[name].append(measure(options.python, subject, options.runs))
    print("| in Pydantic AI's loop | a run, ms | of the harness's | CPU, ms |")
    print("|---|---|---|---|")
    first = median(figure["ms"] for figure in figures["pydantic-ai-harness"])
    for name, rounds in figures.items():
        wall, cpu = (median(figure[key] for figure in rounds) for key in ("ms", "cpu_ms"))
        print(f"| {name} | {wall:.1f} | {wall / first:.2f} | {cpu:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
