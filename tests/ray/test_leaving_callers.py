"""Callers that leave their programs on actors, without Ray, while they are asked something."""

from __future__ import annotations

import threading
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from ez_ptc import ez_tool
from tests.ray import shop
from tests.ray.loopback import LoopbackToolkit


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(("program", "state"), [("charge(1)", "outcome_unknown"), ("buy('lamp')", "paused")])
async def test_caller_that_leaves_while_it_is_asked_has_given_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anyio_backend: str, program: str, state: str, *, is_streamed: bool
) -> None:
    del anyio_backend
    asked, released = threading.Event(), threading.Event()

    def wait(_: object = None) -> bool:
        asked.set()
        return released.wait(60)

    @ez_tool
    def charge(amount: int) -> bool:
        """Charge an amount."""
        del amount
        return wait()

    async def leave(scope: anyio.CancelScope) -> None:
        await anyio.to_thread.run_sync(asked.wait, 60)
        scope.cancel()

    journaled = shop.Toolkit([shop.buy], journal=tmp_path / "runs.db")
    monkeypatch.setattr(shop, "journaled", journaled)
    async with LoopbackToolkit("tests.ray.shop:journaled", local=[charge]) as toolkit:
        async with anyio.create_task_group() as group:
            group.start_soon(leave, group.cancel_scope)
            settings: dict[str, Any] = {"timeout": 60, "approve": wait}
            if is_streamed:
                async with aclosing(toolkit.astream(program, **settings)) as events:
                    _ = [event async for event in events]
            else:
                await toolkit.aexecute(program, **settings)
        released.set()
    (run,) = journaled.open_journal().runs()
    assert (run.state, len(run.pending)) == (state, 1)
    journaled.close()
