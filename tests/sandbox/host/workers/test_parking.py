"""Workers of paused programs: kept for a while, never needed."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ez_ptc._sync import Threads, run_coroutine, start_in_thread
from ez_ptc.errors import DecisionError, OutcomeUnknownError, RunInProgressError
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult, Limits
from ez_ptc.sandbox.protocol.records.caller_presence import CALLER
from ez_ptc.toolkit.toolkit import Toolkit
from ez_ptc.tools.decisions import Approve, DidNotHappen, Happened
from ez_ptc.tools.decorators import ez_tool
from tests.sandbox.callers import WaitingCaller
from tests.sandbox.processes import becomes

PROGRAM = """
import random, time
print(log("a"), random.random(), time.time())
print(pay(1), random.random(), time.time())
print(log("b"), random.random(), time.time())
print(pay(2), random.random(), time.time())
"""

done: list[object] = []


@pytest.fixture(autouse=True)
def nothing_is_done() -> None:
    done.clear()


@pytest.fixture(params=[60.0, 0.0], ids=["kept", "dropped"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[ProcessSandbox]:
    """A sandbox that keeps paused workers, and one that does not."""
    with ProcessSandbox(ready=1, paused=float(request.param)) as made:
        yield made


@ez_tool
def log(text: str) -> str:
    """Log."""
    done.append(text)
    return text


@ez_tool(requires_approval=True)
def pay(amount: int) -> int:
    """Pay."""
    done.append(amount)
    return amount


@ez_tool(timeout=0.05)
def hang(amount: int) -> int:
    """Hang the first time."""
    while len(done) < amount:
        pass
    return amount


def make(sandbox: ProcessSandbox | None, path: Path) -> Toolkit:
    """Return a toolkit with a journal."""
    return Toolkit([log, pay, hang], journal=path / "runs.db", sandbox=sandbox)


def approve_all(toolkit: Toolkit, result: ExecutionResult) -> ExecutionResult:
    """Resume a run until it ends."""
    for _ in range(10):
        if result.status != "paused":
            break
        assert result.run_id is not None
        result = toolkit.resume(result.run_id, {call.id: Approve() for call in result.pending})
    return result


@pytest.mark.sampled(every=2)
def test_resumed_program_goes_on_as_if_uninterrupted(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    with make(sandbox, tmp_path) as toolkit:
        result = approve_all(toolkit, toolkit.execute(PROGRAM))
        assert done == ["a", 1, "b", 2]
        assert [call["path"] for call in result.tool_calls] == ["1", "2", "3", "4"]
        assert [call["error"] for call in result.tool_calls] == [None] * 4
        assert result.run_id is not None
        assert toolkit.replay(result.run_id).output == result.output
    assert done == ["a", 1, "b", 2]


WAITS = {
    "timer": "await asyncio.sleep(0.001)",
    "tasks": "await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0.001))",
    "deadline": "await asyncio.wait([asyncio.ensure_future(asyncio.sleep(9))], timeout=0.001)",
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_kept_program_with_an_event_loop_goes_on_elsewhere(wait: str, tmp_path: Path) -> None:
    """What its schedule has is recorded once, whether the worker was kept between two pauses or not."""
    steps = f"""
import asyncio
for amount in (1, 2, 3):
    {wait}
    print(log(str(amount)), pay(amount))
    {wait}
