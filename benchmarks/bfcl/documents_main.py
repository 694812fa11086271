"""The leaderboard's function documents, all of them, and what is printed of them."""

import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping

from benchmarks.bfcl.documents import load_questions
from benchmarks.bfcl.documents_providers import FORMATS, Requests
from benchmarks.bfcl.documents_run import Checker, Report
from benchmarks.bfcl.entries import PackageMissingError, evenly
from benchmarks.bfcl.progress import shown

__all__ = ["check_documents"]

WHOLE = {"documents": 9144, "calls": 3302, "contradicting": 38}
"""What all of the package amounts to, so that a run that has found less is no success."""


def check_documents(only: int | None = None, *, as_json: bool = False) -> int:
    """Check all questions, or `only` so many, print what is wrong and a summary, and return the exit code.

    That is 0 when nothing is wrong, 1 when something is, 2 when a package is missing.
    """
    began = time.perf_counter()
    try:
        questions = evenly(load_questions(), only)
        checker = Checker(Requests())
    except PackageMissingError as error:
        print(error, file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed: run `make bench-bfcl-documents`, which installs it", file=sys.stderr)
        return 2
    for question in shown(questions):
        checker.check(question)
    report = checker.report
    counts = _counts(report)
    if only is None:
        report.problems += _short_of(WHOLE, counts)
    _print(report, counts, round(time.perf_counter() - began, 1), as_json=as_json)
    return 1 if report.problems else 0


def _short_of(whole: Mapping[str, int], counts: Mapping[str, int]) -> list[str]:
    wrong = [name for name, count in whole.items() if counts[name] != count]
    return [f"there are {counts[name]} {name} in place of {whole[name]}" for name in wrong]


def _counts(report: Report) -> dict[str, int]:
    return {
        "documents": report.documents,
        "exports": report.exports,
        "refused": report.refused,
        "calls": report.calls,
        "valid": report.valid,
        "contradicting": len(report.contradicting),
    }


def _times(report: Report) -> dict[str, int]:
    return {
        f"{name}_us_median": round(statistics.median(times) * 1e6)
        for name, times in (
            ("import", report.import_times),
            ("export", report.export_times),
            ("call", report.call_times),
        )
        if times
    }


def _print(report: Report, counts: dict[str, int], seconds: float, *, as_json: bool) -> None:
    kinds = Counter(kind for found in report.contradicting.values() for kind in found)
    if as_json:
        lists = {"contradictions": list(report.contradicting), "kinds": kinds, "problems": report.problems}
        further = {"further": report.further, "formats": FORMATS}
        print(json.dumps({**counts, **further, **_times(report), "seconds": seconds, **lists}, indent=2))
        return
    for problem in report.problems:
        print(f"problem: {problem}")
    for call in report.contradicting:
        print(f"contradicts its document: {call}")
    print(f"contradictions by kind: {' '.join(f'{kind}={count}' for kind, count in sorted(kinds.items()))}")
    print(f"formats: {', '.join(FORMATS)}; further documents, not counted: {report.further}")
    print(" ".join(f"{name}={value}" for name, value in _times(report).items()))
    print(" ".join(f"{name}={value}" for name, value in counts.items()), f"problems={len(report.problems)}", end=" ")
    print(f"seconds={seconds}")
