"""Hosts of their own: a piece of Python in another interpreter, with what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["ROOT", "run_script"]

ROOT = Path(__file__).resolve().parents[2]


def run_script(
    code: str, *arguments: str, timeout: float = 120, before: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> str:
    """Run `code` with `arguments` and return what it printed; it must end by itself, in time and in peace.

    `before` is a command that runs the interpreter, `env` is added to the environment.
    """
    command = [*before, sys.executable, "-W", "error", "-c", code, *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
