"""Finalizers in a process that ends: Python clears modules before the last objects go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ez_ptc
from tests.sandbox.processes import all_gone
from tests.sandbox.scripts import run_script

# Python clears modules in the order in which they were last imported, if anything else refers to them. So `os` is
# cleared after all of ours, and lets go of the objects then.
KEEP = """
import os, subprocess, sys
from pathlib import Path
from ez_ptc import Toolkit
from ez_ptc.journal.locks import FileLocks
from ez_ptc.mcp.client.loops.hosts import _CallerLoop
from ez_ptc.sandbox.host.workers.handle import WorkerHandle
from ez_ptc.toolkit.execution.journaled.executions import Execution
import _socket

session = Toolkit([]).session()
assert session.execute("kept = 1", 20).success
locks = FileLocks(Path(sys.argv[1]))
assert locks.own(1)
host = _CallerLoop(None, None, None)
host._descriptor = os.dup(0)
ours, theirs = _socket.socketpair()
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=theirs.fileno())
worker = WorkerHandle(child.pid, ours.detach(), os.pidfd_open(child.pid))
theirs.close()
child.returncode = 0  # it ends after this process
execution = Execution.__new__(Execution)
object.__setattr__(execution, "_marks", set())
os.last = [session, locks, host, worker, execution]
sys.last = [module for name, module in sys.modules.items() if name.startswith("ez_ptc")] + [os]
del session, locks, host, worker, execution
print(child.pid)
"""


@pytest.mark.security
def test_finalizers_are_silent_when_python_ends(tmp_path: Path) -> None:
    child = run_script(KEEP, str(tmp_path / "runs.db-lock"))
    assert all_gone([int(child)], within=60)


@pytest.mark.security
def test_every_finalizer_is_tried_in_an_ending_process() -> None:
    finalized = {
        item.name
        for path in Path(ez_ptc.__file__).parent.rglob("*.py")
        for item in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(item, ast.ClassDef)
        if any(isinstance(part, ast.FunctionDef) and part.name == "__del__" for part in item.body)
    }
    assert finalized == {"Execution", "FileLocks", "Lease", "WorkerHandle", "_CallerLoop"}
