"""One question to a new process of a subject, which answers with a line of JSON."""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.journal.kills import ROOT, python_of

__all__ = ["ask"]

_SECONDS: Final = 600.0


def ask(subject: str, action: str, argument: int, tracer: Sequence[str] = ()) -> object:
    """Run an action of `benchmarks.journal.process` in an empty folder, below `tracer` if given; return its answer."""
    with tempfile.TemporaryDirectory(prefix="costs-") as folder:
        python = str(Path(python_of(subject)).absolute())
        command = [*tracer, python, "-m", "benchmarks.journal.process", subject, action, folder, str(argument)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=_SECONDS, check=True)
    return json.loads(done.stdout.splitlines()[-1])
