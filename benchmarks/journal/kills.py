"""Kill points: what becomes of the effects of a run whose process is killed, in each library.

Each point is one run in a folder of its own. A first process starts the workload and is killed at the point, or leaves
it paused; others recover it, of which one more may be killed, until one gets to the end.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.journal.subjects import OURS, SUBJECTS
from benchmarks.journal.workload import POINTS, Journey

__all__ = ["PEERS_PYTHON", "ROOT", "Outcome", "python_of", "run_point", "run_points", "table_lines"]

PEERS_PYTHON: Final = "EZ_PTC_JOURNAL_PEERS_PYTHON"
"""Names the interpreter of the environment that has the peers."""
ROOT: Final = Path(__file__).parent.parent.parent
_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run: effects doubled and lost, questions that a person has answered, and what went wrong."""

    point: str
    doubled: int = 0
    lost: int = 0
    questions: int = 0
    problem: str = ""


@dataclass(slots=True)
class _Run:
    subject: str
    python: str
    folder: Path
    problem: str = ""
    answers: list[str] = field(default_factory=list[str])

    def process(self, action: str, point: str) -> bool:
        """Run one process; return whether it was killed at the point."""
        command = [self.python, "-m", "benchmarks.journal.process", self.subject, action, os.fspath(self.folder), point]
        # Not to be waited for beyond its own end: workers of a killed process may hold its pipes for a moment.
        output = self.folder / "said"
        with output.open("w") as file, (self.folder / "errors").open("w+") as errors:
            try:
                done = subprocess.run(command, cwd=ROOT, stdout=file, stderr=errors, timeout=_SECONDS, check=False)
            except subprocess.TimeoutExpired:
                self.problem = f"{action} did not end in {_SECONDS:g} s"
                return False
            errors.seek(0)
            text = errors.read().strip()
        self.answers += output.read_text().splitlines()
        if done.returncode == -signal.SIGKILL:
            return True
        if done.returncode:
            self.problem = text.splitlines()[-1] if text else f"{action}: exit code {done.returncode}"
        return False


def python_of(subject: str) -> str:
    """Return the interpreter of a subject; empty where there is none."""
    return sys.executable if subject == OURS else os.environ.get(PEERS_PYTHON, "")


def run_point(subject: str, python: str, point: str) -> Outcome:
    """Kill a run at one point, recover it, and count."""
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        run = _Run(subject, str(Path(python).absolute()), Path(name))
        was_killed = run.process("start", point)
        if not was_killed and not run.problem:
            was_killed = run.process("recover", point)
        if was_killed:
            run.process("recover", "")
        elif not run.problem:
            run.problem = "it was not killed"
        tally = Journey(run.folder).tally()
        questions = sum(json.loads(answer) for answer in run.answers)
    return Outcome(point, tally.doubled, tally.lost, questions, run.problem)


def run_points(
    subjects: Sequence[str], points: Sequence[str] = POINTS, tell: Callable[[str], None] = lambda _: None
) -> dict[str, list[Outcome]]:
    """Kill a run of each subject at each point; a subject without an interpreter is left out."""
    outcomes: dict[str, list[Outcome]] = {}
    for subject in subjects:
        python = python_of(subject)
        if python:
            tell(f"{len(points)} kill points of {SUBJECTS[subject]}")
            outcomes[subject] = [run_point(subject, python, point) for point in points]
    return outcomes


def table_lines(outcomes: dict[str, list[Outcome]]) -> list[str]:
    """Return a table in Markdown, and the runs that did not end."""
    moments = list(dict.fromkeys(outcome.point.split()[0] for runs in outcomes.values() for outcome in runs))
    lines = [
        f"| | {' | '.join(f'doubled, {moment}' for moment in moments)} | doubled | lost | asked a person | runs |",
        f"|---|{'---:|' * (len(moments) + 4)}",
    ]
    for subject, runs in outcomes.items():
        cells = [sum(run.doubled for run in runs if run.point.split()[0] == moment) for moment in moments]
        cells += [sum(run.doubled for run in runs), sum(run.lost for run in runs), sum(run.questions for run in runs)]
        lines.append(f"| {SUBJECTS[subject]} | {' | '.join(map(str, cells))} | {len(runs)} |")
    problems = [
        f"{SUBJECTS[subject]}, {run.point}: {run.problem}"
        for subject, runs in outcomes.items()
        for run in runs
        if run.problem
    ]
    return [*lines, *problems]
