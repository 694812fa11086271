"""Hooks for forks: each of a live object is called, and threads that fork at a time do not wait for each other."""

from __future__ import annotations

import pytest

from tests.test_sync import printed_by

FORKING = """
import os
from ez_ptc._forks import on_fork

hooks = []
register = os.register_at_fork
os.register_at_fork = lambda **calls: (hooks.append(calls), register(**calls))

class Held:
    def __init__(self, name):
        self.name = name
        on_fork(self, Held.tell)

    def tell(self):
        os.write(send, self.name.encode())

receive, send = os.pipe()
kept = [Held("a"), Held("b")]
Held("dropped")
for number in range(1_000):
    Held(str(number))
kept.append(Held("c"))
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
os.close(send)
print(sorted(os.read(receive, 10_000).decode()), hooks)
"""


def test_fork_notifies_live_objects_by_the_first_hook() -> None:
    assert printed_by(FORKING) == "['a', 'b', 'c'] []\n"


BETWEEN_HOOKS = """
import os
from ez_ptc._forks import around_fork

class Target:
    def __init__(self, name, before=lambda: None):
        def enter(_, may_wait):
            before()
            calls.append(name)
            return True

        around_fork(self, before=enter, after=lambda _: calls.append(f"/{name}"))

def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

def fork_within():
    if len(kept) == 1:
        kept.append(Target("late"))
        fork()

calls, kept = [], []
kept.append(Target("first", fork_within))
fork()
print(*calls)
calls.clear()
fork()
print(*calls)
"""


def test_target_between_the_hooks_of_a_fork_waits_for_the_next() -> None:
    """Another thread registered a lock then, which the second hook released although no one held it."""
    within, outer = "first late /first /late", "first /first"

    assert printed_by(BETWEEN_HOOKS) == f"{within} {outer}\nfirst late /first /late\n"


FORKING_HANDLER = """
import os, signal, threading, warnings
from ez_ptc._forks import around_fork

class Target:
    def __init__(self):
        self.lock, self.is_taken = threading.RLock(), threading.Event()
        around_fork(self, before=Target.take, after=lambda target: target.lock.release())

    def take(self, may_wait):
        is_taken = self.lock.acquire(may_wait)
        self.is_taken.set()
        return is_taken

def fork(*_):
    child = os.fork()
    if child == 0:
        os._exit(0)
    print(os.waitpid(child, 0)[1])

warnings.simplefilter("ignore")  # of forks where threads run
signal.signal(signal.SIGUSR1, fork)
targets = [Target() for _ in range(COUNT)]
thread = threading.Thread(target=fork)
with targets[HELD].lock:
    thread.start()
    targets[HELD].is_taken.wait(30)
    signal.raise_signal(signal.SIGUSR1)
thread.join()
"""


@pytest.mark.parametrize(("count", "held"), [(2, 0), (2, 1), (4, 2), (4, 3)])
def test_fork_in_a_signal_handler_waits_for_no_other_fork(count: int, held: int) -> None:
    """The other one had the first lock, and waited for one of the code that the handler had interrupted."""
    script = FORKING_HANDLER.replace("COUNT", str(count)).replace("HELD", str(held))
    assert printed_by(script) == "0\n0\n"


TURNS = """
import os, subprocess, sys, threading
from ez_ptc._forks import without_forks

sys.setswitchinterval(1e-6)
found, start = [], threading.Barrier(8)
def look():
    start.wait()
    found.append(without_forks())
threads = [threading.Thread(target=look) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(set(map(id, found))))
"""


def test_all_threads_wait_for_one_turn_to_start_processes() -> None:
    for _ in range(3):
        assert printed_by(TURNS) == "1\n"
