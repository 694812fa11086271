"""Processes come when they are needed and are gone when they are not, whatever happens to whom."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from ez_ptc import ExecutionResult, SandboxError, Toolkit, WorkerDiedError, ez_tool
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.processes import alive, all_gone, descendants, families, parent, root_of
from tests.sandbox.scripts import ROOT, run_script
from tests.sandbox.tools import TOOLS
from tests.sandbox.worker.lifecycle.parent_filter import DOCKER, around

WORN_OUT = """
import anyio, json, os, threading
from ez_ptc import Limits, Toolkit
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.processes import descendants, descriptors, threads
from tests.sandbox.tools import TOOLS

READY = 2
STUBBORN = "while True:\\n    try:\\n        while True: pass\\n    except BaseException: pass"
sandbox = ProcessSandbox(ready=READY)
toolkit = Toolkit(TOOLS, sandbox=sandbox)
hasty = Toolkit(TOOLS, limits=Limits(timeout=0.02, grace=0.01), sandbox=sandbox)

def count(most_threads=99):
    pause = threading.Event()
    sandbox.cool_down()
    # The zygote, its parent, and the workers that wait. Idle threads end after a while.
    for _ in range(400):
        alive = len(descendants(os.getpid()))
        found = [len(descendants(os.getpid(), ended=True)), len(descriptors()), threads()]
        if alive <= 2 + READY and found[2] <= most_threads:
            break
        pause.wait(0.05)
    return found

def first():
    assert toolkit.execute("add(1, 2)").return_value == 3
    assert not hasty.execute(STUBBORN).success

async def many(number):
    for _ in range(number):
        assert (await toolkit.aexecute("add(1, 2)", 20)).return_value == 3

first()
anyio.run(many, 1)
before = count()
for step in range(80):
    for _ in range(7):
        assert toolkit.execute("print(add(1, 2))\\n{1: 2}", 20).return_value == {1: 2}
    assert not toolkit.execute("1 / 0", 20).success
    assert "exit code 3" in toolkit.execute("import os\\nos._exit(3)", 20).error
    assert "timed out" in hasty.execute(STUBBORN).error
for _ in range(20):
    assert "protocol" in toolkit.execute("import os\\nfor fd in range(3, 9):\\n"
        "    try: os.write(fd, b'xxxxxxxx')\\n    except OSError: pass\\nadd(1, 2)", 20).error
anyio.run(many, 178)
print(json.dumps([before, count(before[2]), READY]))
sandbox.close()
"""


@pytest.mark.security
def test_a_thousand_programs_leave_nothing_behind() -> None:
    """Eighty of them killed by the host for their time, twenty for breaking the rules, eighty by themselves."""
    before, after, ready = json.loads(run_script(WORN_OUT, timeout=120))
    processes, descriptors, threads = after
    # One that was let go while the zygote had nothing to do has ended, and is there until its next order.
    assert processes <= before[0] + ready
    assert descriptors == before[1]
    assert threads <= before[2]


MORTAL = """
import json, os, signal, sys, threading
from ez_ptc.sandbox.protocol.execution import Limits
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.doors import Door
from tests.sandbox.processes import descendants

def report():
    "Say which processes there are, and never return."
    print(json.dumps(sorted(descendants(os.getpid()))), flush=True)
    threading.Event().wait()

