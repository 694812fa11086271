"""Signal handlers and finalizers run programs, close sandboxes and drop sessions, where they interrupted the same."""

from __future__ import annotations

import json

import pytest

from tests.sandbox.scripts import run_script

# Something is done, again and again, and interrupted by something else before each of its instructions in turn. There
# is room for two programs, and for a worker that an interrupted frame holds on its way to a caller. Lost places are
# soon missed, and a caller that waits for itself is told in 20 s.
INTERRUPTED = """
import gc, json, os, sys, warnings
from ez_ptc import ProcessSandbox, SandboxError, Toolkit
from tests.sandbox.host.interruption import Interruption
from tests.sandbox.processes import descriptors

outer, inner, ready, stride = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sandbox = ProcessSandbox(ready=ready, running=3, patience=20)
toolkit = Toolkit([], sandbox=sandbox)
dropped = []

def execute():
    assert toolkit.execute("40 + 2", 20).return_value == 42

def use_session():
    with toolkit.session() as session:
        assert session.execute("x = 40", 20).success
        assert session.execute("x + 2", 20).return_value == 42

def open_toolkit():
    with Toolkit([]) as other:
        assert other.execute("40 + 2", 20).return_value == 42

def prepare_session():
    dropped.append(toolkit.session())
    assert dropped[0].execute("x = 1", 20).success

def at_rest():
    # The shared sandbox is one of them.
    for each in [found for found in gc.get_objects() if isinstance(found, ProcessSandbox)]:
        each.cool_down()
    return len(descriptors())

acts = {"execute": execute, "session": use_session, "toolkit": open_toolkit, "drop": dropped.clear}
keep = Toolkit([])
if "toolkit" in (outer, inner):
    keep.execute("1")
execute()
with Interruption(lambda: None, at=0) as counted:
    acts[outer]()
before = at_rest()
interrupted = 0
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ResourceWarning)
    for at in range(1, counted.steps + 1, stride):
        if inner == "drop":
            prepare_session()
        with Interruption(acts[inner], at=at) as interruption:
            acts[outer]()
        interrupted += interruption.steps >= at
        dropped.clear()
use_session()
execute()
print(json.dumps([interrupted / len(range(1, counted.steps + 1, stride)), at_rest() - before]))
keep.close()
sandbox.close()
"""
CASES = [
    ("execute", "execute", 4),
    ("execute", "execute", 0),
    ("execute", "session", 4),
    ("execute", "drop", 4),
    ("execute", "drop", 0),
    ("session", "execute", 4),
    ("session", "drop", 0),
    ("toolkit", "toolkit", 4),
    ("toolkit", "execute", 4),
]


def interrupt(outer: str, inner: str, ready: int, *, stride: int) -> None:
    share, descriptors = json.loads(run_script(INTERRUPTED, outer, inner, str(ready), str(stride), timeout=400))
    # Not all runs have as many instructions: a worker may be there at once, or be waited for, as on a loaded machine.
    assert share > 0.3
    assert descriptors == 0


@pytest.mark.parametrize(("outer", "inner", "ready"), CASES)
@pytest.mark.sampled(every=9)
def test_interruption_anywhere_loses_nothing(outer: str, inner: str, ready: int) -> None:
    interrupt(outer, inner, ready, stride=71)


@pytest.mark.security
@pytest.mark.parametrize(("outer", "inner", "ready"), CASES)
def test_interruption_before_any_instruction_is_survived(outer: str, inner: str, ready: int) -> None:
    interrupt(outer, inner, ready, stride=1)


# A sandbox, a session or the last toolkit is closed somewhere within a program's way through this library.
CLOSED = """
import sys
from ez_ptc import ProcessSandbox, SandboxError, Toolkit
from tests.sandbox.host.interruption import Interruption
from tests.sandbox.processes import all_gone, descendants, descriptors
import os

what, places = sys.argv[1], int(sys.argv[2])
before, share, steps = len(descriptors()), 0, 1500
for at in range(1, steps, steps // places):
    sandbox = ProcessSandbox(ready=1, patience=20) if what != "toolkit" else None
    toolkit = Toolkit([], sandbox=sandbox)
    session = toolkit.session()
    run = session.execute if what == "session" else toolkit.execute
    assert run("40 + 2", 20).return_value == 42
    close = {"sandbox": sandbox and sandbox.close, "session": session.close, "toolkit": toolkit.close}[what]
    with Interruption(close, at=at):
        try:
            assert run("40 + 2", 20).return_value == 42
        except SandboxError as error:
            assert "closed" in str(error), error
            share += 1
    close()
    try:
        run("1")
    except SandboxError as error:
        assert "closed" in str(error), error
    session.close()
    toolkit.close()
    if sandbox is not None:
        sandbox.close()
    assert all_gone(descendants(os.getpid()), within=60)
assert len(descriptors()) == before, descriptors()
# Of few places, all may be before or after what is waited for.
print(share > 0 or places < 100)
"""


