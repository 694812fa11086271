"""One subject as the whole run sees it: the process that measures it, and the interpreter it needs."""

import contextlib
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Final, cast

from benchmarks.peers.measures import Measure
from benchmarks.peers.newborn import ROOT, NewbornMeasure
from benchmarks.peers.subjects import OLD, OTHERS

__all__ = ["OLD_PYTHON", "OTHERS_PYTHON", "Column"]

OLD_PYTHON: Final = "EZ_PTC_PEER_PYTHON"
"""Names the interpreter of the environment that has the peer of the same import name."""
OTHERS_PYTHON: Final = "EZ_PTC_PEERS_PYTHON"
"""Names the interpreter of the environment that has the peers whose packages we do not lock."""
_PYTHONS: Final = {OLD: OLD_PYTHON, **dict.fromkeys(OTHERS, OTHERS_PYTHON)}
_ANSWER_SECONDS: Final = 120.0


class Column:
    """One subject. `problems` says which figures it lacks, and why."""

    def __init__(self, subject: str) -> None:
        """Start the process; it gets ready while others do."""
        self.subject = subject
        self.problems: list[str] = []
        self._environment = dict(os.environ)
        self._python = sys.executable
        if subject in _PYTHONS:
            self._python = os.environ.get(_PYTHONS[subject], "")
            # The old one has our import name: nothing here may lead to ours.
            self._environment.pop("PYTHONPATH", None)
        if not self._python:
            self._process = None
            self.problems.append(f"{_PYTHONS[subject]} names no interpreter")
            return
        # An interpreter's path, unlike the file it leads to, tells it which environment is meant.
        self._python = os.fspath(Path(self._python).absolute())
        self._process = subprocess.Popen(
            [self._python, "-m", "benchmarks.peers.measurer", subject],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> None:
        """Return when the subject can be measured, or has a problem."""
        self._read()
        if self.problems:
            self.close()

    def take(self, measure: Measure | NewbornMeasure) -> float | None:
        """Return a figure, or None where there is none."""
        if self._process is None:
            return None
        if isinstance(measure, Measure):
            return self._ask(measure.name)
        try:
            return measure.take(self.subject, self._python, self._environment)
        except subprocess.CalledProcessError as error:
            lines = cast("str", error.stderr).strip().splitlines()
            self._note(f"{measure.name}: {lines[-1] if lines else f'exit code {error.returncode}'}")
            return None

    def _ask(self, question: str) -> float | None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                print(question, file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> float | None:
        if self._process is None or self._process.stdout is None:
            return None
        answers, _, _ = select.select([self._process.stdout], [], [], _ANSWER_SECONDS)
        line = self._process.stdout.readline() if answers else ""
        if not line:
            self._note("its process has ended" if answers else f"no answer in {_ANSWER_SECONDS:g} s")
            self._process.kill()
            self.close()
            return None
        answer: object = json.loads(line)
        if isinstance(answer, dict):
            self._note(cast("dict[str, str]", answer)["problem"])
        return float(answer) if isinstance(answer, int | float) else None

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
