"""The first calls on named threads: two at the same time, or one behind another that has not begun."""

import subprocess
import sys
import threading

import pytest

from ez_ptc.tools.call_lifetime import CallLife
from ez_ptc.tools.threads.named_threads import NamedThreads, QueuedCall

SHORT = 0.05
LONG = 60.0

FIRST_CALLS = """
import sys, threading
from contextlib import suppress
from ez_ptc import ez_tool

def meet(frame, event, argument):
    if event == "call" and type(frame.f_locals.get("self")).__name__ == "NamedThreads":
        if frame.f_code.co_name == "__init__":
            with suppress(threading.BrokenBarrierError):
                both.wait(1)

@ez_tool(thread="db")
def who_runs() -> int:
    "Return the id of the thread."
    return threading.get_ident()

both, seen = threading.Barrier(2), []
threading.setprofile(meet)
threads = [threading.Thread(target=lambda: seen.append(who_runs())) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(seen), len(set(seen)))
"""


@pytest.mark.security
def test_first_calls_at_the_same_time_share_one_thread() -> None:
    """Each meets the other where the threads of the process are made."""
    done = subprocess.run([sys.executable, "-c", FIRST_CALLS], capture_output=True, text=True, timeout=LONG, check=True)
    assert done.stdout.split() == ["2", "1"]


def test_call_that_is_queued_before_the_first_begins_gets_its_turn() -> None:
    """Both are queued before the idle thread wakes up; then the first hangs, and its caller gives it up."""
    threads = NamedThreads(grace=SHORT)
    life = CallLife()
    idle, begun, over, let_go = (threading.Event() for _ in range(4))

    def hang() -> None:
        begun.set()
        let_go.wait(LONG)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(LONG)  # each thread continues until it waits
    try:
        assert threads.submit("db", QueuedCall(CallLife(), None, lambda: None, lambda: None), idle.set)
        assert idle.wait(LONG)
        assert threads.submit("db", QueuedCall(life, None, lambda: None, lambda: None), hang)
        assert threads.submit("db", QueuedCall(CallLife(), None, lambda: None, lambda: None), over.set)
    finally:
        sys.setswitchinterval(interval)
    assert begun.wait(LONG)
    life.give_up()
    assert over.wait(10)
    let_go.set()
