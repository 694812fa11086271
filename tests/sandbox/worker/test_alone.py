"""A worker that another backend starts, by `python -m ez_ptc.sandbox.worker.alone`."""

import socket
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("-I", "-I or -E"),
        pytest.param("-E", "-I or -E", marks=pytest.mark.security),
        pytest.param("-R", "-R", marks=pytest.mark.security),
    ],
)
def test_worker_that_ignores_its_seed_ends_with_advice(option: str, named: str) -> None:
    """It started itself again without end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [sys.executable, option, "-m", "ez_ptc.sandbox.worker.alone", str(theirs.fileno())]
        ended = subprocess.run(
            command, env={}, pass_fds=[theirs.fileno()], capture_output=True, text=True, timeout=30, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr == (
        f"a worker's Python was started with {named}, so it ignores PYTHONHASHSEED: "
        "start it with -s -P and an empty environment instead, which isolate it as well\n"
    )
