"""What becomes of a worker when its program is over, and of one that is gone before it gets a program."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest

from ez_ptc import Tool, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from ez_ptc.sandbox.protocol.execution import ExecutionResult
from ez_ptc.toolkit.toolkit import Toolkit
from tests.sandbox.processes import all_gone, becomes, descendants, descriptors, families, inside, parent
from tests.sandbox.scripts import run_script

Execute = Callable[..., ExecutionResult]

READY = 2
LINGERING = """
import os, threading
threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
found(os.getpid())
"""


@pytest.fixture
def own() -> Iterator[ProcessSandbox]:
    with ProcessSandbox(ready=READY) as sandbox:
        yield sandbox


@pytest.fixture
def workers() -> list[int]:
    """Those that have run a program."""
    return []


@pytest.fixture
def found(workers: list[int]) -> Tool[..., None]:
    others = descendants(os.getpid())

    @ez_tool
    def found(number: int) -> None:
        """Note the worker that has this number in its own namespace; in that of others it may be another's."""
        workers.extend(pid for pid in families(os.getpid(), without=others) if inside(pid) == number)

    return found


@pytest.mark.sampled(every=3)
def test_a_worker_is_gone_when_its_result_is_out(
    execute_everywhere: Execute, own: ProcessSandbox, found: Tool[..., None], workers: list[int]
) -> None:
    toolkit = Toolkit([found], sandbox=own)
    for _ in range(3):
        assert execute_everywhere(toolkit, LINGERING, 20).success
        assert all_gone(workers, within=60)
    assert len(workers) >= 3


@pytest.mark.sampled(every=0)
def test_worker_is_gone_once_its_result_is_out(
    execute_everywhere: Execute, own: ProcessSandbox, found: Tool[..., None], workers: list[int]
) -> None:
    with ExitStack() as restored:

        @ez_tool
        def hold() -> None:
            """Stop the process that has forked the worker."""
            zygote = parent(workers[0])
            os.kill(zygote, signal.SIGSTOP)
            restored.callback(os.kill, zygote, signal.SIGCONT)

        toolkit = Toolkit([found, hold], sandbox=own)
        assert execute_everywhere(toolkit, LINGERING + "hold()", 20).success
        assert all_gone(workers, within=60)
    assert execute_everywhere(toolkit, "1 + 1", 20).return_value == 2


def waiting(before: set[int]) -> set[int]:
    """Return the workers of a sandbox that was not there before: all of it but the zygote and its parent."""
    started = families(os.getpid(), without=before)
    elders = {pid for pid in started if parent(pid) == os.getpid()}
    elders |= {pid for pid in started if parent(pid) in elders}
    return started - elders


def ready_ones(before: set[int], ready: int) -> set[int]:
    """Return the workers of a sandbox that was not there before, once so many are ready."""
    pause = threading.Event()
    for _ in range(500):
        if len(waiting(before)) >= ready:
            break
        pause.wait(0.02)
    found = waiting(before)
    assert len(found) >= ready
    return found


def kill_the_waiting(before: set[int], ready: int) -> None:
    """Kill the workers of a sandbox that was not there before, once so many are ready."""
    found = ready_ones(before, ready)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert all_gone(found, within=60)


@pytest.mark.sampled(every=0)
def test_waiting_workers_may_outnumber_a_descriptor_limit() -> None:
    before = descendants(os.getpid())
    with ProcessSandbox(ready=80) as own:
        own.warm_up()
        assert len(ready_ones(before, 80)) == 80
        # Nobody has taken their descriptors in yet; the zygote that sent them has not run out of them.
        assert Toolkit([], sandbox=own).execute("1 + 1", 20).return_value == 2


@pytest.mark.sampled(every=0)
def test_killed_ready_workers_go_unnoticed(execute_everywhere: Execute) -> None:
    before = descendants(os.getpid())
    with ProcessSandbox(ready=READY) as own:
        toolkit = Toolkit([], sandbox=own)
        for _ in range(3):
            assert execute_everywhere(toolkit, "1 + 1", 20).return_value == 2
            kill_the_waiting(before, READY)
            assert execute_everywhere(toolkit, "print('here')\n40 + 2", 20).to_string() == "here\n"


def test_session_survives_death_of_its_ready_worker() -> None:
    before = descendants(os.getpid())
    with ProcessSandbox(ready=READY) as own, Toolkit([], sandbox=own) as toolkit:
        assert toolkit.execute("1 + 1", 20).return_value == 2
        kill_the_waiting(before, READY)
        with toolkit.session() as session:
            assert session.execute("kept = 5", 20).success
            assert session.execute("kept", 20).return_value == 5


BROKEN_PIPE = """
import os, signal
from ez_ptc import Toolkit
from tests.sandbox.host.test_released_workers import kill_the_waiting

signal.signal(signal.SIGPIPE, signal.SIG_DFL)
with Toolkit([]) as toolkit:
    assert toolkit.execute("1 + 1", 20).return_value == 2
    kill_the_waiting(set(), 3)
    print(toolkit.execute("20 + 22", 20).return_value)
"""


@pytest.mark.sampled(every=0)
def test_host_with_default_sigpipe_survives_dead_worker() -> None:
    assert run_script(BROKEN_PIPE, timeout=60).split() == ["42"]


@pytest.mark.sampled(every=0)
def test_host_holds_only_descriptors_of_ready_workers(sandbox: ProcessSandbox) -> None:
    sandbox.cool_down()
    before = len(descriptors())
    with ProcessSandbox(ready=READY) as own:
        toolkit = Toolkit([], sandbox=own)
        assert toolkit.execute("1 + 1", 20).return_value == 2
        with ThreadPoolExecutor(6) as pool:
            results = list(pool.map(toolkit.execute, ["1 + 1"] * 24))
        assert [result.return_value for result in results] == [2] * 24
        own.cool_down()
        # The zygote's socket, and two of each worker.
        assert becomes(lambda: len(descriptors()), before + 1 + 2 * READY, within=60)
        for _ in range(3 * READY):
            assert toolkit.execute("1 + 1", 20).return_value == 2
    assert becomes(lambda: len(descriptors()), before, within=60)


@pytest.mark.sampled(every=3)
def test_a_program_may_have_months(execute_everywhere: Execute, own: ProcessSandbox) -> None:
    """The kernel waits for 24 days at a time."""

    @ez_tool
    def next_of(number: int) -> int:
        """Add one."""
        return number + 1

    toolkit = Toolkit([next_of], sandbox=own, timeout=100 * 24 * 3600.0)
    assert execute_everywhere(toolkit, "next_of(1) + 1").return_value == 3
    with toolkit.session() as session:
        assert session.execute("next_of(1) + 1").return_value == 3
