"""A program pauses once its calls wait and it has nothing else to do, however often it looks for their replies."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ez_ptc import Approve, ExecutionResult, Limits, ProcessSandbox, Toolkit, ez_tool
from ez_ptc._sync import run_coroutine

_LIMITS: Final = Limits(timeout=20)
_HEAD: Final = """
import asyncio, queue, threading, time
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(4)

def poll(future):
    while not future.done():
        time.sleep(0.003)
    return future.result()

def compute(steps):
    number = 0
    for step in range(steps):
        number = (number * 31 + step) % 1000003
    return number
"""
POLLERS: Final = {
    "sleep": "print(poll(pool.submit(pay, 1)))",
    "shortest sleep": """
future = pool.submit(pay, 1)
while not future.done():
    time.sleep(0.0001)
print(future.result())
""",
    "event": """
event = threading.Event()
threading.Thread(target=lambda: (pay(1), event.set())).start()
while not event.wait(0.005):
    pass
print(1)
""",
    "queue": """
replies = queue.Queue()
threading.Thread(target=lambda: replies.put(pay(1))).start()
while True:
    try:
        print(replies.get(timeout=0.002))
        break
    except queue.Empty:
        pass
""",
    "event loop": """
async def main():
    replies = asyncio.Queue()
    async def feed():
        await replies.put(await asyncio.to_thread(pay, 1))
    task = asyncio.create_task(feed())
    while True:
        try:
            print(await asyncio.wait_for(replies.get(), 0.003))
            break
        except asyncio.TimeoutError:
            pass
asyncio.run(main())
""",
    "printing": """
import sys
future = pool.submit(pay, 1)
while not future.done():
    print("not yet", file=sys.stderr)
    time.sleep(0.005)
print(future.result())
""",
}
TWO_POLLERS: Final = """
futures = [pool.submit(pay, amount) for amount in (1, 2)]
print(*[poller.result() for poller in [pool.submit(poll, future) for future in futures]])
"""
COMPUTING: Final = """
def work():
    return compute(6_000_000) + pay(2)
other = pool.submit(work)
print(poll(pool.submit(pay, 1)), other.result() > 0)
"""


@ez_tool(requires_approval=True)
def pay(amount: int) -> int:
    """Pay."""
    return amount


@pytest.fixture(params=[60.0, 0.0], ids=["kept", "dropped"])
def toolkit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Toolkit]:
    """A toolkit with a sandbox that keeps paused workers, or one that does not."""
    with (
        ProcessSandbox(ready=1, paused=float(request.param)) as sandbox,
        Toolkit([pay], journal=tmp_path / "runs.db", limits=_LIMITS, sandbox=sandbox) as made,
    ):
        yield made


def _approve_elsewhere(folder: Path, paused: ExecutionResult) -> ExecutionResult:
    """Resume a run in another sandbox, as another process does."""
    assert paused.run_id is not None
    with ProcessSandbox(ready=1) as sandbox, Toolkit([pay], journal=folder / "runs.db", sandbox=sandbox) as toolkit:
        result = toolkit.resume(paused.run_id, {call.id: Approve() for call in paused.pending})
        assert toolkit.replay(paused.run_id).output == result.output
        return result


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("is_awaited", [False, True], ids=["blocking", "awaited"])
@pytest.mark.parametrize("program", POLLERS.values(), ids=POLLERS)
def test_program_that_polls_pauses_and_goes_on(program: str, is_awaited: bool, toolkit: Toolkit) -> None:
    code = _HEAD + program
    paused = run_coroutine(toolkit.aexecute, code) if is_awaited else toolkit.execute(code)
    assert (paused.status, len(paused.pending)) == ("paused", 1), paused.error_output
    assert paused.run_id is not None

    result = toolkit.resume(paused.run_id, {paused.pending[0].id: Approve()})
    assert (result.status, result.output) == ("done", "1\n")
    assert toolkit.replay(paused.run_id).output == result.output


def test_two_pollers_pause_in_both_calls(toolkit: Toolkit, tmp_path: Path) -> None:
    paused = toolkit.execute(_HEAD + TWO_POLLERS)
    assert (paused.status, len(paused.pending)) == ("paused", 2), paused.error_output
    assert _approve_elsewhere(tmp_path, paused).output == "1 2\n"


def test_program_computing_beside_a_poller_goes_on(toolkit: Toolkit, tmp_path: Path) -> None:
    paused = toolkit.execute(_HEAD + COMPUTING)
    assert (paused.status, len(paused.pending)) == ("paused", 2), paused.error_output
    assert _approve_elsewhere(tmp_path, paused).output == "1 True\n"