programs = {
    "in a tool": "report()",
    "computing": "import threading\\nthreading.Thread(target=report, daemon=True).start()\\nwhile True: pass",
    "idle": "1 + 1",
}
# Whoever runs the tests may ignore some, as `nohup` does.
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
sandbox = ProcessSandbox()
sandbox.execute(programs[sys.argv[1]], Door(report), Limits(timeout=60))
report()
"""


@contextmanager
def mortal(*arguments: str, rules: tuple[str, ...] = ()) -> Generator[tuple[subprocess.Popen[str], set[int]]]:
    """Start a host with processes of its own, and give both."""
    command = [*around(*rules), sys.executable, "-c", MORTAL, *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as host:
        try:
            assert host.stdout is not None
            pids = set(json.loads(host.stdout.readline()))
            # The zygote and its parent at least; a worker may have ended by now.
            assert sum(map(alive, pids)) >= 2
            yield host, pids
        finally:
            host.kill()


@pytest.mark.parametrize("rules", [(), DOCKER], ids=["whole", "docker"])
@pytest.mark.parametrize("moment", ["in a tool", "computing", "idle"])
@pytest.mark.sampled(every=8)
def test_killed_host_leaves_nothing_after_two_seconds(moment: str, rules: tuple[str, ...]) -> None:
    with mortal(moment, rules=rules) as (host, pids):
        host.send_signal(signal.SIGKILL)
        assert all_gone(pids, within=60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.sampled(every=3)
def test_terminated_host_leaves_nothing(number: signal.Signals) -> None:
    with mortal("idle") as (host, pids):
        host.send_signal(number)
        assert all_gone(pids, within=60)


@pytest.fixture
def own() -> Iterator[tuple[ProcessSandbox, Toolkit, set[int]]]:
    """A sandbox of its own, and the processes it has."""
    before = descendants(os.getpid())
    sandbox = ProcessSandbox(ready=1)
    toolkit = Toolkit(TOOLS, sandbox=sandbox)
    assert toolkit.execute("1 + 1").return_value == 2
    yield sandbox, toolkit, families(os.getpid(), without=before)
    sandbox.close()


Own = tuple[ProcessSandbox, Toolkit, set[int]]


def kill(pids: set[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert all_gone(pids, within=60)


@pytest.mark.sampled(every=0)
def test_killed_zygote_is_replaced(own: Own) -> None:
    _, toolkit, pids = own
    for _ in range(2):
        kill({root_of(pids)})
        assert all_gone(pids, within=60)
        before = descendants(os.getpid())
        assert toolkit.execute("add(20, 22)", 20).return_value == 42
        pids = families(os.getpid(), without=before)


@pytest.mark.sampled(every=2)
def test_any_of_the_processes_can_be_killed(own: Own) -> None:
    """The waiting workers among them, which the kernel kills first when memory is short."""
    _, toolkit, pids = own
    for pid in sorted(pids):
        if alive(pid):
            family = descendants(pid)
            kill({pid})
            assert all_gone(family, within=60)
        assert toolkit.execute("add(20, 22)", 20).return_value == 42


def begun(own: Own, code: str, act: Callable[[], None]) -> Future[ExecutionResult]:
    """Start a program that calls a tool and goes on, do something to it, and return what became of it."""
    started = threading.Event()

    @ez_tool
    def begin() -> None:
        """Say that the program runs."""
        started.set()

    toolkit = Toolkit([begin], sandbox=own[0])
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(toolkit.execute, code, 60)
        assert started.wait(20)
        act()
    return running


@pytest.mark.sampled(every=2)
def test_killed_program_that_called_tool_is_not_retried(own: Own) -> None:
    _, toolkit, pids = own
    running = begun(own, "begin()\nwhile True: pass", lambda: kill({root_of(pids)}))
    with pytest.raises(WorkerDiedError, match=r"it had called tools \(begin\)"):
        running.result(20)
    assert toolkit.execute("1 + 1", 20).return_value == 2


@pytest.mark.sampled(every=0)
def test_killed_program_without_calls_is_retried(own: Own) -> None:
    """Only the time that it takes tells."""
    _, toolkit, pids = own
    before = descendants(os.getpid())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(toolkit.execute, "import time\nprint('x' * 9000)\ntime.sleep(1)\n5", 60)
        # One worker is kept ready: another one in its place says that it runs a program.
        while not descendants(os.getpid()) - before and not running.done():
            os.sched_yield()
        kill({root_of(pids)})
        assert (running.result(20).return_value, running.result().output) == (5, "x" * 9000 + "\n")


@pytest.mark.sampled(every=2)
def test_many_first_callers_share_one_zygote() -> None:
    before = descendants(os.getpid())
    sandbox = ProcessSandbox(ready=1)
    toolkit = Toolkit(TOOLS, sandbox=sandbox)

    def run(number: int) -> object:
        return toolkit.execute(f"add({number}, 1)", 20).return_value

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(8)))
    assert results == list(range(1, 9))
    zygotes = [pid for pid in families(os.getpid(), without=before) if parent(pid) == os.getpid()]
    sandbox.close()
    assert len(zygotes) == 1


@pytest.mark.sampled(every=2)
def test_closing_ends_every_process(own: Own) -> None:
    sandbox, _, pids = own
    sandbox.close()
    assert all_gone(pids, within=60)
    sandbox.close()
    with pytest.raises(SandboxError, match="closed"):
        sandbox.isolation  # noqa: B018 - the property is what raises


@pytest.mark.sampled(every=2)
def test_closing_while_a_program_runs_ends_it(own: Own) -> None:
    running = begun(own, "begin()\nwhile True: pass", own[0].close)
    with pytest.raises(SandboxError):
        running.result(20)


FORKING = """
import json, os, sys, warnings
from ez_ptc import Toolkit
from tests.sandbox.processes import all_gone, descendants
from tests.sandbox.tools import TOOLS

