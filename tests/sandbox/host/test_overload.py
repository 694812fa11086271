"""More programs than there is room for: they wait their turn, and too many are refused with what to do."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import anyio
import anyio.lowlevel
import pytest
from anyio.to_thread import run_sync as to_thread

from ez_ptc import Overloaded, SandboxError, Tool, Toolkit, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.host.pool import Lease, Pool
from ez_ptc.sandbox.host.workers.waiting import QueueTicket
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from tests.sandbox.processes import becomes, descendants, families, threads
from tests.sandbox.scripts import run_script
from tests.sandbox.tools import TOOLS


class Gate:
    """A tool that waits for a person to open, and counts who is in it."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._entered = threading.Semaphore(0)
        self.inside = 0
        self.most = 0
        self._lock = threading.Lock()

    def tool(self) -> Tool[[], None]:
        @ez_tool
        def wait() -> None:
            """Wait until the gate is open."""
            with self._lock:
                self.inside += 1
                self.most = max(self.most, self.inside)
            self._entered.release()
            self._open.wait(60)
            with self._lock:
                self.inside -= 1

        return wait

    def until_entered(self, times: int) -> None:
        for _ in range(times):
            assert self._entered.acquire(timeout=60)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    found = Gate()
    yield found
    found.open()


Small = Callable[..., Toolkit]


@pytest.fixture
def small(gate: Gate) -> Iterator[Small]:
    """Make a toolkit over a sandbox of its own with so much room."""
    made: list[ProcessSandbox] = []

    def make(**room: float) -> Toolkit:
        made.append(ProcessSandbox(ready=1, **room))  # pyright: ignore[reportArgumentType] - int or float
        return Toolkit([gate.tool(), *TOOLS], sandbox=made[-1])

    yield make
    gate.open()
    for sandbox in made:
        sandbox.close()


def start(pool: ThreadPoolExecutor, toolkit: Toolkit, code: str, number: int) -> list[Future[ExecutionResult]]:
    return [pool.submit(toolkit.execute, code, 60) for _ in range(number)]


def test_no_more_programs_run_than_there_is_room_for(small: Small, gate: Gate) -> None:
    toolkit = small(running=3)
    with ThreadPoolExecutor(9) as pool:
        running = start(pool, toolkit, "wait()\n1", 9)
        gate.until_entered(3)
        assert [result.done() for result in running] == [False] * 9
        gate.open()
        assert [result.result(30).return_value for result in running] == [1] * 9
    assert gate.most == 3


def test_caller_beyond_queue_limit_is_rejected_with_advice(small: Small, gate: Gate) -> None:
    toolkit = small(running=1, waiting=1)
    with ThreadPoolExecutor(3) as pool:
        running = start(pool, toolkit, "wait()\n1", 1)
        gate.until_entered(1)
        # One of these waits; the other one finds it there.
        others = start(pool, toolkit, "1", 2)
        done, _ = wait(others, timeout=60, return_when=FIRST_COMPLETED)
        error = done.pop().exception()
        assert isinstance(error, Overloaded)
        assert "1 programs run and 1 wait" in str(error)
        assert "ProcessSandbox(running=…, waiting=…)" in str(error)
        gate.open()
        results = [each.result(30).return_value for each in (*running, *others) if each.exception(30) is None]
        assert results == [1, 1]


def _ways(toolkit: Toolkit) -> dict[str, Callable[[], object]]:
    loops = {name: lambda name=name: anyio.run(toolkit.aexecute, "1", backend=name) for name in ("asyncio", "trio")}
    return {"blocking": lambda: toolkit.execute("1"), **loops}


@pytest.mark.parametrize("way", ["blocking", "asyncio", "trio"])
@pytest.mark.sampled(every=3)
def test_caller_waiting_too_long_is_rejected_with_advice(small: Small, gate: Gate, way: str) -> None:
    toolkit = small(running=1, patience=1)
    assert isinstance(toolkit.sandbox, ProcessSandbox)
    toolkit.sandbox.warm_up()
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, toolkit, "wait()\n1", 1)
        gate.until_entered(1)
        run = _ways(toolkit)[way]
        with pytest.raises(Overloaded, match="no worker became free within 1 s, 1 programs run"):
            run()
        gate.open()
        assert running[0].result(30).return_value == 1
    assert toolkit.execute("2", 20).return_value == 2


@pytest.mark.anyio
@pytest.mark.sampled(every=2)
async def test_one_that_stops_waiting_takes_no_place(small: Small, gate: Gate) -> None:
    toolkit = small(running=1)
    with ThreadPoolExecutor(1) as pool:
        running = start(pool, toolkit, "wait()\n1", 1)
        await to_thread(gate.until_entered, 1)
        for _ in range(20):
            with anyio.move_on_after(0.01):
                await toolkit.aexecute("1")
        gate.open()
        assert (await to_thread(running[0].result, 30)).return_value == 1
    # All of the room is there again.
    assert (await toolkit.aexecute("add(1, 2)", 20)).return_value == 3


