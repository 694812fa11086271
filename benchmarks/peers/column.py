"""One subject as the whole run sees it: the process that measures it, and the interpreter it needs."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final, cast

from benchmarks.peers.measures import Measure
from benchmarks.peers.newborn import NewbornMeasure
from benchmarks.peers.subjects import OLD

__all__ = ["OLD_PYTHON", "Column"]

OLD_PYTHON: Final = "EZ_PTC_PEER_PYTHON"
"""Names the interpreter of the environment that has the peer of the same import name."""
_ROOT: Final = Path(__file__).resolve().parent.parent.parent


class Column:
    """One subject. `problem` says why it has no figures, or no further ones."""

    def __init__(self, subject: str) -> None:
        """Start the process; it gets ready while others do."""
        self.subject = subject
        self.problem = ""
        self._environment = dict(os.environ)
        self._python = sys.executable
        if subject == OLD:
            self._python = os.environ.get(OLD_PYTHON, "")
            # Both have one import name: nothing here may lead to ours.
            self._environment.pop("PYTHONPATH", None)
        self._process: subprocess.Popen[str] | None = None
        if not self._python:
            self.problem = f"{OLD_PYTHON} names no interpreter"
            return
        command = [Path(self._python).absolute(), "-m", "benchmarks.peers.measurer", subject]
        self._process = subprocess.Popen(
            command, cwd=_ROOT, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait_until_ready(self) -> None:
        """Return when the subject can be measured, or has a problem."""
        self._read()

    def take(self, measure: Measure | NewbornMeasure) -> float | None:
        """Return a figure, or None where there is none."""
        if self.problem:
            return None
        if isinstance(measure, Measure):
            return self._ask(measure.name)
        try:
            return measure.take(self.subject, os.fspath(Path(self._python).absolute()), self._environment)
        except subprocess.CalledProcessError as error:
            lines = cast("str", error.stderr).strip().splitlines()
            self.problem = lines[-1] if lines else f"exit code {error.returncode}"
            return None

    def _ask(self, question: str) -> float | None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                print(question, file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> float | None:
        if self._process is None or self._process.stdout is None:
            return None
        line = self._process.stdout.readline()
        answer: object = json.loads(line) if line else {"problem": "its process has ended"}
        if isinstance(answer, dict):
            self.problem = cast("dict[str, str]", answer)["problem"]
        return float(answer) if isinstance(answer, int | float) else None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
