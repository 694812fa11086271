"""Concurrent programs take the same path again: in a fresh worker, whatever time their tools take."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from ez_ptc import Approve, Journal, Limits, ProcessSandbox, ReplayDivergedError, Toolkit, ez_tool
from tests.journal.programs import Effects
from tests.journal.pythons import OTHER_PYTHONS
from tests.journal.rewriting import replace_program
from tests.journal.side_by_side import PATTERNS, slow_tools

_LIMITS: Final = Limits(timeout=60)
# `make test-replay` sets it.
_ROUNDS: Final = int(os.environ.get("EZ_PTC_REPLAY_ROUNDS", "2"))


@pytest.mark.security
@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("python", ["this", *OTHER_PYTHONS])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_concurrent_program_resumes_to_the_same_output(
    pattern: str, python: str, effects: Effects, tmp_path: Path
) -> None:
    with ProcessSandbox(ready=1, paused=0, python=OTHER_PYTHONS.get(python)) as sandbox:
        for number in range(_ROUNDS):
            tools = slow_tools(effects, random.Random(number))
            effects.path.unlink(missing_ok=True)
            with Toolkit(tools, journal=tmp_path / f"{number}.db", limits=_LIMITS, sandbox=sandbox) as toolkit:
                paused = toolkit.execute(PATTERNS[pattern])
                assert paused.status == "paused", paused.error_output
                before = effects.lines()
                assert paused.run_id is not None
                done = toolkit.resume(paused.run_id, {call.id: Approve() for call in paused.pending})
                assert (done.output, done.status) == (f"{paused.output}paid 1\n", "done")
                assert toolkit.replay(paused.run_id).output == done.output
            assert effects.lines() == before + Counter({"pay 1": 1})


SLOW_BRANCH = """
from concurrent.futures import ThreadPoolExecutor, TimeoutError
pool = ThreadPoolExecutor(4)
first = pool.submit(ask, "primary")
try:
    price = first.result(timeout=0.1)
except TimeoutError:
    price = None
print(order("backup" if price is None else "primary"))
confirm()
"""
SLOW_TASK = """
import asyncio
async def main():
    try:
        price = await asyncio.wait_for(asyncio.to_thread(ask, "primary"), 0.1)
    except asyncio.TimeoutError:
        price = None
    print(await asyncio.to_thread(order, "backup" if price is None else "primary"))
    await asyncio.to_thread(confirm)