@pytest.mark.anyio
@pytest.mark.sampled(every=0)
async def test_tasks_that_wait_hold_no_thread(small: Small, gate: Gate) -> None:
    toolkit = small(running=1)
    order: list[object] = []
    results: list[object] = []

    async def run(number: int) -> None:
        order.append(number)
        results.append((await toolkit.aexecute(f"{number}", 60)).return_value)

    with ThreadPoolExecutor(1) as pool:
        running = start(pool, toolkit, "wait()\n1", 1)
        await to_thread(gate.until_entered, 1)
        before = threads()
        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(run, number)
            await anyio.lowlevel.checkpoint()
            # The dispatcher's at most.
            assert threads() <= before + 1
            gate.open()
        assert (await to_thread(running[0].result, 30)).return_value == 1
    # Who came first is served first.
    assert results == order


def test_closing_rejects_queued_callers(small: Small, gate: Gate) -> None:
    toolkit = small(running=1)
    sandbox = toolkit.sandbox
    assert isinstance(sandbox, ProcessSandbox)
    with ThreadPoolExecutor(3) as pool:
        running = start(pool, toolkit, "wait()\n1", 3)
        gate.until_entered(1)
        sandbox.close()
        gate.open()
        assert all(isinstance(result.exception(30), SandboxError) for result in running)


@pytest.mark.sampled(every=0)
def test_ready_workers_grow_under_load_and_shrink_afterwards() -> None:
    before = descendants(os.getpid())
    with ProcessSandbox(ready=2) as sandbox:
        toolkit = Toolkit(TOOLS, sandbox=sandbox)
        counts = [0]
        # On a loaded machine the first look may come when there are fewer again.
        while counts[-1] <= 5 and len(counts) < 20:
            with ThreadPoolExecutor(12) as pool:
                assert {each.result(60).return_value for each in start(pool, toolkit, "add(1, 1)", 60)} == {2}
                counts.append(len(families(os.getpid(), without=before)))
        pause = threading.Event()
        # The zygote, its parent, two workers, and perhaps one that checks programs.
        while counts[-1] > 5 and len(counts) < 1_200:
            counts.append(len(families(os.getpid(), without=before)))
            pause.wait(0.05)
        assert counts[-1] <= 5
        assert max(counts) > 5


MANY = """
import anyio
from ez_ptc import Toolkit, ez_tool

@ez_tool
async def later(number: int) -> int:
    "Say it later."
    await anyio.sleep(0.01)
    return number

async def main():
    results = []
    async def run(number):
        results.append((await toolkit.aexecute(f"later({number})", 120)).return_value)
    with anyio.fail_after(150):
        async with anyio.create_task_group() as group:
            for number in range(1_000):
                group.start_soon(run, number)
    print(sorted(results) == list(range(1_000)))

with Toolkit([later]) as toolkit:
    anyio.run(main)
"""


@pytest.mark.security
def test_a_thousand_programs_in_flight_on_one_host_finish() -> None:
    assert run_script(MANY, timeout=180) == "True\n"


@pytest.mark.parametrize(
    ("name", "value"), [("ready", -1), ("running", 0), ("waiting", -1), ("patience", -1), ("patience", float("nan"))]
)
def test_room_for_nothing_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"ProcessSandbox\({name}=…\): expected "):
        ProcessSandbox(**{name: value})  # pyright: ignore[reportArgumentType] - what is refused


def test_program_that_needs_another_worker_keeps_its_turn(gate: Gate) -> None:
    with ProcessSandbox(ready=1, running=1, waiting=1) as sandbox, ThreadPoolExecutor(2) as callers:
        pool = sandbox._pool  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no program is refused at will
        running = pool.take(gate)
        later = callers.submit(pool.take, gate)
        assert becomes(lambda: len(pool._queue), 1, within=60)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        first = callers.submit(pool.take, gate, is_again=True)
        assert becomes(lambda: len(pool._queue), 2, within=60)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        running.release()
        lease = first.result(60)
        assert not later.done()
        lease.release()
        later.result(60).release()


def test_worker_that_two_threads_put_back_serves_a_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each saw one program too many, and the dispatcher left before the other thread had put its worker back."""
    owner, served, has_left = object(), threading.Event(), threading.Event()
    meeting, checks = threading.Barrier(2), threading.local()
    read: Callable[[Pool], list[object]] = vars(Pool)["_owners"].fget

    def read_late(pool: Pool) -> list[object]:
        is_in_meeting = inspect.stack(0)[1].function == "_lease" and not has_left.is_set()
        checks.count = getattr(checks, "count", 0) + is_in_meeting
        if not is_in_meeting or checks.count > 2:
            return read(pool)
        if checks.count == 2:
            meeting.wait(20)  # both threads have added their workers
        owners = read(pool)
        meeting.wait(20)
        if checks.count == 2 and threading.current_thread() is threading.main_thread():
            assert has_left.wait(20)
        return owners

    def dispatch() -> None:
        vars(Pool)["_serve"](pool)
        has_left.set()

    with ProcessSandbox(ready=2, running=2) as sandbox:
        # Two callers meet here within a few instructions, which no program can bring about.
        pool: Pool = vars(sandbox)["_pool"]
        pool.warm_up()
        pool.cool_down()
        running = pool.take(owner)
        pool.cool_down()
        monkeypatch.setattr(Pool, "_owners", property(read_late))
        ticket = QueueTicket(served.set, None, owner)
        vars(pool)["_queue"].append(ticket)
        threading.Thread(target=dispatch).start()
        pool.order_ready()
        assert served.wait(20)
        assert isinstance(ticket.given, Lease)
        running.release()
