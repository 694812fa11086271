"""Run the leaderboard's multi-turn entries, or check its documents: ``python -m benchmarks.bfcl [--documents]``.

Exit codes: 0 when everything agreed, 1 on a mismatch, 2 when a package is missing.
"""

import argparse
import dataclasses
import json
import statistics
import sys
import time
from collections.abc import Sequence

from benchmarks.bfcl.entries import CORRECTED, PackageMissingError, evenly, load_apis, load_entries
from benchmarks.bfcl.progress import shown
from benchmarks.bfcl.run import Report, Runner
from ez_ptc import Toolkit

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the entries, print what differs and a summary, and return the exit code."""
    options = _options(arguments)
    if options.documents:
        from benchmarks.bfcl.documents_main import check_documents

        return check_documents(options.only, as_json=options.json)
    try:
        entries = evenly(load_entries(), options.only)
        apis = load_apis(entries, as_shipped=options.as_shipped)
    except PackageMissingError as error:
        print(error, file=sys.stderr)
        return 2
    began = time.perf_counter()
    runner = Runner(apis)
    with Toolkit([]) as holder:
        holder.execute("None")  # toolkits share one sandbox, which lives as long as one of them uses it
        for entry in shown(entries):
            for mismatch in runner.run(entry):
                if not options.json:
                    print(mismatch)
    seconds = time.perf_counter() - began
    if options.json:
        print(json.dumps(_as_json(runner.report, seconds), indent=2))
    else:
        _summarise(runner.report, seconds, as_shipped=options.as_shipped)
    return 1 if runner.report.mismatches else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bfcl", description=__doc__)
    parser.add_argument(
        "--documents",
        action="store_true",
        help="import the function documents instead, export them to every format and check the ground-truth calls",
    )
    parser.add_argument("--only", type=int, metavar="N", help="run N entries (or questions), spread over all")
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of text")
    parser.add_argument(
        "--as-shipped",
        action="store_true",
        help="leave the package's one wrong annotation alone: four calls are then refused",
    )
    return parser.parse_args(arguments)


def _times(report: Report) -> dict[str, float]:
    return {
        f"{name}_ms_median": round(statistics.median(times) * 1000, 2)
        for name, times in (
            ("describe_tool", report.describe_times),
            ("toolkit", report.toolkit_times),
            ("program", report.program_times),
        )
        if times
    }


def _as_json(report: Report, seconds: float) -> dict[str, object]:
    return {
        "entries": report.entries,
        "turns": report.turns,
        "calls": report.calls,
        "mismatches": [
            {"entry": one.entry, "turn": one.turn, **dataclasses.asdict(one.difference)} for one in report.mismatches
        ],
        "results_refused": report.refused,
        "seconds": round(seconds, 1),
        **_times(report),
    }


def _summarise(report: Report, seconds: float, *, as_shipped: bool) -> None:
    owner, method, parameter, annotation = CORRECTED
    if not as_shipped:
        print(f"corrected: {owner}.{method}({parameter}: {annotation}), which the package annotates as int")
    print(f"results that are no data, refused by name: {report.refused}")
    print(" ".join(f"{name}={value}" for name, value in _times(report).items()))
    print(
        f"entries={report.entries} turns={report.turns} calls={report.calls} "
        f"mismatches={len(report.mismatches)} seconds={seconds:.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())
