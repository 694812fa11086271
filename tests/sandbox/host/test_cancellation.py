"""A caller can be cancelled at any moment, and nothing of its program is left."""

from __future__ import annotations

import gc
import os

import anyio
import anyio.lowlevel
import pytest

from ez_ptc import Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.processes import all_gone, becomes, descendants, descriptors, families

READY = 2


@ez_tool
async def later(number: int) -> int:
    """Say it later."""
    await anyio.lowlevel.checkpoint()
    return number


@ez_tool
def now(number: int) -> int:
    """Say it now."""
    return number


@pytest.mark.anyio
@pytest.mark.sampled(every=0)
async def test_cancelling_at_any_moment_leaves_nothing_behind() -> None:
    """From before there is a worker to after the last answer; the first moments fall into the boot.

    What is left is counted when the sandbox is at rest, before and after.
    """
    before = descendants(os.getpid())
    sandbox = ProcessSandbox(ready=READY)
    toolkit = Toolkit([later, now], sandbox=sandbox)
    code = "parallel((later, 1), (now, 2))\nprint('x' * 10_000)\nlater(now(3))"
    try:
        for step in range(60):
            with anyio.move_on_after(step * 0.0004):
                await toolkit.aexecute(code)
        assert (await toolkit.aexecute(code, 20)).return_value == 3
        sandbox.cool_down()
        first = len(descriptors())
        for step in range(120):
            with anyio.move_on_after(step * 0.0002):
                await toolkit.aexecute(code)
        assert (await toolkit.aexecute(code, 20)).return_value == 3
        gc.collect()
        sandbox.cool_down()
        assert becomes(lambda: len(descriptors()), first, within=60)
        # The zygote, its parent and the workers that are ready; those that were killed may take a moment to be gone.
        assert becomes(lambda: len(families(os.getpid(), without=before)), 2 + READY, within=60)
        started = families(os.getpid(), without=before)
    finally:
        sandbox.close()
    assert all_gone(started, within=60)