"""
    with ProcessSandbox(ready=1, paused=60.0) as sandbox, make(sandbox, tmp_path) as first:
        result = first.execute(steps)
        for _ in range(2):
            assert result.run_id is not None
            result = first.resume(result.run_id, {result.pending[0].id: True})
    with make(None, tmp_path) as second:
        result = approve_all(second, result)
        assert (result.output, result.error) == ("1 1\n2 2\n3 3\n", None)
        assert result.run_id is not None
        assert second.replay(result.run_id).output == result.output
    assert done == ["1", 1, "2", 2, "3", 3]


@pytest.mark.sampled(every=2)
async def test_loop_resumes_what_a_thread_has_paused(
    sandbox: ProcessSandbox, tmp_path: Path, anyio_backend: str
) -> None:
    del anyio_backend
    with make(sandbox, tmp_path) as toolkit:
        result = toolkit.execute(PROGRAM)
        assert result.run_id is not None
        result = await toolkit.aresume(result.run_id, {result.pending[0].id: True})
        assert result.run_id is not None
        result = await toolkit.aresume(result.run_id, {result.pending[0].id: True})
    assert result.success
    assert done == ["a", 1, "b", 2]


@pytest.mark.sampled(every=2)
def test_program_resumed_elsewhere_leaves_its_old_worker_alone(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    with make(sandbox, tmp_path) as first, make(None, tmp_path) as second:
        paused = first.execute(PROGRAM)
        assert paused.run_id is not None
        paused = second.resume(paused.run_id, {paused.pending[0].id: Approve()})
        assert paused.run_id is not None
        assert first.resume(paused.run_id, {paused.pending[0].id: Approve()}).success
    assert done == ["a", 1, "b", 2]


@pytest.mark.sampled(every=2)
def test_closed_sandbox_loses_no_run(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    with make(sandbox, tmp_path) as toolkit:
        paused = toolkit.execute(PROGRAM)
    sandbox.close()
    with make(None, tmp_path) as toolkit:
        assert approve_all(toolkit, paused).success
    assert done == ["a", 1, "b", 2]


@pytest.mark.parametrize("settlement", [Happened(7), DidNotHappen()], ids=["happened", "did not happen"])
@pytest.mark.sampled(every=2)
def test_abandoned_call_waits_for_a_word_about_it(
    sandbox: ProcessSandbox, tmp_path: Path, settlement: Happened | DidNotHappen
) -> None:
    with make(sandbox, tmp_path) as toolkit:
        result = toolkit.execute("print(hang(1))")
        assert (result.status, result.pending[0].state) == ("paused", "outcome_unknown")
        assert result.run_id is not None
        # The function that was left behind may still take effect: nothing is decided about it.
        journal, run_id = toolkit.open_journal(), result.run_id
        assert [call.state for call in journal.run(run_id).pending] == ["running"]
        with pytest.raises(DecisionError, match=r"\(hang\) is running, in process"):
            journal.decide(run_id, {result.pending[0].id: settlement})
        with pytest.raises(RunInProgressError):
            toolkit.resume(run_id, {result.pending[0].id: settlement})
        done.append("so that it hangs no longer")
        assert becomes(lambda: int(journal.run(run_id).state == "outcome_unknown"), 1, within=30)
        with pytest.raises(OutcomeUnknownError, match="it is unknown whether hang"):
            toolkit.resume(run_id)
        result = toolkit.resume(result.run_id, {result.pending[0].id: settlement})
    assert result.output == ("7\n" if isinstance(settlement, Happened) else "1\n")


@pytest.mark.sampled(every=0)
def test_kept_workers_are_limited(tmp_path: Path) -> None:
    with ProcessSandbox(ready=1, paused=60.0) as sandbox, make(sandbox, tmp_path) as toolkit:
        paused = [toolkit.execute("print(pay(1))") for _ in range(20)]
        for result in paused:
            assert approve_all(toolkit, result).output == "1\n"
    assert done == [1] * 20


@pytest.mark.parametrize(
    ("program", "digests"),
    [
        ("import sys\nprint('one')\npay(1)\nprint('two', file=sys.stderr)\npay(2)\nprint('three')\nlog('end')", 3),
        ("pay(1)\npay(2)\nlog('end')", 0),
        ("import sys\npay(1)\nprint('two', file=sys.stderr)\npay(2)\nlog('end')", 1),
    ],
    ids=["both streams", "silent", "errors"],
)
def test_kept_worker_records_what_a_new_one_does(program: str, digests: int, tmp_path: Path) -> None:
    outputs: list[list[object]] = []
    for seconds in (0.0, 60.0):
        with (
            ProcessSandbox(ready=1, paused=seconds) as sandbox,
            Toolkit([log, pay], journal=tmp_path / f"{seconds}.db", sandbox=sandbox, limits=Limits(seed=3)) as toolkit,
        ):
            result = approve_all(toolkit, toolkit.execute(program))
            events = toolkit.open_journal().events(str(result.run_id))
        outputs.append([event.data.get("output") for event in events if event.path])
    # With another library, these are compared before the run goes on.
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0]) - {None}) == digests


@pytest.mark.parametrize("awaits", [False, True], ids=["blocking", "awaiting"])
def test_equal_run_ids_of_two_journals_keep_their_programs(awaits: bool, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    with ProcessSandbox(ready=1) as sandbox, make(sandbox, folders[0]) as first, make(sandbox, folders[1]) as second:
        toolkits = {"first": first, "second": second}
        paused = {
            name: toolkit.execute(f"print('{name}')\npay(1)\nprint(log('{name}'))", run_id="r")
            for name, toolkit in toolkits.items()
        }
        for name, toolkit in toolkits.items():
            decisions = {paused[name].pending[0].id: True}
            result = run_coroutine(toolkit.aresume, "r", decisions) if awaits else toolkit.resume("r", decisions)
            assert result.output == f"{name}\n{name}\n"
    assert done == [1, "first", 1, "second"]


@pytest.mark.parametrize("running", [1, 3])
def test_kept_workers_give_way_to_callers(running: int, tmp_path: Path) -> None:
    with ProcessSandbox(running=running, patience=5, paused=600) as sandbox, make(sandbox, tmp_path) as toolkit:
        paused = [toolkit.execute("print(pay(1))") for _ in range(running)]
        assert toolkit.execute("1 + 1").return_value == 2
        assert [approve_all(toolkit, result).output for result in paused] == ["1\n"] * running


def test_program_that_pauses_gives_way_to_callers_in_wait(tmp_path: Path) -> None:
    caller = WaitingCaller()
    begun = threading.Event()

    @ez_tool
    def hold() -> None:
        """Return once another caller waits."""
        begun.set()
        caller.waits.wait(30)

    with (
        ProcessSandbox(running=1, patience=5, paused=600) as sandbox,
        Toolkit([hold, pay], journal=tmp_path / "runs.db", sandbox=sandbox) as toolkit,
    ):

        def wait() -> ExecutionResult:
            assert begun.wait(30)
            CALLER.set(caller)
            return toolkit.execute("1 + 1")

        waiting = start_in_thread(Threads().start, wait)
        assert toolkit.execute("hold()\npay(1)").status == "paused"
        assert waiting.result(30).return_value == 2


def test_resumed_program_leaves_no_thread_of_its_wait(tmp_path: Path) -> None:
    def timers() -> int:
        return sum(isinstance(thread, threading.Timer) for thread in threading.enumerate())

    before = timers()
    with ProcessSandbox(ready=1, paused=600) as sandbox, make(sandbox, tmp_path) as toolkit:
        for _ in range(3):
            assert approve_all(toolkit, toolkit.execute("print(pay(1))")).output == "1\n"
        assert toolkit.execute("pay(1)").status == "paused"
        assert becomes(timers, before + 1, within=30)
    assert becomes(timers, before, within=30)