asyncio.run(main())
"""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("program", [SLOW_BRANCH, SLOW_TASK], ids=["future", "task"])
@pytest.mark.parametrize("is_reader", [True, False], ids=["reader", "other"])
def test_timeout_takes_one_branch_only(program: str, is_reader: bool, effects: Effects, tmp_path: Path) -> None:
    """The call was slow when the run was recorded, and is not when it is resumed."""
    is_slow = [True]

    @ez_tool(read_only=is_reader, idempotent=not is_reader)
    def ask(shop: str) -> int:
        """Ask for a price."""
        import time

        time.sleep(0.5 if is_slow[0] else 0.0)
        return len(shop)

    @ez_tool
    def order(shop: str) -> str:
        """Order something."""
        effects.happen(f"order {shop}")
        return f"ordered at {shop}"

    @ez_tool(requires_approval=True)
    def confirm() -> str:
        """Confirm the order."""
        return "confirmed"

    path = tmp_path / "runs.db"
    for _ in range(2):
        with (
            ProcessSandbox(ready=1, paused=0) as sandbox,
            Toolkit([ask, order, confirm], journal=path, limits=_LIMITS, sandbox=sandbox) as toolkit,
        ):
            if is_slow[0]:
                result = toolkit.execute(program)
                assert result.status == "paused"
                is_slow[0] = False
            else:
                (run,) = toolkit.open_journal().runs()
                result = toolkit.resume(run.id, {call.id: Approve() for call in run.pending})
                assert (result.status, result.output) == ("done", "ordered at backup\n")
    assert effects.lines() == {"order backup": 1}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "program",
    [
        "parallel((note, 5), (find, 9))\nnote(1)\npay(1)",
        "from threading import Thread\nthread = Thread(target=note, args=(5,))\nthread.start()\nthread.join()\nnote(1)",
        "import asyncio\nasyncio.run(asyncio.wait_for(asyncio.to_thread(find, 7), 9))\nnote(1)\npay(1)",
        "import time\nfrom threading import Thread\nThread(target=time.sleep, args=(50,)).start()\nfind(3)\nnote(1)",
        "import asyncio\nasyncio.run(asyncio.sleep(0.01))\nnote(2)",
        "from threading import Timer\ntimer = Timer(0.01, print)\ntimer.start()\ntimer.join()\nnote(2)",
    ],
    ids=["parallel", "thread", "timeout", "sleeper", "sleep", "timer"],
)
def test_diverging_concurrent_program_runs_nothing(program: str, effects: Effects, journal: Journal) -> None:
    """It waits for a call without a record, and for nothing else: nothing has run when this is noticed at once."""
    tools = slow_tools(effects, random.Random(1))
    with (
        ProcessSandbox(ready=1, paused=0) as sandbox,
        Toolkit(tools, journal=journal, limits=Limits(timeout=600), sandbox=sandbox) as toolkit,
    ):
        paused = toolkit.execute("note(1)\npay(1)")
        assert paused.run_id is not None
        replace_program(journal, paused.run_id, program)
        count = len(journal.events(paused.run_id))
        resumed = toolkit.aresume(paused.run_id, {paused.pending[0].id: Approve()})
        with pytest.raises(ReplayDivergedError, match="nothing was run"):
            asyncio.run(asyncio.wait_for(resumed, 60))
        assert [event.kind for event in journal.events(paused.run_id)][count:] == ["claim", "decision"]
        replace_program(journal, paused.run_id, "note(1)\npay(1)")
        assert toolkit.resume(paused.run_id).status == "done"
    assert effects.lines() == {"note 1": 1, "pay 1": 1}


POLLING = {
    "timer": "n = [0]\nthreading.Timer(0.001, lambda: n.append(1)).start()\nwhile len(n) < 2: pass",
    "thread": "n = []\nthreading.Thread(target=lambda: n.append(note(1))).start()\nwhile not n: pass",
    "future": "future = ThreadPoolExecutor(2).submit(note, 1)\nwhile not future.done(): pass",
    "task": """
async def main():
    task = asyncio.create_task(asyncio.to_thread(note, 1))
    while not task.done(): await asyncio.sleep(0)
asyncio.run(main())
""",
    "clock": "end = time.time() + 1\nthreading.Thread(target=note, args=(1,)).start()\nwhile time.time() < end: pass",
}


@pytest.mark.security
@pytest.mark.parametrize("pattern", POLLING)
def test_polling_thread_lets_the_others_run(pattern: str, effects: Effects, journal: Journal) -> None:
    program = f"import asyncio, threading, time\nfrom concurrent.futures import ThreadPoolExecutor\n{POLLING[pattern]}"
    with (
        ProcessSandbox(ready=1, paused=0) as sandbox,
        Toolkit(slow_tools(effects, random.Random(1)), journal=journal, limits=_LIMITS, sandbox=sandbox) as toolkit,
    ):
        assert toolkit.execute(program + "\nprint('over')").output == "over\n"


@pytest.mark.security
def test_polling_thread_hands_over_once_it_waits(journal: Journal) -> None:
    """The thread that went on beside it waited for a reply then, though there was no call, until the time was up."""

    @ez_tool
    def note(number: int) -> int:
        """Note a number."""
        return number

    program = """
import queue, threading
from concurrent.futures import ThreadPoolExecutor
n, jobs = [], queue.Queue()
waiting = threading.Thread(target=jobs.get)
waiting.start()
ThreadPoolExecutor(1).submit(note, 1).add_done_callback(n.append)
while not n: pass
jobs.put(None)
waiting.join()
print("over")
"""
    with (
        ProcessSandbox(ready=1) as sandbox,
        Toolkit([note], journal=journal, limits=_LIMITS, sandbox=sandbox) as toolkit,
    ):
        assert toolkit.execute(program).output == "over\n"


@pytest.mark.security
def test_tasks_take_the_same_path_where_the_last_thread_ends(effects: Effects, journal: Journal) -> None:
    """The thread that ended let the first task go on, and did not record which one."""
    answered = {number: asyncio.Event() for number in range(3)}

    @ez_tool
    def note(number: int) -> None:
        """Note a number, once."""
        effects.happen(f"note {number}")

    @ez_tool(read_only=True)
    async def find(number: int) -> int:
        """Find something, after what is found next."""
        if number < 2:
            await answered[number + 1].wait()
        answered[number].set()
        return number

    @ez_tool(requires_approval=True)
    def pay() -> None:
        """Pay, after an approval."""
        effects.happen("pay")

    program = """
