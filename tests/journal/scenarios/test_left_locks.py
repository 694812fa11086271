"""A run that could not be resumed, or was interrupted before its program ran, is locked by no one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from ez_ptc import Approve, Journal, JournalError, ProcessSandbox, Toolkit
from ez_ptc.journal import claiming, locks, ownership
from ez_ptc.journal import journal as journal_module
from ez_ptc.journal.locks import FileLocks
from ez_ptc.journal.rows import find_run
from ez_ptc.toolkit.execution import resuming
from ez_ptc.toolkit.execution.journaled import executions, runs
from tests.journal.interrupting import interrupt_at
from tests.journal.programs import Effects
from tests.journal.rewriting import change_start

PROGRAM: Final = "print(transfer('a', 5))"
# What stands between the lock of a run and its program.
_INTERRUPTED: Final = (claiming, journal_module, resuming, runs)


@pytest.fixture
def toolkit(effects: Effects, tmp_path: Path) -> Iterator[Toolkit]:
    with (
        Journal(tmp_path / "runs.db") as journal,
        ProcessSandbox(ready=1, paused=0) as sandbox,
        Toolkit(effects.tools(), journal=journal, sandbox=sandbox) as toolkit,
    ):
        yield toolkit


def _is_locked(toolkit: Toolkit, run_id: str) -> bool:
    store = toolkit.open_journal().store
    return store.locks.is_owned(store.read(lambda rows: find_run(rows, run_id)).number)


@pytest.mark.parametrize("stride", [7, pytest.param(1, marks=pytest.mark.security)])
def test_interrupted_resume_locks_no_run(stride: int, toolkit: Toolkit, effects: Effects) -> None:
    count = 1
    paused = toolkit.execute(PROGRAM)
    while interrupt_at(
        count, lambda paused=paused: toolkit.resume(str(paused.run_id), {paused.pending[0].id: True}), _INTERRUPTED
    ):
        count += stride
        if effects.lines():  # the program has run
            break
        assert not _is_locked(toolkit, paused.run_id or "")
        paused = toolkit.execute(PROGRAM)
    assert count > 20
    assert max(effects.lines().values()) == 1


def test_interrupted_start_locks_no_run(toolkit: Toolkit) -> None:
    journal, count = toolkit.open_journal(), 1
    while interrupt_at(count, lambda: toolkit.execute("1"), _INTERRUPTED):
        count += 5
        assert "running" not in {run.state for run in journal.runs()}
    assert count > 10


def _resume(toolkit: Toolkit, run_id: str) -> object:
    return toolkit.resume(run_id, {call.id: Approve() for call in toolkit.open_journal().run(run_id).pending})


def _resume_session(toolkit: Toolkit, run_id: str) -> object:
    with toolkit.session(toolkit.open_journal().run(run_id).session) as session:
        return session.resume({f"{run_id}:1": True})


@pytest.mark.parametrize("resume", [_resume, _resume_session])
def test_run_that_cannot_be_resumed_is_not_locked(
    resume: Callable[[Toolkit, str], object], toolkit: Toolkit, effects: Effects
) -> None:
    if resume is _resume:
        run_id = str(toolkit.execute(PROGRAM).run_id)
    else:
        with toolkit.session() as session:
            run_id = str(session.execute(PROGRAM).run_id)
    limits = toolkit.open_journal().events(run_id)[0].data["limits"]
    change_start(toolkit.open_journal(), run_id, limits={**limits, "later": 5})
    with pytest.raises(JournalError, match=f"run {run_id} was recorded with limits .*later"):
        resume(toolkit, run_id)
    assert not _is_locked(toolkit, run_id)
    assert toolkit.open_journal().events(run_id)[-1].kind == "pause"

    change_start(toolkit.open_journal(), run_id, limits=limits)
    resume(toolkit, run_id)
    assert effects.lines() == {"transfer a 5": 1}


async def test_awaited_resume_locks_no_run_either(toolkit: Toolkit, effects: Effects, anyio_backend: str) -> None:
    del anyio_backend
    paused = toolkit.execute(PROGRAM)
    run_id = str(paused.run_id)
    limits = toolkit.open_journal().events(run_id)[0].data["limits"]
    change_start(toolkit.open_journal(), run_id, limits={**limits, "later": 5})
    with pytest.raises(JournalError, match="limits that this library does not have"):
        await toolkit.aresume(run_id, {paused.pending[0].id: True})
    assert not _is_locked(toolkit, run_id)
    assert not effects.lines()


def _begin(toolkit: Toolkit, run_id: str) -> executions.Execution:
    runs, channel = toolkit._runs, toolkit._channel  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - an interruption comes between the two
    return runs.resume(run_id, {call.id: Approve() for call in toolkit.open_journal().run(run_id).pending}, channel)


def test_execution_that_is_dropped_locks_no_run(toolkit: Toolkit) -> None:
    run_id = str(toolkit.execute(PROGRAM).run_id)
    execution = _begin(toolkit, run_id)
    assert _is_locked(toolkit, run_id)
    del execution
    assert not _is_locked(toolkit, run_id)


def _leave(execution: executions.Execution) -> None:
    with execution:
        raise KeyboardInterrupt


def _begin_and_fail(toolkit: Toolkit, run_id: str) -> None:
    with suppress(ZeroDivisionError), _begin(toolkit, run_id):
        raise ZeroDivisionError


def test_second_interruption_locks_no_run_either(toolkit: Toolkit) -> None:
    execution = _begin(toolkit, str(toolkit.execute(PROGRAM).run_id))
    interrupt_at(1, partial(_leave, execution), [executions], functions={"_close"})
    assert not _is_locked(toolkit, execution.row.id)

    count, run_id = 1, str(toolkit.execute(PROGRAM).run_id)
    lines = {"__exit__", "release", "_leave", "give_up", "disown_by", "disown", "_release", "_change"}
    modules = [executions, journal_module, locks, ownership]
    while interrupt_at(count, partial(_begin_and_fail, toolkit, run_id), modules, functions=lines):
        assert not _is_locked(toolkit, run_id), count
        count += 1
    assert count > 20


def test_cancelled_resume_locks_no_run_while_its_error_is_kept(toolkit: Toolkit) -> None:
    paused = toolkit.execute(PROGRAM)
    run_id = str(paused.run_id)

    async def cancel() -> object:
        # Another process writes: so the run is claimed for a while.
        with FileLocks(Path(f"{toolkit.open_journal().path}-lock")).writing():
            task = asyncio.ensure_future(toolkit.aresume(run_id, {paused.pending[0].id: True}))
            while not _is_locked(toolkit, run_id):  # noqa: ASYNC110 - another thread locks it
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return caught.value

    error = asyncio.run(cancel())
    assert not _is_locked(toolkit, run_id)
    assert isinstance(error, asyncio.CancelledError)
    assert toolkit.resume(run_id, {}).status == "done"
