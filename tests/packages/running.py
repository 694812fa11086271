"""Running the program of a package, and measuring what that takes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ez_ptc import Limits, ProcessSandbox, Toolkit
from tests.sandbox.processes import descendants, families

from .table import Cost

if TYPE_CHECKING:
    from ez_ptc.sandbox.protocol.execution import ExecutionResult

    from .catalog import Package

__all__ = ["difference", "run"]

_LIMITS = Limits(timeout=60)


def run(package: Package) -> tuple[ExecutionResult, Cost]:
    """Run the program in a sandbox of its own, which is started for it.

    Raises:
        SandboxError: Programs cannot be given the package.
    """
    before = descendants(os.getpid())
    start = time.perf_counter()
    with ProcessSandbox(allow_imports=[package.name, *package.also]) as sandbox:
        result = Toolkit([], sandbox=sandbox, limits=_LIMITS).execute(package.program)
        seconds = time.perf_counter() - start
        megabytes = max(map(_resident, families(os.getpid(), without=before)))
    return result, Cost(seconds, megabytes)


def difference(package: Package, result: ExecutionResult) -> str:
    """Return what is otherwise than the catalog says; "" where nothing is."""
    if package.error:
        return "" if package.error in (result.error or "") else f"expected {package.error!r}, got {result.error!r}"
    if result.error is not None:
        return result.error
    return "" if result.return_value == package.value else f"expected {package.value!r}, got {result.return_value!r}"


def _resident(pid: int) -> float:
    """Return how much memory a process has, in MB; what it shares with others counts in each."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        # A worker that has ended.
        return 0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0)
