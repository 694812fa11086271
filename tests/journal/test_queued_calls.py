"""Calls that wait for the thread which their tools name: they have not begun."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ez_ptc import ExecutionResult, Journal, Limits, Tool, Toolkit, ez_tool

_PROGRAM = """
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(work, [1, 2])))
"""
_NOT_RUN = "work was not run: the program ended before its thread was free"


class _Thread:
    """A named thread that another call holds until `free` is set."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.free = threading.Event()
        self.calls: list[int] = []

    def tool(self) -> Tool[..., int]:
        """Return a tool that notes its calls."""

        def work(number: int) -> int:
            """Work."""
            self.calls.append(number)
            return number

        return ez_tool(work, thread=self.name)

    def occupy(self) -> None:
        """Let another call hold the thread."""
        begun = threading.Event()

        def block() -> None:
            """Wait."""
            begun.set()
            assert self.free.wait(20)

        tool = ez_tool(block, thread=self.name)
        threading.Thread(target=tool, daemon=True).start()
        assert begun.wait(20)


def _execute(toolkit: Toolkit, *, is_awaited: bool) -> ExecutionResult:
    if is_awaited:
        return asyncio.run(toolkit.aexecute(_PROGRAM))
    return toolkit.execute(_PROGRAM)


@pytest.mark.parametrize("is_awaited", [False, True])
@pytest.mark.parametrize("is_journaled", [False, True])
def test_queued_calls_are_reported_as_not_run(tmp_path: Path, *, is_awaited: bool, is_journaled: bool) -> None:
    thread = _Thread(f"{tmp_path}"[-90:])
    thread.occupy()
    path = tmp_path / "runs.db"
    try:
        with Toolkit(
            [thread.tool()], journal=path if is_journaled else None, limits=Limits(timeout=1, grace=0.01)
        ) as toolkit:
            result = _execute(toolkit, is_awaited=is_awaited)
    finally:
        thread.free.set()
    assert result.status == "failed"
    assert "unknown" not in str(result.error)
    # On a busy machine the second may not have been made yet.
    assert {call["error"] for call in result.tool_calls} == {_NOT_RUN}
    assert not thread.calls
    if is_journaled:
        with Journal(path) as journal:
            (run,) = journal.runs()
            assert (run.state, run.pending, journal.verify()) == ("failed", (), 1)
            assert run.result is not None
            assert {call["error"] for call in run.result.tool_calls} == {_NOT_RUN}


_DYING = """
import os, sys, threading
from ez_ptc import Toolkit, ez_tool

begun = threading.Event()

@ez_tool(thread="db")
def block() -> None:
    begun.set()
    threading.Event().wait(60)

@ez_tool(thread="db")
def work(number: int) -> int:
    return number

@ez_tool(idempotent=True)
def die() -> None:
    os._exit(7)

threading.Thread(target=block, daemon=True).start()
begun.wait(20)
Toolkit([work, die], journal=sys.argv[1]).execute(sys.argv[2])
"""
_DYING_PROGRAM = """
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(3) as pool:
    calls = [pool.submit(work, 1), pool.submit(work, 2), pool.submit(die)]
    print([call.result() for call in calls])
"""


def test_calls_queued_when_their_process_died_run_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    command = [sys.executable, "-c", _DYING, str(path), _DYING_PROGRAM]
    assert subprocess.run(command, check=False, timeout=60).returncode == 7
    thread = _Thread("db")

    @ez_tool(idempotent=True)
    def die() -> None:
        """Return."""

    with Journal(path) as journal, Toolkit([thread.tool(), die], journal=journal) as toolkit:
        (run,) = journal.runs()
        assert (run.state, run.pending) == ("resumable", ())
        assert toolkit.resume(run.id).output == "[1, 2, None]\n"
    assert sorted(thread.calls) == [1, 2]
