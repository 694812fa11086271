"""Many callers at a time share the workers that are restored."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from ez_ptc import Limits, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.restored.host import kept_workers
from ez_ptc.sandbox.restored.host.kept_workers import KeptWorkers
from ez_ptc.sandbox.restored.host.ready import RestoredWorkers
from tests.sandbox.processes import becomes, descendants

READY, CALLERS, PROGRAMS = 2, 24, 240
MANY = 48


@ez_tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def make_ready(sandbox: ProcessSandbox, toolkit: Toolkit) -> KeptWorkers:
    """Run programs until a worker is ready at its snapshot."""
    ready = sandbox._pool.zygote().ready  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no program can tell
    assert isinstance(ready, RestoredWorkers)
    kept = ready.kept
    while not kept.ready_count:
        assert toolkit.execute("1").return_value == 1
        sandbox.cool_down()
    return kept


@pytest.mark.sampled(every=0)
def test_more_callers_than_workers_share_the_restored_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine, even the shortest program may hold its worker for longer than callers wait by default.
    monkeypatch.setattr(kept_workers, "_LONG_SECONDS", 60.0)
    with ProcessSandbox(ready=READY, fresh="restored") as sandbox, ThreadPoolExecutor(CALLERS) as callers:
        toolkit = Toolkit([], sandbox=sandbox)
        kept = make_ready(sandbox, toolkit)
        before = kept.restored
        # From now on, a program in a restored worker has ended not long ago.
        while kept.restored == before:
            assert toolkit.execute("1").return_value == 1
            sandbox.cool_down()
        before = kept.restored
        results = callers.map(toolkit.execute, [f"{number} + 1" for number in range(PROGRAMS)])
        assert [result.return_value for result in results] == list(range(1, PROGRAMS + 1))
        sandbox.cool_down()
        # They are numbered as they are made, and making one takes as long as restoring a hundred.
        assert max(kept.numbers) <= READY
        assert kept.restored - before > PROGRAMS / 2


def test_blocking_and_awaiting_callers_share_a_worker() -> None:
    with ProcessSandbox(ready=1, fresh="restored") as sandbox:
        toolkit = Toolkit([add], sandbox=sandbox, limits=Limits(timeout=5))
        numbers = make_ready(sandbox, toolkit).numbers
        for _ in range(3):
            assert toolkit.execute("1").return_value == 1
            assert anyio.run(toolkit.aexecute, "add(1, 2)").return_value == 3
        assert make_ready(sandbox, toolkit).numbers == numbers


def test_unreceived_workers_of_other_sandboxes_are_no_obstacle() -> None:
    before = descendants(os.getpid())
    with ProcessSandbox(ready=MANY) as idle, ProcessSandbox(ready=1, fresh="restored") as sandbox:
        # The host receives them when it needs them.
        idle.warm_up()
        assert becomes(lambda: min(len(descendants(os.getpid()) - before), MANY), MANY, within=60)
        make_ready(sandbox, Toolkit([], sandbox=sandbox))
