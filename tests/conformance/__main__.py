"""Run CPython's own tests in the sandbox and in a plain process; exit with 1 if some differ for no documented cause."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .absences import is_absent
from .causes import Difference, differences
from .running import FOLDER, find_modules, run_inside, run_outside

_WIDTH = 60
_WHOLE = ("test.", "unittest.")


@dataclass
class Summary:
    """What all modules came to."""

    modules: int = 0
    passed: int = 0
    passed_outside: int = 0
    causes: Counter[str] = field(default_factory=Counter[str])
    unexplained: list[Difference] = field(default_factory=list[Difference])


def compare(module: str) -> tuple[int, list[Difference]]:
    """Return how many tests of a module pass outside, and those of them that do not in the sandbox."""
    outside = run_outside(module)
    passed = sum(outcome.outcome == "ok" for outcome in outside.tests.values())
    if not passed:
        return 0, []
    return passed, list(differences(run_inside(module), outside, module, is_absent))


def compare_all(modules: list[str], jobs: int) -> Summary:
    """Compare modules, some at a time, and print a line about each that differs."""
    summary = Summary()
    with ThreadPoolExecutor(jobs) as pool:
        for module, (passed, found) in zip(modules, pool.map(compare, modules), strict=True):
            summary.modules += passed > 0
            summary.passed_outside += passed
            summary.passed += passed - len(found)
            summary.causes.update(difference.cause for difference in found)
            unexplained = [difference for difference in found if not difference.cause]
            summary.unexplained += unexplained
            print(f"{module:<45} {passed - len(found):>5} of {passed:>5}", flush=True)
            for difference in unexplained:
                print(f"    {difference.test}: {difference.inside.outcome}: {' <- '.join(difference.inside.raised)!a}")
    return summary


def print_table(summary: Summary) -> None:
    """Print what was compared, and for which causes tests do not pass in the sandbox."""
    print(f"\n{summary.modules} modules; {summary.passed:,} of {summary.passed_outside:,} tests that pass outside pass")
    for cause, count in summary.causes.most_common():
        print(f"{cause or 'NO DOCUMENTED CAUSE':<{_WIDTH}} {count:>6,}")


def main() -> int:
    """Compare the modules that are named, or all that are installed."""
    parser = argparse.ArgumentParser(prog="make test-conformance", description=__doc__)
    parser.add_argument("modules", nargs="*", help="as in test_json.test_decode; all of them if none is named")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="modules at a time")
    arguments = parser.parse_args()
    if not FOLDER.joinpath("support", "__init__.py").is_file():
        print(f"nothing to compare: CPython's own tests are not part of this installation ({sys.base_prefix})")
        return 0
    modules = [name if name.startswith(_WHOLE) else f"test.{name}" for name in arguments.modules] or find_modules()
    summary = compare_all(modules, arguments.jobs)
    print_table(summary)
    return 1 if summary.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