@pytest.mark.parametrize("what", ["sandbox", "session", "toolkit"])
@pytest.mark.sampled(every=0)
def test_closing_during_use_raises(what: str) -> None:
    assert run_script(CLOSED, what, "6", timeout=120) == "True\n"


@pytest.mark.security
@pytest.mark.parametrize("what", ["sandbox", "session", "toolkit"])
def test_closing_at_any_point_of_use_raises(what: str) -> None:
    assert run_script(CLOSED, what, "150", timeout=400) == "True\n"


# Real signals, whose handlers run programs themselves, while programs run in the main thread.
SIGNALLED = """
import asyncio, random, signal, sys
from ez_ptc import ProcessSandbox, Toolkit, ez_tool

@ez_tool
def add(a: int, b: int) -> int:
    "Add."
    return a + b

@ez_tool
async def later(a: int, b: int) -> int:
    "Add later."
    await asyncio.sleep(0)
    return a + b

SIGNALS = 30
chance = random.Random(1)
sandbox = ProcessSandbox(ready=2, running=4, patience=20)
toolkit, slow = Toolkit([add], sandbox=sandbox), Toolkit([later], sandbox=sandbox)
handled = 0

def handle(number, frame):
    global handled
    handled += 1
    inner = (toolkit, slow)[handled % 2]
    assert inner.execute(("add(1, 2)", "later(1, 2)")[handled % 2], 20).return_value == 3
    if handled % 5 == 0:
        with toolkit.session() as session:
            assert session.execute("1", 20).success
    if handled < SIGNALS:
        signal.setitimer(signal.ITIMER_REAL, 0.0002 + chance.random() * 0.004)

async def awaiting():
    while handled < SIGNALS:
        assert (await slow.aexecute("later(20, 22)", 20)).return_value == 42

# What is imported for the first program is there: a handler cannot use a module that is half imported.
assert toolkit.execute("1", 20).success
assert slow.execute("1", 20).success
asyncio.run(slow.aexecute("1", 20))
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.01)
if sys.argv[1] == "blocking":
    while handled < SIGNALS:
        assert toolkit.execute("add(20, 22)", 20).return_value == 42
else:
    asyncio.run(awaiting())
signal.setitimer(signal.ITIMER_REAL, 0)
assert [toolkit.execute("1 + 1", 20).return_value for _ in range(8)] == [2] * 8
sandbox.close()
print(handled)
"""


@pytest.mark.parametrize("how", ["blocking", "asyncio"])
@pytest.mark.sampled(every=2)
def test_signal_handlers_run_programs_while_programs_run(how: str) -> None:
    assert run_script(SIGNALLED, how, timeout=120) == "30\n"


# A service is asked to end while it is busy, and closes what it has in the handler.
ENDED = """
import os, signal, sys, threading
from ez_ptc import ProcessSandbox, SandboxError, Toolkit, ez_tool
from tests.sandbox.processes import all_gone, descendants

what = sys.argv[1]
sandbox = ProcessSandbox() if what != "toolkit" else None

handled = threading.Event()

@ez_tool
def begin() -> None:
    "Have signals sent: one that comes right before the main thread waits is handled only after the wait."
    for _ in range(400):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)
        if handled.wait(0.05):
            return

def handle(number, frame):
    close()
    handled.set()

toolkit = Toolkit([begin], sandbox=sandbox)
session = toolkit.session()
close = {"sandbox": sandbox and sandbox.close, "session": session.close, "toolkit": toolkit.close}[what]
signal.signal(signal.SIGTERM, handle)
try:
    (session if what == "session" else toolkit).execute("begin()\\nwhile True: pass", 60)
except SandboxError as error:
    print(error)
session.close()
toolkit.close()
if sandbox is not None:
    sandbox.close()
print(all_gone(descendants(os.getpid()), within=60))
"""


@pytest.mark.parametrize(
    ("what", "says"), [("sandbox", "the sandbox"), ("session", "this session"), ("toolkit", "the sandbox")]
)
@pytest.mark.sampled(every=0)
def test_signal_handler_may_close_what_main_thread_uses(what: str, says: str) -> None:
    said, gone = run_script(ENDED, what, timeout=60).splitlines()
    assert said == f"{says} was closed while this program ran; it had called tools (begin): see what they did"
    assert gone == "True"


# The handler runs while the module that a first program needs is half made.
FIRST_IMPORT = """
import signal, sys
import ez_ptc

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGUSR1)

def handle(number, frame):
    try:
        print(ez_ptc.Toolkit([]).execute("1").return_value)
    except ez_ptc.SandboxError as error:
        print(str(error))

signal.signal(signal.SIGUSR1, handle)
sys.meta_path.insert(0, Finder())
with ez_ptc.Toolkit([]) as toolkit:
    assert toolkit.execute("2").return_value == 2
"""


@pytest.mark.security
@pytest.mark.parametrize("module", ["ez_ptc.sandbox.host.pool", "ez_ptc.toolkit.functions"])
def test_handler_that_interrupts_the_first_import_gets_an_error_of_ours(module: str) -> None:
    text = run_script(FIRST_IMPORT, module, timeout=60)
    assert text == "1\n" or "has interrupted the first import" in text