warnings.simplefilter("ignore", DeprecationWarning)  # threads and fork
toolkit = Toolkit(TOOLS)
assert toolkit.execute("add(1, 2)").return_value == 3
receive, send = os.pipe()
child = os.fork()
if child == 0:
    with toolkit:
        values = [toolkit.execute(f"add({n}, 2)", 5).return_value for n in range(3)]
        os.write(send, json.dumps([values, sorted(descendants(os.getpid()))]).encode())
    sys.exit(0)
values, pids = json.loads(os.read(receive, 10_000))
assert values == [2, 3, 4]
assert len(pids) >= 2
assert os.waitpid(child, 0)[1] == 0
assert all_gone(pids, within=60)
assert [toolkit.execute(f"add({n}, 2)").return_value for n in range(6)] == [2, 3, 4, 5, 6, 7]
print("both")
"""


@pytest.mark.sampled(every=0)
def test_forking_host_runs_programs_on_both_sides() -> None:
    """The child's end is not the end of the parent's processes."""
    assert run_script(FORKING) == "both\n"


@pytest.mark.sampled(every=0)
def test_a_host_may_end_without_closing_anything() -> None:
    code = """
import os, sys
from ez_ptc import Toolkit
from tests.sandbox.processes import descendants
from tests.sandbox.tools import TOOLS
toolkit = Toolkit(TOOLS)
toolkit.execute("add(1, 2)")
print(*descendants(os.getpid()))
"""
    pids = {int(pid) for pid in run_script(code).split()}
    assert len(pids) >= 2
    assert all_gone(pids, within=60)


@pytest.mark.parametrize("closed", ["0", "012"])
@pytest.mark.sampled(every=0)
def test_a_host_without_standard_streams_can_run_programs(closed: str) -> None:
    """As a daemon is; its other descriptors then have the numbers of the streams."""
    code = """
import os, sys
place = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
os.dup2(place, 9)
os.close(place)
for number in sys.argv[1]:
    os.close(int(number))
from ez_ptc import Toolkit
from tests.sandbox.tools import TOOLS
with Toolkit(TOOLS) as toolkit:
    os.write(9, repr(toolkit.execute("print(add(1, 2))\\nadd(2, 3)", 20)).encode())
"""
    receive, send = os.pipe()
    try:
        path = f"/proc/{os.getpid()}/fd/{send}"
        run_script(code, closed, path, timeout=40)
        assert b"return_value=5" in os.read(receive, 10_000)
    finally:
        os.close(receive)
        os.close(send)


KILLED_WHILE_IT_BOOTS = """
import os, signal, threading
from ez_ptc import Toolkit
from tests.sandbox.processes import descendants

def kill():
    "Kill the first process of the sandbox as soon as it is there, and the next one as well."
    killed, pause = set(), threading.Event()
    while len(killed) < 2:
        pause.wait(0.002)
        for pid in sorted(descendants(os.getpid()) - killed)[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)

threading.Thread(target=kill, daemon=True).start()
with Toolkit([]) as toolkit:
    print(toolkit.execute("1 + 1").return_value)
"""


@pytest.mark.sampled(every=0)
def test_zygote_killed_during_boot_is_restarted() -> None:
    assert run_script(KILLED_WHILE_IT_BOOTS) == "2\n"
