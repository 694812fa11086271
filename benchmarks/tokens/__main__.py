"""``make bench-tokens``: what tasks take by single calls and by programs, with 3 to 10,000 tools, here and in peers.

The tasks are those of `make bench-model` over the tools of AgentDojo and BFCL, with their right programs: no model is
asked, so nothing is counted of what a model does wrong, or thinks.
"""

import argparse
import json
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Final

from benchmarks.tokens.peers import PeerFailedError, ask_peer
from benchmarks.tokens.spending import Spending, Turn, spend
from benchmarks.tokens.subjects import SUBJECTS
from benchmarks.tokens.traces import Trace, read_traces
from benchmarks.tokens.ways import WAYS, Ours

__all__ = ["main"]

_COUNTS: Final = (3, 30, 300, 3_000, 10_000)
_SECONDS: Final = 30.0
_SECONDS_OF_ALL: Final = 200.0
# Tasks with fewer calls have a table of their own: they are what single calls are for.
_MANY_CALLS: Final = 4

Figures = Mapping[str, Mapping[int, Sequence[Spending] | str]]


def measure(
    counts: Sequence[int], traces: Sequence[Trace], environments: Path, *, seconds: float, of_all: float
) -> Figures:
    """Return what each task takes in each way and with each number of tools; a text where a peer has failed.

    A peer with one number of tools may take `seconds` of CPU time, and all peers `of_all`.
    """
    began = _peers_seconds()
    figures: dict[str, dict[int, Sequence[Spending] | str]] = {name: {} for name in (*WAYS, *SUBJECTS)}
    for count in counts:
        ours = Ours(count)
        for way in WAYS:
            figures[way][count] = [_spend(trace, ours.turns(way, trace)) for trace in traces]
        for name in SUBJECTS:
            try:
                left = min(seconds, of_all - (_peers_seconds() - began))
                asked = ask_peer(name, count, traces, environments, left)
                figures[name][count] = [_spend(trace, turns) for trace, turns in zip(traces, asked, strict=True)]
            except PeerFailedError as error:
                figures[name][count] = str(error)
        print(f"{count:,} tools: measured", file=sys.stderr, flush=True)
    return figures


def _peers_seconds() -> float:
    """Return the CPU time of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _spend(trace: Trace, turns: Sequence[Turn]) -> Spending:
    return spend(trace.task.question, turns)


def table(figures: Figures, counts: Sequence[int], chosen: Sequence[int]) -> list[str]:
    """Return the means of the chosen tasks as lines of Markdown: tokens in, tokens out and requests."""
    lines = ["| | " + " | ".join(f"{count:,} tools" for count in counts) + " |", "|---" * (len(counts) + 1) + "|"]
    for name, row in figures.items():
        cells: list[str] = []
        for count in counts:
            spent = row[count]
            cell = "–"
            if not isinstance(spent, str):
                those = [spent[index] for index in chosen]
                tokens_in, tokens_out = mean(each.tokens_in for each in those), mean(each.tokens_out for each in those)
                cell = f"{tokens_in:,.0f} + {tokens_out:,.0f}, {mean(each.turns for each in those):.1f}"
            cells.append(cell)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def crossings(figures: Figures, counts: Sequence[int], chosen: Sequence[int]) -> list[str]:
    """Return from how many tools each way takes fewer tokens than single calls in parallel, a line each."""
    lines: list[str] = []
    for name, row in figures.items():
        paying = [count for count in counts if _is_less(row[count], figures["calls in parallel"][count], chosen)]
        if name.startswith("calls"):
            continue
        lines.append(f"- {name}: {f'from {paying[0]:,} tools' if paying else 'never'}")
    return lines


def _plain(spent: Sequence[Spending] | str) -> object:
    return spent if isinstance(spent, str) else [asdict(each) for each in spent]


def _is_less(one: Sequence[Spending] | str, other: Sequence[Spending] | str, chosen: Sequence[int]) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return False
    return sum(one[index].total for index in chosen) < sum(other[index].total for index in chosen)


def _report(
    title: str, figures: Figures, counts: Sequence[int], traces: Sequence[Trace], chosen: Sequence[int]
) -> list[str]:
    """Return the tables of the chosen tasks, or an empty list without tasks."""
    if not chosen:
        return []
    calls = mean(len(traces[index].calls) for index in chosen)
    returned = mean(sum(len(call.result) for call in traces[index].calls) for index in chosen)
    printed = mean(len(traces[index].printed) for index in chosen)
    return [
        f"\nTasks with {title}: {len(chosen)}, with {calls:.1f} calls. Of {returned:,.0f} characters of results, a",
        f"program leaves {printed:,.0f} in the context. Tokens in + out, requests; the mean of a task.\n",
        *table(figures, counts, chosen),
        "\nFewer tokens than single calls in parallel:\n",
        *crossings(figures, counts, chosen),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tokens", description=__doc__)
    parser.add_argument("--environments", type=Path, default=Path(".venv/tokens"), help="where the peers are installed")
    parser.add_argument("--count", type=int, action="append", help="a number of tools (3, 30, 300, 3,000, 10,000)")
    parser.add_argument("--only", type=int, help="so many tasks, spread over all")
    parser.add_argument(
        "--seconds", type=float, default=_SECONDS, help="the CPU time of one peer with one number of tools"
    )
    parser.add_argument("--of-all", type=float, default=_SECONDS_OF_ALL, help="the CPU time of all peers together")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    options = parser.parse_args(arguments)
    counts: Sequence[int] = options.count or _COUNTS
    traces = read_traces(options.only)
    figures = measure(counts, traces, options.environments, seconds=options.seconds, of_all=options.of_all)
    if options.json:
        rows = {name: {count: _plain(spent) for count, spent in row.items()} for name, row in figures.items()}
        print(json.dumps({"tasks": [trace.task.question for trace in traces], "figures": rows}))
        return 0
    many = [index for index, trace in enumerate(traces) if len(trace.calls) >= _MANY_CALLS]
    few = [index for index in range(len(traces)) if index not in many]
    print("\n".join(_report("at most 3 calls", figures, counts, traces, few)))
    print("\n".join(_report(f"at least {_MANY_CALLS} calls", figures, counts, traces, many)))
    for name, row in figures.items():
        for count, spent in row.items():
            if isinstance(spent, str):
                print(f"\n{name} with {count:,} tools: {spent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
