"""Measure describing and calling functions beside peers: ``make bench-schemas``, or ``… ARGS="--rounds 31 --json"``.

All subjects share one process. Each round puts each question to all of them in turn, so that whatever else the machine
does meets all alike; a figure is the median of its rounds. A schema is measured for one function again and again, as
for many tools with the same classes, and for functions whose classes are new. Before that, each subject has to hand
every argument over to the function as what it is annotated as; one that cannot is not measured. The exit code is 0
whatever was measured, and with --check 1 when a target is missed.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Final

from benchmarks.peers.machine import Machine
from benchmarks.peers.results import Figures, Target, Verdict
from benchmarks.peers.table import verdict_line
from benchmarks.schemas.functions import EXAMPLES, Example
from benchmarks.schemas.measures import MEASURES, problem_of, repetitions
from benchmarks.schemas.subject import Subject
from benchmarks.schemas.subjects import OURS, PYDANTIC, SUBJECTS, start
from benchmarks.schemas.table import table_lines

__all__ = ["main"]

_TITLES: Final = {
    f"{kind}_{example.name}": f"{title}, {example.name} signature"
    for kind, (title, _) in MEASURES.items()
    for example in EXAMPLES
}
TARGETS: Final[tuple[Target, ...]] = tuple(
    Target(f"{kind}_{example.name}", limit, relative_to=PYDANTIC)
    for kind, limit in (("schema", 1.5), ("call", 2.0))
    for example in EXAMPLES
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    options = _options(arguments)
    subjects, problems = _started([name for name in SUBJECTS if not options.subject or name in options.subject])
    figures = _measured(subjects, options.rounds)
    verdicts = [figures.judge(target, ours=OURS) for target in TARGETS]
    report = _as_json if options.json else _as_text
    report(figures, verdicts, list(subjects), problems)
    return 1 if options.check and not all(verdict.met for verdict in verdicts) else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schemas", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="how often everything is measured (15)")
    parser.add_argument("--subject", action="append", choices=SUBJECTS, help="only this one; may be given repeatedly")
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of text")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def _started(names: Sequence[str]) -> tuple[dict[str, Subject], dict[str, str]]:
    subjects: dict[str, Subject] = {}
    problems: dict[str, str] = {}
    for name in names:
        try:
            subject = start(name)
        except ImportError as error:
            problems[name] = f"it is not installed here ({error})"
            continue
        problem = next(filter(None, (problem_of(subject, example) for example in EXAMPLES)), None)
        if problem is None:
            subjects[name] = subject
        else:
            problems[name] = problem
    return subjects, problems


def _measured(subjects: Mapping[str, Subject], rounds: int) -> Figures:
    questions: list[tuple[str, str, Example]] = [
        (f"{kind}_{example.name}", kind, example) for kind in MEASURES for example in EXAMPLES
    ]
    times = {
        (measure, name): repetitions(subject, kind, example)
        for measure, kind, example in questions
        for name, subject in subjects.items()
    }
    figures = Figures()
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        names = list(subjects)
        turn = number % max(len(names), 1)  # each round another subject begins
        for measure, kind, example in questions:
            for name in [*names[turn:], *names[:turn]]:
                count = times[measure, name]
                _, take = MEASURES[kind]
                figures.add(measure, name, take(subjects[name], example, count) / count)
    return figures


def _as_json(
    figures: Figures, verdicts: Sequence[Verdict], subjects: Sequence[str], problems: Mapping[str, str]
) -> None:
    answer = {
        "machine": dataclasses.asdict(Machine.here()),
        "versions": {name: version(SUBJECTS[name][1]) for name in subjects},
        "measures": {name: {"title": title, "unit": "seconds", **figures.of(name)} for name, title in _TITLES.items()},
        "targets": [{**dataclasses.asdict(each.target), "figure": each.figure, "met": each.met} for each in verdicts],
        "problems": problems,
    }
    print(json.dumps(answer, indent=2))


def _as_text(
    figures: Figures, verdicts: Sequence[Verdict], subjects: Sequence[str], problems: Mapping[str, str]
) -> None:
    machine = Machine.here()
    print(f"{machine.processor}, {machine.cores} cores, {machine.system}, Python {machine.python}")
    print(", ".join(f"{package} {version(package)}" for _, package in map(SUBJECTS.__getitem__, subjects)))
    columns = {name: SUBJECTS[name][0] for name in subjects}
    print("\n".join(["", *table_lines(_TITLES, columns, figures.medians, reference=PYDANTIC)]))
    print(f"\n×: as a multiple of the figure of {SUBJECTS[PYDANTIC][0]}\n")
    for verdict in verdicts:
        print(verdict_line(verdict, _TITLES[verdict.target.measure], "seconds", SUBJECTS[PYDANTIC][0]))
    for name, problem in problems.items():
        print(f"missing: {SUBJECTS[name][0]}: {problem}")


if __name__ == "__main__":
    sys.exit(main())
