"""Kill durable runs, and measure what a journal and streaming cost: ``make bench-journal``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.journal.costs import cost_lines, resume_lines
from benchmarks.journal.kills import run_points, table_lines
from benchmarks.journal.off import off_lines
from benchmarks.journal.servers import HAS_SERVER, capacity_lines, server_lines
from benchmarks.journal.streams import stream_lines
from benchmarks.journal.subjects import SUBJECTS
from benchmarks.journal.upkeep import upkeep_lines
from benchmarks.journal.workload import POINTS

__all__ = ["main"]

_BEFORE_MISSING = (
    "--only off compares with an earlier checkout: pass --before CHECKOUT, made by "
    "`git worktree add --detach CHECKOUT c22d3fd`, or run `make bench-journal-off`"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journal", description=__doc__)
    parser.add_argument(
        "--only", choices=["kills", "costs", "resume", "upkeep", "stream", "off", "servers"], help="only this part"
    )
    parser.add_argument("--subject", action="append", choices=SUBJECTS, help="only this one; may be given repeatedly")
    parser.add_argument("--point", action="append", choices=POINTS, help="only this one; may be given repeatedly")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often costs are measured (5)")
    parser.add_argument("--steps", type=int, default=1_000, metavar="N", help="calls in a measured program (1,000)")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="the library before it had a journal (c22d3fd)")
    options = parser.parse_args(arguments)
    if options.only == "off" and options.before is None:
        parser.error(_BEFORE_MISSING)
    subjects = options.subject or list(SUBJECTS)
    if options.only in {None, "kills"}:
        outcomes = run_points(subjects, options.point or POINTS, lambda text: print(text, file=sys.stderr, flush=True))
        print("\n".join(table_lines(outcomes)), flush=True)
    if options.only in {None, "costs"}:
        print("\n".join(cost_lines(subjects, options.rounds, options.steps)), flush=True)
    if options.only in {None, "resume"}:
        print("\n".join(resume_lines(options.rounds, options.steps)), flush=True)
    if options.only in {None, "upkeep"}:
        print("\n".join(upkeep_lines(options.rounds)), flush=True)
    if options.only in {None, "stream"}:
        print("\n".join(stream_lines(options.rounds)), flush=True)
    if HAS_SERVER and options.only in {None, "servers"}:
        print("\n".join(server_lines(options.rounds, options.steps)), flush=True)
        print("\n".join(capacity_lines()), flush=True)
    if options.before is not None and options.only in {None, "off"}:
        print("\n".join(off_lines(options.before, options.rounds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
