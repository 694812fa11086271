"""A subject over a world, as the whole run sees it: a process in the environment that the subject needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.model.subjects import SUBJECTS

__all__ = ["Process", "interpreter"]

ROOT: Final = Path(__file__).resolve().parents[2]


def interpreter(subject: str, environments: Path) -> str:
    """Return the interpreter that a subject needs: this one, or that of the environment of its name."""
    return str(environments.absolute() / subject / "bin" / "python") if SUBJECTS[subject] else sys.executable


class Process:
    """What the subject says, and the answers to its questions."""

    def __init__(self, subject: str, world: str, python: str, distractors: int = 0) -> None:
        """Start it, with so many tools beside those of the world.

        Raises:
            RuntimeError: The subject cannot be had there.
        """
        environment = dict(os.environ)
        if python != sys.executable:
            # A peer has our import name: nothing may lead from there to ours.
            environment.pop("PYTHONPATH", None)
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.model.measurer", subject, world, str(distractors)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        said = self._line()
        if "problem" in said:
            self.close()
            raise RuntimeError(said["problem"])
        self.system: str = said["system"]
        self.tools: list[dict[str, Any]] = said["tools"]
        self.stop: list[str] = said["stop"]

    def ask(self, question: str, value: str | None = None) -> Any:  # noqa: ANN401 - each has an answer of its own kind
        """Return the answer to a question."""
        if self._process.stdin is not None:
            print(json.dumps({question: value}), file=self._process.stdin, flush=True)
        return self._line()

    def _line(self) -> Any:  # noqa: ANN401 - an answer is of its question's kind
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        return json.loads(line) if line else {"problem": "its process has ended"}

    def close(self) -> None:
        """End it."""
        self._process.communicate()
