"""One run for one id: executing a program again repeats nothing."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from ez_ptc import Context, JournalError, PendingCall, RunInProgressError, Tool, Toolkit, WorkerDiedError, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.processes import all_gone, descendants, families, parent
from tests.toolkit.execution.counting import FAILING, PAUSING, PROGRAM, Run, Shop, aexecute, execute, rewrite_starts


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "runs.db")


@pytest.fixture(params=[execute, aexecute])
def run(request: pytest.FixtureRequest) -> Run:
    """Executes a program with a toolkit, blocking or awaiting."""
    return cast("Run", request.param)


def _approve(_: PendingCall) -> bool:
    return True


@pytest.mark.parametrize("program", [PROGRAM, FAILING], ids=["done", "failed"])
def test_run_that_has_ended_returns_its_result(shop: Shop, run: Run, program: str) -> None:
    with shop.toolkit() as toolkit:
        first = run(toolkit, program, run_id="order-1")
    with shop.toolkit() as toolkit:
        second = run(toolkit, program, run_id="order-1")
        third = run(toolkit, program, run_id="order-2")
    assert (second.output, second.error, second.status) == (first.output, first.error, first.status)
    assert [call["name"] for call in second.tool_calls] == ["log"]
    assert (first.run_id, second.run_id, third.run_id) == ("order-1", "order-1", "order-2")
    assert len(shop.done) == 2


def test_run_that_waits_returns_its_pending_calls(shop: Shop, run: Run) -> None:
    with shop.toolkit() as toolkit:
        first = run(toolkit, PAUSING, run_id="order")
        again = run(toolkit, PAUSING, run_id="order", approve=_approve)
        assert (again.status, again.pending, again.run_id) == ("paused", first.pending, "order")
        assert shop.done == []
        toolkit.open_journal().decide("order", {first.pending[0].id: True})
        assert run(toolkit, PAUSING, run_id="order").output == "paid 1\n"
        assert run(toolkit, PAUSING, run_id="order").output == "paid 1\n"
    assert len(shop.done) == 1


def test_run_whose_process_died_goes_on(shop: Shop, run: Run) -> None:
    shop.crash = True
    with shop.toolkit() as toolkit, pytest.raises(KeyboardInterrupt):
        run(toolkit, PROGRAM, run_id="order")
    shop.crash = False
    with shop.toolkit() as toolkit:
        assert run(toolkit, PROGRAM, run_id="order").output == "logged 1\n"
        assert run(toolkit, PROGRAM, run_id="order").output == "logged 1\n"
    assert len(shop.done) == 1


def _charging(keys: list[str]) -> Tool[..., Any]:
    """Return an idempotent tool that notes its keys, and ends its process the first time."""

    @ez_tool(idempotent=True)
    def charge(context: Context) -> str:
        """Charge."""
        keys.append(context.idempotency_key)
        if len(keys) == 1:
            raise KeyboardInterrupt
        return "charged"

    return charge


def test_calls_of_two_runs_with_one_id_have_other_keys(tmp_path: Path, run: Run) -> None:
    """A service that both tenants pay with would take the second call for the first one."""
    keys: dict[str, list[str]] = {"ada": [], "bob": []}
    for tenant, charged in keys.items():
        with Toolkit([_charging(charged)], journal=tmp_path / f"{tenant}.db") as toolkit:
            with pytest.raises(KeyboardInterrupt):
                run(toolkit, "charge()", run_id="order-1")
            assert run(toolkit, "charge()", run_id="order-1").success
        assert charged == [charged[0]] * 2
    assert keys["ada"] != keys["bob"]


def test_keys_of_an_earlier_version_stay(tmp_path: Path, run: Run) -> None:
    keys: list[str] = []
    with Toolkit([_charging(keys)], journal=tmp_path / "runs.db") as toolkit:
        with pytest.raises(KeyboardInterrupt):
            run(toolkit, "charge()", run_id="order-1")
        rewrite_starts(toolkit.open_journal(), lambda data: {name: data[name] for name in data.keys() - {"keys"}})
        assert run(toolkit, "charge()", run_id="order-1").success
    assert keys[1] == "order-1:1"


def test_correction_repeats_the_key_of_its_run(tmp_path: Path, run: Run) -> None:
    keys: list[str] = []
    charge = _charging(keys)
    with Toolkit([charge], journal=tmp_path / "runs.db") as toolkit:
        with pytest.raises(KeyboardInterrupt):
            run(toolkit, "charge()", run_id="order-1")
        toolkit.open_journal().abandon("order-1", "its process died")
        failed = toolkit.find_result("order-1")
        assert run(toolkit, "charge()", after=failed).success
    assert keys == [keys[0]] * 2


def test_run_with_an_unknown_outcome_waits_for_a_word(shop: Shop, run: Run) -> None:
    def fail() -> str:
        """Fail."""
        raise KeyboardInterrupt

    with Toolkit([fail], journal=shop.path) as toolkit:
        with pytest.raises(KeyboardInterrupt):
            run(toolkit, "fail()", run_id="order")
        again = run(toolkit, "fail()", run_id="order")
    assert (again.status, [call.state for call in again.pending]) == ("paused", ["outcome_unknown"])


def test_run_in_progress_names_its_owner(shop: Shop, run: Run) -> None:
    """In another thread, with the same journal object and with another one."""
    with shop.toolkit() as toolkit, shop.toolkit() as other, ThreadPoolExecutor(1) as pool:
        running = pool.submit(toolkit.execute, "print(wait())", run_id="order")
        assert shop.running.wait(60)
        try:
            for second in (toolkit, other):
                with pytest.raises(RunInProgressError, match=f"is being executed by process {os.getpid()} on") as error:
                    run(second, "print(wait())", run_id="order")
                assert (error.value.run_id, str(error.value.owner).split()[1]) == ("order", str(os.getpid()))
                with pytest.raises(RunInProgressError):
                    second.resume("order")
        finally:
            shop.may_end.set()
        assert running.result().output == "waited\n"
        assert run(other, "print(wait())", run_id="order").output == "waited\n"
    assert len(shop.done) == 1


def test_many_deliveries_at_once_run_a_program_once(shop: Shop) -> None:
    barrier = threading.Barrier(8)

    def deliver(number: int) -> str:
        with shop.toolkit() as toolkit:
            barrier.wait(60)
            for _ in range(1_000):
                try:
                    return toolkit.execute(PROGRAM, run_id=f"order-{number % 2}").output
                except RunInProgressError:
                    continue
        return "never"

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(deliver, range(8))) == {"logged 1\n"}
    assert len(shop.done) == 2


def test_id_of_another_program_is_refused(shop: Shop, run: Run) -> None:
    with shop.toolkit() as toolkit:
        run(toolkit, PROGRAM, run_id="order")
        with pytest.raises(JournalError, match="run order is of another program"):
            run(toolkit, PROGRAM + " ", run_id="order")
        with toolkit.session() as session:
            inner = session.execute(PROGRAM)
        with pytest.raises(JournalError, match="is of another program"):
            run(toolkit, PROGRAM, run_id=inner.run_id)
    assert len(shop.done) == 2


@pytest.mark.parametrize("name", ["run_id", "principal"])
@pytest.mark.parametrize("value", ["", "x" * 201, "a\nb", "\ud800", 7, b"a"])
def test_unusable_names_are_refused(shop: Shop, name: str, value: object) -> None:
    with shop.toolkit() as toolkit, pytest.raises(ValueError, match=f"expected {name} as 1 to 200 printable"):
        toolkit.execute(PROGRAM, **cast("dict[str, Any]", {name: value}))
    assert shop.done == []


def test_run_id_needs_a_journal(run: Run) -> None:
    with Toolkit([]) as toolkit, pytest.raises(JournalError, match="this toolkit has no journal"):
        run(toolkit, "1", run_id="order")


def test_corrections_are_neither_asked_for_nor_run_twice(shop: Shop, run: Run) -> None:
    asked: list[str] = []

    def repair(code: str, _error: str, _done: list[dict[str, Any]]) -> str:
        asked.append(code)
        return f"print(log({len(asked) + 1}))"

    with shop.toolkit() as toolkit:
        outputs = [run(toolkit, FAILING, repair=repair, run_id="order").output for _ in range(3)]
    assert outputs == ["logged 2\n"] * 3
    assert asked == [FAILING]
    assert len(shop.done) == 2


@pytest.mark.parametrize("in_session", [False, True])
@pytest.mark.sampled(every=2)
def test_lost_worker_names_the_run_and_repeats_nothing(shop: Shop, in_session: bool) -> None:
    before = descendants(os.getpid())
    with ProcessSandbox(ready=1) as sandbox:

        def kill() -> str:
            """Kill the sandbox, once."""
            shop.done.append(("kill", None))
            family = families(os.getpid(), without=before)
            for pid in family:
                if parent(pid) == os.getpid():
                    os.kill(pid, signal.SIGKILL)
            assert all_gone(family, within=30)
            return "killed"

        toolkit = Toolkit([*shop.tools(), kill], journal=shop.path, sandbox=sandbox, context="ada")
        with toolkit, toolkit.session() as session:
            target = session if in_session else toolkit
            with pytest.raises(WorkerDiedError, match=r"continue it with resume\('\w+'\)") as error:
                target.execute("print(kill(), log(1))")
            assert "retry it yourself" not in str(error.value)
            (run,) = toolkit.open_journal().runs()
            assert run.id in str(error.value)
            result = session.resume() if in_session else toolkit.resume(run.id)
    assert result.output == "killed logged 1\n"
    assert [name for name, _ in shop.done] == ["kill", "log"]
