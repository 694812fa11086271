"""Whatever is killed, whenever: a right result or a typed error, nothing left behind, and the next program runs."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys

import pytest

from tests.sandbox.processes import all_gone, descendants
from tests.sandbox.scripts import ROOT, run_script

# A host that runs programs of all kinds while it kills its own processes, and says what became of each.
HOST = """
import functools, json, os, random, signal, sys, threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from anyio.from_thread import start_blocking_portal
from ez_ptc import Limits, SandboxError, Toolkit
from ez_ptc.sandbox.host.backend import ProcessSandbox
from tests.sandbox.processes import descendants, descriptors, threads
from tests.sandbox.tools import TOOLS

number, callers, kills, seed = map(int, sys.argv[1:5])
chance = random.Random(seed)
sandbox = ProcessSandbox(ready=3)
toolkit = Toolkit(TOOLS, limits=Limits(timeout=60), sandbox=sandbox)
KINDS = {
    "1 + 1": 2,
    "[add(n, 1) for n in range(20)]": list(range(1, 21)),
    "sum(range(200_000))": 19999900000,
    "print('x' * 20_000)\\nadd(20, 22)": 42,
    "parallel(*[(add, n, n) for n in range(8)])": [2 * n for n in range(8)],
    "import time\\ntime.sleep(0.005)\\n'slept'": "slept",
    "len(echo('y' * 300_000))": 300_000,
}
became = Counter()
one_more = threading.Condition()

portal_context = start_blocking_portal()
portal = portal_context.__enter__()

def outcome(code, execute):
    try:
        result = execute(code)
    except SandboxError as error:
        return type(error).__name__
    if result.success:
        assert result.return_value == KINDS[code], (code, result.return_value)
        return "right"
    assert result.error and ("killed" in result.error or "protocol" in result.error), result
    return "said so"

def run(index):
    code = list(KINDS)[index % len(KINDS)]
    came = outcome(code, toolkit.execute if index % 3 else functools.partial(portal.call, toolkit.aexecute))
    with one_more:
        became[came] += 1
        one_more.notify_all()

def kill():
    "Kill one of the processes: a worker mostly, or the zygote, or its parent."
    pids = sorted(descendants(os.getpid()))
    if pids:
        place = chance.random()
        zygote = pids[0] if place < 0.05 else pids[min(1, len(pids) - 1)]
        victim = zygote if place < 0.1 else chance.choice(pids[2:] or pids)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass

def batch(size):
    # Some at a time: those that wait for their turn are memory, too.
    with ThreadPoolExecutor(callers) as pool:
        for start in range(0, size, 250):
            for done in [pool.submit(run, index) for index in range(start, min(start + 250, size))]:
                done.result(120)

over = threading.Event()
def trouble():
    # Spread over the programs, not over seconds: on a busy machine a program meets no more kills than on a quiet one.
    for so_far in range(kills):
        with one_more:
            one_more.wait_for(lambda: over.is_set() or became.total() >= so_far * number // kills)
        if over.wait(chance.random() * 0.02):
            return
        kill()

def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

# How far the host grows is only known of one that has grown to its usual size.
batch(300 if number > 1000 else 20)
became.clear()
memory = held()
troublemaker = threading.Thread(target=trouble, daemon=True)
troublemaker.start()
print(json.dumps(sorted(descendants(os.getpid()))), flush=True)
batch(number)
over.set()
with one_more:
    one_more.notify_all()
troublemaker.join()
for _ in range(3):
    result = toolkit.execute("add(20, 22)")
    assert result.return_value == 42, result
grown = held() - memory
sandbox.close()
portal_context.__exit__(None, None, None)
pause = threading.Event()
for _ in range(100):
    left = [len(descendants(os.getpid(), ended=True)), threads()]
    if left == [0, 1]:
        break
    pause.wait(0.2)
print(json.dumps([became, grown, left, len(descriptors())]), flush=True)
"""


def faults(number: int, *, callers: int = 4, kills: int, seed: int) -> tuple[dict[str, int], int]:
    """Run so many programs among so many kills; return what became of them, and by how much the host grew."""
    arguments = map(str, (number, callers, kills, seed))
    became, grown, (processes, threads), descriptors = json.loads(
        run_script(HOST, *arguments, timeout=240).splitlines()[-1]
    )
    assert sum(became.values()) == number
    assert (processes, threads) == (0, 1)
    # The standard streams, and the folder that is looked at.
    assert descriptors <= 5
    return became, grown


@pytest.mark.sampled(every=0)
def test_sixty_programs_among_kills_of_everything() -> None:
    became, _ = faults(60, kills=12, seed=1)
    assert became["right"] >= 15


@pytest.mark.security
@pytest.mark.parametrize("seed", range(2, 6))
def test_five_hundred_programs_among_kills_of_everything(seed: int) -> None:
    became, _ = faults(500, kills=100, seed=seed)
    assert became["right"] >= 150


@pytest.mark.security
def test_ten_thousand_programs_leave_nothing_behind() -> None:
    """Eight at a time, one in a hundred killed."""
    became, grown = faults(10_000, callers=8, kills=100, seed=11)
    assert became["right"] >= 9_600
    assert grown < 10 << 20


def kill_the_host(seed: int) -> None:
    command = [sys.executable, "-c", HOST, "300", "4", "20", str(seed)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as host:
        try:
            assert host.stdout is not None
            pids = set(json.loads(host.stdout.readline()))
            with pytest.raises(subprocess.TimeoutExpired):
                host.wait(random.Random(seed).random())
            pids |= descendants(host.pid)
            host.send_signal(signal.SIGKILL)
            host.wait()
            assert all_gone(pids, within=30)
        finally:
            host.kill()


@pytest.mark.sampled(every=0)
def test_repeatedly_killed_hosts_leave_nothing() -> None:
    kill_the_host(1)


@pytest.mark.security
@pytest.mark.parametrize("seed", range(2, 12))
def test_host_killed_at_any_moment_leaves_nothing(seed: int) -> None:
    kill_the_host(seed)
