"""Measure this library beside its peers: ``make bench``, or ``make bench ARGS="--rounds 9 --json"``.

Every subject runs in a process of its own that is started once. Each round puts each question to all of them in turn,
so that whatever else the machine does meets all alike; a figure is the median of its rounds. The exit code is 0
whatever was measured, and with --check 1 when a target is missed.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Sequence

from benchmarks.peers.column import Column
from benchmarks.peers.growth import GROWING, Growth, growth_lines, measure_growth
from benchmarks.peers.machine import Machine, busy_share
from benchmarks.peers.measures import MEASURES, Measure
from benchmarks.peers.newborn import NEWBORN_MEASURES, NewbornMeasure
from benchmarks.peers.own_growth import own_lines
from benchmarks.peers.results import TARGETS, Figures, Verdict
from benchmarks.peers.subjects import OURS, SUBJECTS
from benchmarks.peers.table import table_lines, verdict_line

__all__ = ["main"]

_Load = dict[str, float | None]
_Problems = dict[str, list[str]]
_Growths = dict[str, list[Growth]]

_MEASURES: dict[str, Measure | NewbornMeasure] = {each.name: each for each in (*MEASURES, *NEWBORN_MEASURES)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    options = _options(arguments)
    subjects = [name for name in SUBJECTS if not options.subject or name in {OURS, *options.subject}]
    measures = [each for name, each in _MEASURES.items() if not options.measure or name in options.measure]
    figures = Figures()
    with contextlib.ExitStack() as stack:
        columns = [Column(subject) for subject in subjects]
        for column in columns:
            stack.callback(column.close)
        for column in columns:
            column.wait_until_ready()
        load = [_load()]
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
            # Each round another subject begins.
            turn = number % len(columns)
            _round(figures, [*columns[turn:], *columns[:turn]], measures, first=number == 0)
        load.append(_load())
        problems = {column.subject: column.problems for column in columns}
    growth = {name: measure_growth(name) for name in GROWING if name in subjects and not options.measure}
    verdicts = [figures.judge(target, ours=OURS) for target in TARGETS if target.measure in {m.name for m in measures}]
    report = _as_json if options.json else _as_text
    report(figures, verdicts, problems, load, growth)
    return 1 if options.check and not all(verdict.met for verdict in verdicts) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often everything is measured (5)")
    parser.add_argument("--measure", action="append", choices=_MEASURES, help="only this one; may be given repeatedly")
    parser.add_argument(
        "--subject", action="append", choices=SUBJECTS, help="only this one beside ez-ptc; may be given repeatedly"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of text")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def _round(
    figures: Figures, columns: Sequence[Column], measures: Sequence[Measure | NewbornMeasure], *, first: bool
) -> None:
    for measure in measures:
        for column in columns if first or not measure.once else ():
            figure = column.take(measure)
            if figure is not None:
                figures.add(measure.name, column.subject, figure)


def _load() -> _Load:
    return {"others_use": busy_share(1.0), "load_average": os.getloadavg()[0]}


def _as_json(
    figures: Figures, verdicts: Sequence[Verdict], problems: _Problems, load: Sequence[_Load], growth: _Growths
) -> None:
    answer = {
        "machine": dataclasses.asdict(Machine.here()),
        "load": {"before": load[0], "after": load[1]},
        "measures": {
            name: {"title": each.title, "unit": each.unit, **figures.of(name)} for name, each in _MEASURES.items()
        },
        "targets": [{**dataclasses.asdict(each.target), "figure": each.figure, "met": each.met} for each in verdicts],
        "growth": {name: [dataclasses.asdict(row) for row in rows] for name, rows in growth.items()},
        "problems": problems,
    }
    print(json.dumps(answer, indent=2))


def _as_text(
    figures: Figures, verdicts: Sequence[Verdict], problems: _Problems, load: Sequence[_Load], growth: _Growths
) -> None:
    machine = Machine.here()
    print(f"{machine.processor}, {machine.cores} cores, {machine.system}, Python {machine.python}")
    for when, state in zip(("before", "after"), load, strict=True):
        used = "an unknown share" if state["others_use"] is None else f"{state['others_use']:.0%}"
        print(f"{when}: others used {used} of the machine, load average {state['load_average']:.1f}")
    rows = [(name, each.title, each.unit) for name, each in _MEASURES.items() if figures.of(name)["rounds"]]
    columns = {name: title for name, title in SUBJECTS.items() if name in problems}
    print("\n".join(["", *table_lines(rows, columns, figures.medians)]))
    print("\n×: this library's figure as a multiple of the peer's\n")
    for verdict in verdicts:
        each = _MEASURES[verdict.target.measure]
        print(verdict_line(verdict, each.title, each.unit, SUBJECTS.get(verdict.target.relative_to or "")))
    for name, rows in growth.items():
        print("\n".join(["", *growth_lines(SUBJECTS[name], rows)]))
    for subject, found in problems.items():
        for problem in found:
            print(f"missing of {SUBJECTS[subject]}: {problem}")
    if growth:
        print("\n".join(["", "this library alone:", *own_lines()]))


if __name__ == "__main__":
    sys.exit(main())
