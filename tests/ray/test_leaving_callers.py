"""Callers that leave their programs on actors, without Ray."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from contextlib import aclosing, closing, nullcontext
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from ez_ptc import CallProgress, Context, ez_tool
from ez_ptc.ray.node.host import ProgramHost
from ez_ptc.ray.programs import ProgramRequest
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


@pytest.mark.parametrize("program", ["begin()\nwhile True: pass", "hang()", "ahang()"])
@pytest.mark.parametrize("is_in_session", [False, True])
async def test_caller_that_asks_for_nothing_ends_its_program(
    monkeypatch: pytest.MonkeyPatch, anyio_backend: str, program: str, *, is_in_session: bool
) -> None:
    del anyio_backend
    begun, released = threading.Event(), threading.Event()

    @ez_tool
    def begin() -> None:
        """Say that the program runs."""
        begun.set()

    @ez_tool
    def hang() -> None:
        """Hang."""
        begun.set()
        released.wait(60)

    @ez_tool
    async def ahang() -> None:
        """Hang in an event loop, until it is cancelled."""
        begun.set()
        try:
            await anyio.sleep(60)
        finally:
            released.set()

    async def leave(scope: anyio.CancelScope) -> None:
        await anyio.to_thread.run_sync(begun.wait, 60)
        scope.cancel()

    # A toolkit with an asynchronous tool runs its programs in an event loop.
    tools: list[Any] = [begin, ahang] if program == "ahang()" else [begin, hang]
    monkeypatch.setattr(shop, "toolkit", shop.Toolkit(tools))
    async with LoopbackToolkit("tests.ray.shop:toolkit") as toolkit:
        with toolkit.session() if is_in_session else nullcontext(toolkit) as place:
            async with anyio.create_task_group() as group:
                group.start_soon(leave, group.cancel_scope)
                await place.aexecute(program, timeout=60)
            if program == "ahang()":
                assert released.wait(60)
            if not is_in_session:
                assert (await place.aexecute("1 + 1")).return_value == 2
        assert toolkit.actors[0].asked.count("end") == 1
        assert len(toolkit.actors) == 1
        released.set()


def test_program_whose_caller_has_left_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    effects = tmp_path / "effects"
    effects.touch()
    monkeypatch.setenv(shop.EFFECTS, str(effects))
    host = ProgramHost("tests.ray.shop:toolkit")
    assert host.end("key") == b"ended"
    request = pickle.dumps(ProgramRequest("execute", {"code": "note('late')"}).fields())
    assert b"ended before it began" in host.begin("key", request)
    assert effects.read_text() == ""


@pytest.mark.parametrize("way", ["closes", "is_interrupted", "is_late"])
def test_blocking_caller_that_leaves_cancels_its_asynchronous_tools(way: str) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    @ez_tool
    async def hang(context: Context) -> None:
        """Hang, until it is cancelled."""
        begun.set()
        context.progress(1)
        try:
            await anyio.sleep(60)
        finally:
            cancelled.set()

    def interrupt() -> None:
        if begun.wait(60):
            os.kill(os.getpid(), signal.SIGINT)

    with LoopbackToolkit("tests.ray.shop:toolkit", local=[hang]) as toolkit:
        if way == "closes":
            with closing(toolkit.stream("hang()", timeout=60)) as events:
                assert any(isinstance(event, CallProgress) for event in events)
        elif way == "is_interrupted":
            threading.Thread(target=interrupt, daemon=True).start()
            with pytest.raises(KeyboardInterrupt):
                toolkit.execute("hang()", timeout=60)
        else:
            assert "TimeoutError" in str(toolkit.execute("hang()", timeout=0.5).error)
        assert cancelled.wait(30)
        assert toolkit.execute("1 + 1").return_value == 2