import asyncio, threading, time
async def branch(number):
    print(await find(number), time.monotonic())
    await asyncio.sleep(0.01)
    print(await asyncio.to_thread(note, number), number)
async def main():
    begun = threading.Event()
    threading.Thread(target=begun.wait).start()
    branches = asyncio.gather(*map(branch, range(3)))
    await asyncio.sleep(0)
    begun.set()
    await branches
    pay()
asyncio.run(main())
"""
    with (
        ProcessSandbox(ready=1, paused=0) as sandbox,
        Toolkit([note, find, pay], journal=journal, limits=_LIMITS, sandbox=sandbox) as toolkit,
    ):
        paused = toolkit.execute(program)
        assert paused.status == "paused", paused.error_output
        assert paused.run_id is not None
        done = toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()})
        assert (done.output, done.status) == (paused.output, "done")
    assert effects.lines() == dict.fromkeys(("note 0", "note 1", "note 2", "pay"), 1)


@pytest.mark.security
def test_thread_beside_others_makes_its_call_before_later_events(effects: Effects, journal: Journal) -> None:
    """The thread beside it took the call for a missing one, and waited for a reply without end."""
    noted = asyncio.Event()

    @ez_tool
    async def note(number: int) -> None:
        """Note a number, once."""
        effects.happen(f"note {number}")
        noted.set()

    @ez_tool(read_only=True)
    async def find(number: int) -> int:
        """Find something, the second thing after the note."""
        if number == 2:
            await noted.wait()
        return number

    @ez_tool(requires_approval=True)
    def pay() -> None:
        """Pay, after an approval."""
        effects.happen("pay")

    program = """
import asyncio, queue, select, threading
def stay():
    select.select([], [], [], 7)
    asyncio.run(note(1))
thread = threading.Thread(target=stay)
thread.start()
async def look():
    print(await find(1), await find(2))
asyncio.run(look())
try: queue.Queue().get(timeout=0.01)
except queue.Empty: print("nothing")
thread.join()
pay()
"""
    with (
        ProcessSandbox(ready=1, paused=0) as sandbox,
        Toolkit([note, find, pay], journal=journal, limits=Limits(timeout=40), sandbox=sandbox) as toolkit,
    ):
        paused = toolkit.execute(program)
        assert (paused.status, paused.output) == ("paused", "1 2\nnothing\n")
        assert paused.run_id is not None
        done = toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()})
        assert (done.output, done.status) == (paused.output, "done")
    assert effects.lines() == {"note 1": 1, "pay": 1}


@pytest.mark.security
@pytest.mark.parametrize("lock", ["threading.Lock()", "threading.RLock()", "threading.Condition()"])
def test_lock_handed_to_a_thread_whose_time_is_up_is_free(lock: str, journal: Journal) -> None:
    """It stayed locked, and whoever else wanted it waited to the end of the grace period."""
    program = f"""
import threading
lock, begun, found = {lock}, threading.Event(), []
def work():
    with lock:
        begun.set()
        threading.Event().wait(0.1)
    while not found: pass
    found.append(lock.acquire(timeout=0))
thread = threading.Thread(target=work)
thread.start()
begun.wait()
try: lock.acquire()
except BaseException as error: found.append(type(error).__name__)
thread.join()
print(found)
"""
    limits = Limits(timeout=1, grace=30)
    with ProcessSandbox(ready=1) as sandbox, Toolkit([], journal=journal, limits=limits, sandbox=sandbox) as toolkit:
        assert toolkit.execute(program).output == "['TimeoutError', True]\n"
