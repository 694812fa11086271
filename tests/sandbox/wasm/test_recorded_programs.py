"""Recorded and seeded programs take the same path again, whatever time their tools take."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ez_ptc import Approve, ExecutionResult, Limits, Toolkit, WasmSandbox
from tests.journal.programs import Effects
from tests.journal.side_by_side import PATTERNS, slow_tools

SEQUENTIAL = """
import random, time, uuid
for number in range(3):
    time.sleep(0.01)
    print(note(find(number)), time.time(), random.random(), uuid.uuid4())
print(pay(1))
"""
# Threads that take turns at a queue need threads.
PROGRAMS = {"sequential": SEQUENTIAL, **{name: code for name, code in PATTERNS.items() if name != "queues"}}


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[list[WasmSandbox]]:
    with WasmSandbox() as first, WasmSandbox() as second:
        yield [first, second]


@pytest.mark.parametrize("program", PROGRAMS)
def test_recorded_program_resumes_to_the_same_output(
    program: str, sandboxes: list[WasmSandbox], tmp_path: Path
) -> None:
    effects = Effects(tmp_path / "effects")
    results: list[ExecutionResult] = []
    before = Counter[str]()
    for number, sandbox in enumerate(sandboxes):
        tools = slow_tools(effects, random.Random(number))
        with Toolkit(tools, journal=tmp_path / "runs.db", limits=Limits(timeout=60), sandbox=sandbox) as toolkit:
            if not results:
                results.append(toolkit.execute(PROGRAMS[program]))
                before = Counter(effects.lines())
                continue
            (run,) = toolkit.open_journal().runs()
            results.append(toolkit.resume(run.id, {call.id: Approve() for call in run.pending}))
            assert toolkit.replay(run.id).output == results[1].output
    assert [result.status for result in results] == ["paused", "done"], results[0].error_output
    assert results[1].output == f"{results[0].output}paid 1\n"
    assert effects.lines() == before + Counter({"pay 1": 1})


@pytest.mark.parametrize("has_journal", [False, True])
def test_threads_that_wait_for_each_other_fail_before_any_effect(
    has_journal: bool, sandboxes: list[WasmSandbox], tmp_path: Path
) -> None:
    effects = Effects(tmp_path / "effects")
    journal = tmp_path / "runs.db" if has_journal else None
    with Toolkit(slow_tools(effects, random.Random(0)), journal=journal, sandbox=sandboxes[0]) as toolkit:
        result = toolkit.execute(PATTERNS["queues"])
    assert result.status == "failed"
    assert "RuntimeError: this waits for another thread, and in this sandbox a thread runs only while" in str(
        result.error
    )
    assert result.tool_calls == []
    assert not effects.lines()


def test_waits_of_a_seeded_program_advance_its_clock() -> None:
    code = """
import asyncio, queue, threading, time
start = time.monotonic()
time.sleep(0.05)
asyncio.run(asyncio.sleep(0.05))
lock = threading.Lock()
lock.acquire()
assert not lock.acquire(timeout=0.05)
try:
    queue.Queue().get(timeout=0.05)
except queue.Empty:
    print(0.2 <= time.monotonic() - start < 0.21)
"""
    with WasmSandbox() as sandbox, Toolkit([], limits=Limits(seed=0, timeout=20), sandbox=sandbox) as toolkit:
        result = toolkit.execute(code)
        assert result.output == "True\n", result.error_output
