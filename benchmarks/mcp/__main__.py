"""Compare MCP clients on one handwritten server: ``make bench-mcp``.

The rounds of the subjects alternate, and medians are printed. A call is awaited in an event loop that runs already; a
program makes 100 calls, in our sandbox or in FastMCP's code mode; memory is that of the client's process.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

__all__ = ["main"]

_SUBJECTS = {"mcp (SDK)": "sdk_client", "ez-ptc": "own_client", "FastMCP": "fastmcp_client"}
_SUBJECTS["pydantic-ai"] = "pydantic_ai_client"
_FIGURES = {
    "start_ms": "start, ms",
    "call_us": "call, µs",
    "call_cpu_us": "CPU a call, µs",
    "program_ms": "program, ms",
}
_FOLDER = Path(__file__).with_name("subjects")
_SERVER = Path(__file__).parents[2] / "tests" / "mcp" / "servers" / "raw.py"
_MAX_SECONDS = 300


def measure(python: str, subject: str, scenario: str, calls: int) -> dict[str, float | None]:
    """Run a subject in its own process, and return its figures."""
    command = [python, str(_FOLDER / f"{subject}.py"), str(calls), sys.executable, str(_SERVER), scenario]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_MAX_SECONDS, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp", description=__doc__)
    parser.add_argument("--peers", required=True, metavar="PYTHON", help="the interpreter with the peers")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each is measured (3)")
    parser.add_argument("--calls", type=int, default=300, metavar="N", help="calls in a round (300)")
    options = parser.parse_args(arguments)
    rounds: dict[str, list[dict[str, float | None]]] = {name: [] for name in _SUBJECTS}
    memory: dict[str, float | None] = {}
    for number in range(options.rounds):
        for name, subject in _SUBJECTS.items():
            python = sys.executable if subject == "own_client" else options.peers
            rounds[name].append(measure(python, subject, "plain", options.calls))
            if number == 0:
                memory[name] = measure(python, subject, "many", 0)["memory_mib"]
    print("| client | " + " | ".join([*_FIGURES.values(), "memory with 1,000 tools, MiB"]) + " |")
    print("|---|" + "---|" * (len(_FIGURES) + 1))
    for name, figures in rounds.items():
        cells = [_cell([figure[key] for figure in figures]) for key in _FIGURES]
        print("| " + " | ".join([name, *cells, _cell([memory[name]])]) + " |")
    return 0


def _cell(values: list[float | None]) -> str:
    numbers = [value for value in values if value is not None]
    return f"{median(numbers):,.0f}" if numbers else "–"


if __name__ == "__main__":
    sys.exit(main())
